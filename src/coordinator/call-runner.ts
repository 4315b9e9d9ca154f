import type { VolleyConfig } from '../config/config.ts';
import { requireUnchanged } from '../config/trust.ts';
import { TRUST_VARIABLE } from '../config/user-folder.ts';
import type { ResourceRequirements } from '../core/demand.ts';
import { VolleyError } from '../core/errors.ts';
import type { ExecutionHandle } from '../engine/handle.ts';
import type { Outcome } from '../engine/outcome.ts';
import type { TaskContext } from '../engine/task.ts';
import { ToolFailure } from '../engine/tool-failure.ts';
import type { RunnerCall, RunnerTask } from '../runners/runner.ts';
import type { Tool } from '../tools/tool.ts';
import { checkArguments, checkResult } from './arguments.ts';
import type { ItemOptions } from './call-desk.ts';
import type { ReadyCall } from './plan.ts';
import type { Redactor } from './redactor.ts';
import { resolveReferences } from './references.ts';
import { ReportedError } from './reported-error.ts';
import type { RunnerSet } from './runner-set.ts';
import { SafeTask } from './safe-task.ts';
import { needsOf, specOf } from './spec.ts';

const NO_LIMIT_MS = Number.POSITIVE_INFINITY;
const NO_VARIABLES: Readonly<Record<string, string>> = {};

/** How the child of a call belongs to what is around it. */
interface Nesting {
  readonly group: string | undefined;
  readonly onChild: ((child: ExecutionHandle) => void) | undefined;
}

/** Runs the attempts of calls: resolves references, checks what goes in and out, and lets nothing secret through. */
export class CallRunner {
  constructor(
    private readonly config: VolleyConfig,
    private readonly runners: RunnerSet,
    private readonly redactor: Redactor,
  ) {}

  /** The attempt of a call whose needs are known. `resultOf` gives the result of another call. */
  async run(
    ready: ReadyCall,
    needs: ResourceRequirements,
    task: TaskContext,
    resultOf: ItemOptions['resultOf'],
  ): Promise<unknown> {
    try {
      const input =
        ready.references.size === 0 ? ready.input : await inputOf(ready, task, resultOf, NO_LIMIT_MS);
      return await this.call(ready, input, needs, new SafeTask(task, task, this.redactor));
    } catch (error) {
      throw this.reported(error);
    }
  }

  /**
   * The attempt of a call whose needs follow from results of others, or from a tool that was not known. Now that they
   * are there, the work is submitted as a child with those needs; this attempt lends its room and waits.
   */
  async runNested(
    planned: ReadyCall,
    task: TaskContext,
    resultOf: ItemOptions['resultOf'],
    { group, onChild }: Nesting,
  ): Promise<unknown> {
    return this.reporting(async () => {
      const ready = planned.tool.later === undefined ? planned : await this.withTool(planned, task);
      const { stallMs, deadlineMs, ...spec } = ready.spec;
      const input = await inputOf(ready, task, resultOf, spec.timeoutMs);
      const needs = needsOf(ready.call, ready.tool, input);
      const child = task.submit(
        {
          ...spec,
          ...(stallMs !== undefined && { stallMs }),
          ...(group !== undefined && { group }),
          resources: needs,
        },
        (inner) =>
          this.reporting(() => this.call(ready, input, needs, new SafeTask(inner, task, this.redactor))),
      );
      onChild?.(child);
      return unwrap(await child.outcome(), task.id);
    });
  }

  /** The same call of the tool itself instead of what stood for it. */
  private withTool(ready: ReadyCall, task: TaskContext): Promise<ReadyCall> {
    return new Promise((resolve, reject) => {
      task.onStop(reject);
      ready.tool.later!().then((tool) => {
        const spec = specOf(ready.call, tool, tool.conflictsWith, this.config.defaults);
        resolve({ ...ready, tool, spec });
      }, reject);
    });
  }

  private call(
    { tool }: ReadyCall,
    input: unknown,
    needs: ResourceRequirements,
    task: RunnerTask,
  ): Promise<unknown> {
    this.redactor.refreshForCall();
    // Its thread or process may load the module now.
    if (tool.code.kind === 'module') requireUnchanged(this.config.trust);
    const running = this.runners.get(tool.isolation).run(this.requestFor(tool, input, needs), task);
    return tool.output === undefined ? running : running.then((value) => checkResult(tool, value));
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
        guard: this.runners.guard,
      },
      env: tool.env.length === 0 ? NO_VARIABLES : variables(tool.env),
    };
  }

  private async reporting<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.reported(error);
    }
  }

  private reported(error: unknown): ReportedError {
    return error instanceof ReportedError ? error : new ReportedError(error, this.redactor);
  }
}

function variables(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = name === TRUST_VARIABLE ? undefined : process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/**
 * The arguments with all references resolved, checked. A check of the user's may take its time, or never end: it is
 * waited for as long as the attempt goes on, and `timeoutMs` at most.
 */
function inputOf(
  { tool, call, references }: ReadyCall,
  task: TaskContext,
  resultOf: ItemOptions['resultOf'],
  timeoutMs: number,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const checked = Promise.resolve(resultOf(task, references)).then((lookup) =>
      checkArguments(tool, resolveReferences(call.arguments ?? {}, references, lookup)),
    );
    const giveUp = () => reject(late(tool, timeoutMs));
    const timer = Number.isFinite(timeoutMs) ? setTimeout(giveUp, timeoutMs) : undefined;
    const end = () => clearTimeout(timer);
    task.onStop((reason) => {
      end();
      reject(reason);
    });
    checked.then(resolve, reject).finally(end);
  });
}

function late({ name }: Tool, timeoutMs: number): ToolFailure {
  const message = `The arguments of ${name} were not checked within its limit of ${timeoutMs} ms`;
  return new ToolFailure(message, {
    reason: 'timeout',
    cause: new VolleyError('EXECUTION_TIMEOUT', message, { toolName: name, timeoutMs }),
  });
}

/** What became of a child, as if the execution `id` had done its work itself. */
function unwrap(outcome: Outcome, id: string): unknown {
  switch (outcome.status) {
    case 'completed':
      return outcome.value;
    case 'failed': {
      const { error, reason } = outcome;
      if (error instanceof ReportedError) throw error;
      throw new ToolFailure((error as Error).message.replace(outcome.id, id), { reason, cause: error });
    }
    default:
      throw new ToolFailure(`It was ${outcome.status}.`);
  }
}
