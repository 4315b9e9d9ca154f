import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { assertAvailable } from '../../../src/runners/process/confinement.ts';
import { type Layer, type LayerName, trySandbox } from '../../../src/runners/process/diagnose.ts';
import { createLauncher } from '../../../src/runners/process/helper-launcher.ts';
import { thrownBy } from '../../engine/support/errors.ts';
import { opened } from './support/launch.ts';

const NAMES: readonly LayerName[] = [
  'launcher',
  'process-group',
  'rlimits',
  'namespaces',
  'network',
  'cgroup-memory',
  'cgroup-pids',
  'cgroup-cpu',
  'memory-watch',
];

function without(...missing: readonly LayerName[]): { layers: Layer[] } {
  const layers = NAMES.map((name) => ({ name, active: !missing.includes(name), detail: `about ${name}` }));
  return { layers };
}

test.each([
  ['namespaces'],
  ['network'],
  ['process-group'],
  ['rlimits'],
  ['cgroup-memory', 'memory-watch'],
  ['cgroup-pids', 'memory-watch'],
  ['cgroup-cpu', 'memory-watch'],
] as const)('what is required is refused without %s %s', (...missing) => {
  expect(thrownBy(() => assertAvailable(without(...missing)))).toMatchObject({
    code: 'SANDBOX_UNAVAILABLE',
    message: expect.stringContaining(`about ${missing[0]}`),
    details: { layer: missing[0] },
  });
});

test('the watch stands in for cgroups, which need no watch, and the helper is only faster', () => {
  assertAvailable(without('cgroup-memory', 'cgroup-pids', 'cgroup-cpu'));
  assertAvailable(without('memory-watch', 'launcher'));
});

test("a sandbox is found where PATH has none of the system's folders", async () => {
  const launcher = opened(createLauncher());
  const { bubblewrap } = await trySandbox(launcher);
  if (bubblewrap === undefined) return;
  const folder = mkdtempSync(join(tmpdir(), 'volley-path-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  symlinkSync(bubblewrap.program, join(folder, 'bwrap'));
  vi.stubEnv('PATH', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const program = join(folder, 'bwrap');
  expect((await trySandbox(launcher)).bubblewrap).toEqual({ ...bubblewrap, program });
});
