import type { RunLimits } from '../../../../src/runners/runner.ts';

/** A call of the drill, and what must come of it. */
export interface DrillCall {
  readonly tool: string;
  readonly input?: Readonly<Record<string, unknown>>;
  readonly limits?: RunLimits;
  readonly timeoutMs?: number;
  readonly expected: string;
}

const MEMORY_MB = 128;

/** The faults, in turn. A reason may be followed by the code of the error. */
const BAD: readonly DrillCall[] = [
  { tool: 'loop', timeoutMs: 300, expected: 'timeout' },
  { tool: 'fillHeap', expected: 'memory' },
  { tool: 'abort', expected: 'crashed' },
  { tool: 'exit', expected: 'crashed' },
  { tool: 'flood', limits: { outputBytes: 2 ** 20 }, expected: 'error OUTPUT_LIMIT' },
  { tool: 'hugeArray', expected: 'memory' },
  { tool: 'segfault', expected: 'crashed' },
  { tool: 'fillBuffers', expected: 'memory' },
  { tool: 'loop', limits: { cpuMs: 400 }, expected: 'cpu' },
  {
    tool: 'returnMuch',
    input: { bytes: 2 ** 21 },
    limits: { resultBytes: 2 ** 20 },
    expected: 'error RESULT_TOO_LARGE',
  },
];

const GOOD: readonly DrillCall[] = [
  { tool: 'double', input: { value: 3 }, expected: 'completed {"doubled":6}' },
  { tool: 'leaveFile', expected: 'completed "left"' },
  { tool: 'leaveOrphans', expected: 'completed 3' },
];

/** Every fourth call is a bad one. */
export function drillCall(index: number): DrillCall {
  const call = index % 4 === 3 ? BAD[((index - 3) / 4) % BAD.length]! : GOOD[index % GOOD.length]!;
  return { timeoutMs: 120_000, ...call, limits: { memoryMb: MEMORY_MB, ...call.limits } };
}
