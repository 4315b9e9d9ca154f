import { tmpdir } from 'node:os';
import { afterEach, expect, test } from 'vitest';
import { Confinement } from '../../../src/runners/process/confinement.ts';
import { createLauncher } from '../../../src/runners/process/helper-launcher.ts';
import type { Breach, SandboxGuard } from '../../../src/runners/runner.ts';
import { gate } from '../../engine/support/gate.ts';

const launcher = createLauncher();
const confinement = new Confinement(launcher);

afterEach(async () => {
  await confinement.close();
  await launcher.close();
});

async function start(script: string, guard?: SandboxGuard) {
  const begun = gate<void>();
  const process = await confinement.start(
    {
      argv: ['/bin/sh', '-c', script],
      cwd: tmpdir(),
      env: { PATH: '/usr/bin:/bin' },
      limits: { memoryMb: 64 },
      sandbox: { mode: 'auto', read: [], write: [tmpdir()], network: false, guard },
      home: 'user',
      input: true,
      channel: 'sandbox',
      code: [],
    },
    { started: () => {}, data: (stream) => stream === 'stdout' && begun.open() },
  );
  return { process, begun: begun.passed };
}

test('a program that has ended is not killed any more, for another one may have its cgroup now', async () => {
  const [cleaning, cleaned] = [gate<void>(), gate<readonly Breach[]>()];
  const guard: SandboxGuard = {
    begin: async () => ({
      covers: [],
      end: () => {
        cleaning.open();
        return cleaned.passed;
      },
    }),
  };
  const { process: first } = await start('exit 0', guard);
  await cleaning.passed;
  const { process: second, begun } = await start('echo begun; read -r status; exit "$status"');
  await begun;
  first.kill();
  second.write('3\n');
  expect(await second.ended).toMatchObject({ exitCode: 3, signal: undefined });
  cleaned.open([]);
  expect(await first.ended).toMatchObject({ exitCode: 0, signal: undefined });
});
