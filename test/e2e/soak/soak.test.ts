import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { amount } from '../../support/depth.ts';
import type { SoakReport } from './soak.ts';

const SOAK = fileURLToPath(new URL('./soak.ts', import.meta.url));
/** Ten minutes with `npm run drill:soak`. */
const SECONDS = Number(process.env['VOLLEY_DRILL_SECONDS'] ?? amount({ quick: 4, deep: 6 }));
const SEED = Number(process.env['VOLLEY_DRILL_SEED'] ?? Date.now() % 1e9);
const MAX_GROWTH_MB = 12;
/** Between other tests the machine may be busy at any moment; the long form has it for itself. */
const LATENCY_NOISE_MS = SECONDS < 60 ? 15_000 : 100;

/** In a process of its own, in which nothing else takes memory. */
async function runSoak(): Promise<SoakReport> {
  const tsx = createRequire(import.meta.url).resolve('tsx');
  const args = ['--expose-gc', '--import', tsx, SOAK, String(SECONDS), String(SEED)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 26 });
  return JSON.parse(stdout) as SoakReport;
}

test(`after much mixed work (seed ${SEED}) memory, files, processes and latency are what they were`, {
  timeout: 300_000 + SECONDS * 2000,
}, async () => {
  const report = await runSoak();
  console.log(JSON.stringify({ seed: SEED, seconds: SECONDS, ...report }));
  const { early, late, surprises } = report;
  expect(surprises).toEqual([]);
  expect(late.heapMb).toBeLessThan(early.heapMb + MAX_GROWTH_MB);
  expect(late.storeMb).toBeLessThan(2 * early.storeMb + MAX_GROWTH_MB);
  // One more or less may be open for a moment.
  expect(late.files).toBeLessThanOrEqual(early.files + 2);
  expect(late.handles).toBeLessThanOrEqual(early.handles + 2);
  expect(late.processes).toBeLessThanOrEqual(early.processes);
  expect(report.lateLatencyMs).toBeLessThan(3 * report.earlyLatencyMs + LATENCY_NOISE_MS);
});
