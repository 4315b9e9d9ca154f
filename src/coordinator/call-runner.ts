import type { VolleyConfig } from '../config/config.ts';
import type { ResourceRequirements } from '../core/demand.ts';
import type { Outcome } from '../engine/outcome.ts';
import type { TaskContext } from '../engine/task.ts';
import { ToolFailure } from '../engine/tool-failure.ts';
import type { RunnerCall, RunnerTask } from '../runners/runner.ts';
import type { Tool } from '../tools/tool.ts';
import { checkArguments, checkResult } from './arguments.ts';
import type { ReadyCall } from './plan.ts';
import type { Redactor } from './redactor.ts';
import { type ResultLookup, resolveReferences } from './references.ts';
import { ReportedError } from './reported-error.ts';
import type { RunnerSet } from './runner-set.ts';
import { type CallSpec, needsOf } from './spec.ts';

/** Runs the attempts of calls: resolves references, checks what goes in and out, and lets nothing secret through. */
export class CallRunner {
  constructor(
    private readonly config: VolleyConfig,
    private readonly runners: RunnerSet,
    private readonly redactor: Redactor,
  ) {}

  /** The attempt of a call whose needs are known. `resultOf` gives the result of another call. */
  async run(ready: ReadyCall, task: TaskContext, resultOf: ResultLookup): Promise<unknown> {
    return this.reporting(async () => {
      const input = await this.inputOf(ready, resultOf);
      // A check may have taken its time.
      if (ready.references.size > 0) task.signal.throwIfAborted();
      return this.call(ready, input, this.safeTask(task));
    });
  }

  /**
   * The attempt of a call whose needs follow from results of others. Now that they are there, the work is submitted as
   * a child with those needs; this attempt lends its room and waits.
   */
  async runNested(
    ready: ReadyCall,
    task: TaskContext,
    { stallMs, deadlineMs, ...spec }: CallSpec,
    resultOf: ResultLookup,
  ): Promise<unknown> {
    return this.reporting(async () => {
      const input = await this.inputOf(ready, resultOf);
      const resources = needsOf(ready.call, ready.tool, input);
      const child = task.submit({ ...spec, ...(stallMs !== undefined && { stallMs }), resources }, (inner) =>
        this.reporting(() => this.call(ready, input, this.safeTask(inner, task))),
      );
      return unwrap(await child.outcome());
    });
  }

  private async inputOf(ready: ReadyCall, resultOf: ResultLookup): Promise<unknown> {
    if (ready.references.size === 0) return ready.input;
    return checkArguments(ready.tool, resolveReferences(ready.call.arguments, ready.references, resultOf));
  }

  private async call({ call, tool }: ReadyCall, input: unknown, task: RunnerTask): Promise<unknown> {
    const request = this.requestFor(tool, input, needsOf(call, tool, input));
    const value = await this.runners.get(tool.isolation).run(request, task);
    return checkResult(tool, value);
  }

  private requestFor(tool: Tool, input: unknown, needs: ResourceRequirements): RunnerCall {
    const { processes, tools } = this.config;
    return {
      toolName: tool.name,
      code: tool.code,
      input,
      limits:
        tool.isolation === 'process'
          ? {
              ...processes.limits,
              ...(needs.memoryMb !== undefined && { memoryMb: needs.memoryMb }),
              ...tool.limits,
            }
          : tool.limits,
      sandbox: {
        mode: processes.sandbox,
        read: tools.roots,
        write: tool.readOnly ? [] : tools.roots,
        network: needs.network === true,
      },
      env: Object.fromEntries(
        tool.env.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]!]])),
      ),
    };
  }

  /** What a tool says of its progress goes into events: without secrets, and bounded. */
  private safeTask(task: TaskContext, reporter = task): RunnerTask {
    const { redactor } = this;
    const { id, attempt } = task;
    return {
      id,
      attempt,
      get signal() {
        return task.signal;
      },
      get began() {
        return task.began;
      },
      get onStop() {
        return task.onStop;
      },
      get report() {
        const { report } = reporter;
        return (first: number | string, step?: string) => {
          if (typeof first === 'string') report(redactor.text(first));
          else if (typeof step === 'string') report(first, redactor.text(step));
          else report(first, step);
        };
      },
    };
  }

  private async reporting<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw error instanceof ReportedError ? error : new ReportedError(error, this.redactor);
    }
  }
}

function unwrap(outcome: Outcome): unknown {
  switch (outcome.status) {
    case 'completed':
      return outcome.value;
    case 'failed': {
      const { error, reason } = outcome;
      if (error instanceof ReportedError) throw error;
      throw new ToolFailure((error as Error).message, { reason, cause: error });
    }
    default:
      throw new ToolFailure(`It was ${outcome.status}.`);
  }
}
