import { expect } from 'vitest';
import type { ExecutionHandle, Outcome, ParallelExecutionEngine } from '../../../src/index.ts';
import type { RunLimits, Runner, RunnerCall } from '../../../src/runners/runner.ts';
import { processesWith } from '../support/processes.ts';

const TOOLS = new URL('../fixtures/behaviours.mjs', import.meta.url).href;
/** More than any healthy call needs, also on a busy machine. */
const HEALTHY_MS = 150_000;
/** What a process of Node needs here, with tsx, and what a hog fills soon. */
const MEMORY_MB = 256;

let marks = 0;

interface CallOptions {
  readonly input?: Readonly<Record<string, unknown>>;
  readonly limits?: RunLimits;
  readonly timeoutMs?: number;
}

/** What a test file brings. */
export interface RunnerUnderTest {
  readonly runner: Runner;
  readonly engine: typeof ParallelExecutionEngine;
  /** The module whose `ToolFailure` this engine knows. */
  readonly failures: URL;
  /** Afterwards nothing of it remains. */
  close(): Promise<void>;
}

/** A runner with an engine in front of it, as tools are run in earnest. */
export class Rig {
  readonly mark = `volley-mark-${process.pid}-${++marks}-end`;
  readonly engine: ParallelExecutionEngine;

  constructor(readonly under: RunnerUnderTest) {
    this.engine = new under.engine({ maxConcurrency: 2, graceMs: 60_000 });
  }

  /** Submits a call of a tool of the fixtures. */
  submit(
    tool: string,
    { input = {}, limits = {}, timeoutMs = HEALTHY_MS }: CallOptions = {},
  ): ExecutionHandle {
    const call: RunnerCall = {
      toolName: tool,
      code: { kind: 'module', url: TOOLS, exportName: tool },
      input: { mark: this.mark, ...input },
      limits: { memoryMb: MEMORY_MB, ...limits },
      sandbox: { mode: 'auto', read: [], write: [], network: false },
      env: { VOLLEY_MARK: this.mark },
    };
    return this.engine.submit({ toolName: tool, timeoutMs }, (task) => this.under.runner.run(call, task));
  }

  outcome(tool: string, options?: CallOptions): Promise<Outcome> {
    return this.submit(tool, options).outcome();
  }

  /** Waits until a call says that it has come to this step. */
  async step(handle: ExecutionHandle, step: string): Promise<void> {
    for await (const update of handle.progress()) if ('step' in update && update.step === step) return;
    throw new Error(`${handle.toolName} never came to the step "${step}"`);
  }

  /** After any fault: another call succeeds, all room is free again, and no process remains. */
  async expectUnharmed(): Promise<void> {
    const good = await this.outcome('double', { input: { value: 21 } });
    expect(good).toMatchObject({ status: 'completed', value: { doubled: 42 } });
    await this.engine.close();
    const { utilization, counts, abandoned } = this.engine.statistics();
    expect(new Set(Object.values(utilization).map(({ used }) => used))).toEqual(new Set([0]));
    expect({ running: counts.running, abandoned }).toEqual({ running: 0, abandoned: 0 });
    expect(processesWith(this.mark)).toEqual([]);
  }
}
