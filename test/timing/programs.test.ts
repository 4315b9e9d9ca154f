import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect, it } from 'vitest';
import { evaluate } from '../../src/script/evaluate.ts';
import type { ProgramLimits } from '../../src/script/program-session.ts';
import { play } from '../script/support/play.ts';

const HOSTILE: readonly [string, string, Partial<ProgramLimits>][] = [
  ['for (;;);', 'PROGRAM_CPU_TIME', { cpuMs: 1000 }],
  ['"x".repeat(2e7).indexOf("x".repeat(1e4) + "y")', 'PROGRAM_CPU_TIME', { cpuMs: 1000 }],
  ['const all = []; for (;;) all.push({})', 'PROGRAM_MEMORY', { memoryMb: 16 }],
  ['const f = () => 1 + f(); return f()', 'PROGRAM_TOO_DEEP', {}],
  ['for (let i = 0; i < 1e6; i++) tools.ok(i)', 'PROGRAM_CALLS_IN_FLIGHT', {}],
];
/** The figure is 50 ms on a machine that does nothing else. What blocks this thread would do so for 1 s. */
const MAX_DELAY_MS = 500;

it('keeps this thread free, whatever programs and expressions do', async () => {
  const delays: number[] = [];
  for (let round = 0; round < 3; round++) {
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    for (const [source, code, limits] of HOSTILE) {
      const { outcome } = await play({ source, limits });
      expect(outcome?.error?.code).toBe(code);
    }
    const endless = { source: '/(a+)+b/.test("a".repeat(60))', results: new Map(), limitMs: 1000 };
    await expect(evaluate(endless)).rejects.toMatchObject({ code: 'EXPRESSION_TIMEOUT' });
    delay.disable();
    delays.push(delay.max / 1e6);
    if (delays.at(-1)! <= MAX_DELAY_MS) break;
  }
  expect(Math.min(...delays)).toBeLessThanOrEqual(MAX_DELAY_MS);
});
