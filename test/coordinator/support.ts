import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { defaultConfig, type VolleyConfig } from '../../src/config/config.ts';
import type { CallResult } from '../../src/coordinator/call.ts';
import { ParallelToolCoordinator } from '../../src/coordinator/coordinator.ts';
import { builtinTools } from '../../src/tools/builtin/all.ts';
import { defineTool } from '../../src/tools/define-tool.ts';

/** An empty folder that is gone after the test. */
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'volley-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A coordinator with an empty folder as its root, closed after the test. */
export function openTestCoordinator(change: (config: VolleyConfig) => VolleyConfig = (config) => config): {
  coordinator: ParallelToolCoordinator;
  folder: string;
} {
  const folder = temporaryFolder();
  const coordinator = new ParallelToolCoordinator({ config: change(defaultConfig(folder)) });
  coordinator.register(builtinTools());
  onTestFinished(() => coordinator.close({ cancel: true }));
  return { coordinator, folder };
}

/** Gives its arguments back. */
export const echo = defineTool({ name: 'echo', run: (input) => input });

/** Fails with the given message. */
export const broken = defineTool<{ message?: string }>({
  name: 'broken',
  run: ({ message = 'it broke' }) => {
    throw new TypeError(message);
  },
});

/** `a: completed {"x":1}`, `b: failed error: it broke`, `c: failed error: UNKNOWN_TOOL`: what a test compares. */
export function summary(result: CallResult): string {
  switch (result.status) {
    case 'completed':
      return `${result.id}: completed ${JSON.stringify(result.value)}`;
    case 'failed':
      return `${result.id}: failed ${result.reason}: ${result.error.code ?? result.error.message}`;
    case 'cancelled':
      return `${result.id}: cancelled ${result.reason}`;
    case 'skipped':
      return `${result.id}: skipped because of ${result.cause}`;
  }
}
