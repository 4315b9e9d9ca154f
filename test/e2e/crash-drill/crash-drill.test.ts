import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { seededRandom } from '../../../src/core/random.ts';
import { crashDrill } from './drill.ts';
import { DrillProgram } from './program.ts';

/** The long form is `npm run drill:crash`. */
const KILLS = Number(process.env['VOLLEY_DRILL_KILLS'] ?? 4);
const SIZE = Number(process.env['VOLLEY_DRILL_TASKS'] ?? 150);
const SEED = Number(process.env['VOLLEY_DRILL_SEED'] ?? Date.now() % 1e9);

test(`a program that is killed again and again (seed ${SEED}) loses nothing, repeats only what ran, and leaves nothing running`, {
  timeout: 300_000 + KILLS * 20_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'volley-crash-drill-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const program = await DrillProgram.in(folder);
  const report = await crashDrill(program, { kills: KILLS, size: SIZE, random: seededRandom(SEED) });
  console.log(JSON.stringify({ seed: SEED, ...report }));
  expect(report.surprises).toEqual([]);
  expect(report.kills).toBe(KILLS);
  expect(report.repeats).toBeLessThanOrEqual(report.inHand);
});
