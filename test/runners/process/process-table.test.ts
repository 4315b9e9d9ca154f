import { expect, onTestFinished, test } from 'vitest';
import { createLauncher } from '../../../src/runners/process/helper-launcher.ts';
import { readProcess } from '../../../src/runners/process/process-table.ts';
import { PLAIN_ENV } from './support/launch.ts';

/** The kernel still shows a process that it removes, but without a group. A sandbox was refused for that. */
test('a process is shown with its group, or not at all, until the end', async () => {
  const launcher = createLauncher();
  onTestFinished(() => launcher.close());
  const groups = new Set<string>();
  for (let round = 0; round < 300; round++) {
    await new Promise<void>((resolve) => {
      launcher.launch(
        {
          argv: ['/bin/true'],
          cwd: '/',
          env: PLAIN_ENV,
          limits: {},
          cgroups: [],
          input: false,
          channel: false,
        },
        {
          started: (pid) => {
            for (let entry = readProcess(pid); entry !== undefined; entry = readProcess(pid))
              groups.add(entry.group === pid ? 'its own' : String(entry.group));
          },
          data: () => undefined,
          ended: () => resolve(),
        },
      );
    });
  }
  expect([...groups]).toEqual(['its own']);
});
