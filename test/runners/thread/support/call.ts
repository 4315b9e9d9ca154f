import type { RunLimits, RunnerCall, RunnerTask, ToolCode, ToolRun } from '../../../../src/runners/runner.ts';
import { until } from '../../../support/until.ts';

const TOOLS = new URL('../../fixtures/tools.mjs', import.meta.url).href;

/** A call of a function that is sent as text, or of an export of the fixtures. */
export function callOf(work: ToolRun | string, input?: unknown, limits: RunLimits = {}): RunnerCall {
  const code: ToolCode =
    typeof work === 'string'
      ? { kind: 'module', url: TOOLS, exportName: work }
      : { kind: 'source', text: work.toString() };
  const sandbox = { mode: 'off', read: [], write: [], network: false } as const;
  return { toolName: 'tool', code, input, limits, env: {}, sandbox };
}

/** An attempt that remembers what was said of it, and that the test can stop. */
export class TestTask implements RunnerTask {
  readonly id = 'exec-1';
  readonly attempt = 1;
  readonly said: unknown[][] = [];
  begun = 0;
  private readonly controller = new AbortController();

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  readonly report = (...args: unknown[]): void => {
    this.said.push(args);
  };

  began(): void {
    this.begun++;
  }

  stop(reason: unknown = new Error('stopped')): void {
    this.controller.abort(reason);
  }
}

/** Shared memory: how often somebody began, and whether they may go on. */
export class Gate {
  readonly words = new Int32Array(new SharedArrayBuffer(8));

  open(): void {
    Atomics.store(this.words, 1, 1);
  }

  /** Waits until so many have begun. */
  async entered(count = 1): Promise<void> {
    await until(() => Atomics.load(this.words, 0) >= count);
  }
}
