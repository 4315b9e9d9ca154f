import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { expectedLayers } from '../support/expected-layers.ts';
import type { DrillReport } from './drill/drill.ts';

const DRILL = fileURLToPath(new URL('./drill/drill.ts', import.meta.url));
/** All of them with `npm run drill:processes`. */
const CALLS = Number(process.env['VOLLEY_DRILL_CALLS'] ?? 30);
const MAX_GROWTH_MB = 200;

/** In a process of its own, whose memory is then that of the host of the calls and nothing else. */
async function runDrill(): Promise<DrillReport> {
  const tsx = createRequire(import.meta.url).resolve('tsx');
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', tsx, DRILL, String(CALLS)], {
    maxBuffer: 2 ** 26,
  });
  return JSON.parse(stdout) as DrillReport;
}

test('a drill with every fault at concurrency 16: the good calls succeed, the bad ones end with their reason, and nothing remains', {
  timeout: 180_000 + CALLS * 2000,
}, async () => {
  const report = await runDrill();
  const { surprises, processes, files, cgroups } = report;
  expect({ surprises, processes, files, cgroups }).toEqual({
    surprises: [],
    processes: [],
    files: [],
    cgroups: [],
  });
  expect(report.calls).toBe(CALLS);
  expect(report.grownMb).toBeLessThan(MAX_GROWTH_MB);
  const inactive = report.layers.filter(({ active }) => !active).map(({ name }) => name);
  expect(inactive.filter((name) => expectedLayers().includes(name))).toEqual([]);
});
