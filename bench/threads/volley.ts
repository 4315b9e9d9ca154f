import { ThreadRunner } from '../../dist/internals.js';
import type { RunnerCall, ToolCode } from '../../src/runners/runner.ts';

import { engineWith } from '../work/engine.ts';
import { FULL_CONTEXTS } from '../work/full-context.ts';
import { THREADS, type ThreadContestant, WORK } from './input.ts';

/** So many calls the engine hands to the runner at once. The others wait in the engine, where priorities count. */
const CONCURRENCY = 256;
const CODES = { noOp: codeOf('noOp'), spin: codeOf('spin'), rest: codeOf('rest') };
const LIMITS = { resultBytes: 1_000_000 };
const ENV = {};
const SANDBOX = { mode: 'off', read: [], write: [], network: false } as const;
const engine = engineWith(CONCURRENCY);
const runner = new ThreadRunner({ maxThreads: THREADS });

/**
 * Elsewhere in the program a call is always open. Where there is none of a kind of object, V8 throws away the compiled
 * code for it together with the garbage, and the measurement would be one of the compiler.
 */
const open = new ThreadRunner({ maxThreads: 1 });
void engine.submit({ toolName: 'rest' }, (task) => open.run(callOf('rest', undefined), task)).wait();

/** Everything on for each call: priority, demand, timeout, retries, progress, abort, and a limit on the result. */
export const contestant: ThreadContestant = {
  name: 'volley',
  async run({ count, work, levels }) {
    const promises: Promise<unknown>[] = [];
    for (let index = 0; index < count; index++) {
      const call = callOf(work, { index });
      const handle = engine.submit(FULL_CONTEXTS[levels[index]!]!, (task) => runner.run(call, task));
      promises.push(handle.wait());
    }
    await Promise.all(promises);
  },
};

function callOf(exportName: keyof typeof CODES, input: unknown): RunnerCall {
  return { toolName: exportName, code: CODES[exportName], input, limits: LIMITS, env: ENV, sandbox: SANDBOX };
}

function codeOf(exportName: string): ToolCode {
  return { kind: 'module', url: WORK.href, exportName };
}
