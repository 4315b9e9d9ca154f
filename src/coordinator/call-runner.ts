import type { VolleyConfig } from '../config/config.ts';
import { requireUnchanged } from '../config/trust.ts';
import { CLUSTER_KEY_VARIABLE, TRUST_VARIABLE } from '../config/user-folder.ts';
import type { ResourceRequirements } from '../core/demand.ts';
import { VolleyError } from '../core/errors.ts';
import type { Labels } from '../core/labels.ts';
import type { AttemptUsage } from '../core/usage.ts';
import type { ExecutionHandle } from '../engine/handle.ts';
import { type Outcome, renameError } from '../engine/outcome.ts';
import type { Report, TaskContext } from '../engine/task.ts';
import { isToolFailure, ToolFailure } from '../engine/tool-failure.ts';
import type { ProcessUsage, RunnerCall, RunnerTask, Spending, ToolContext } from '../runners/runner.ts';
import { evaluate } from '../script/evaluate.ts';
import type { Tool } from '../tools/tool.ts';
import { checkArguments, checkResult } from './arguments.ts';
import { resolveNeeds, resolveOptions, withQuota } from './call-options.ts';
import { ReportedError } from './errors.ts';
import type { ReadyCall } from './plan.ts';
import type { Redactor } from './redaction/redactor.ts';
import { type ExpressionLookup, type Results, resolveReferences } from './references.ts';
import { LOCAL_WORKER, type PlacedOn, type RemoteRunner } from './remote-runner.ts';
import type { ResultCache } from './result-cache.ts';
import type { RunnerSet } from './runner-set.ts';

const MIN_MEASURED_MS = 5;
const NO_VARIABLES: Readonly<Record<string, string>> = {};

/** Reads the results of other calls, to which the arguments of a call refer, when an attempt starts. */
export type ResultReader = (task: TaskContext, ids: ReadonlySet<string>) => Results | Promise<Results>;

/** Follows an attempt of a task that may have had attempts in earlier processes. */
export interface AttemptObserver {
  /** The number of the attempt over all runs. */
  readonly attempt: number;
  /** Called with what the attempt reports, without secrets. */
  reported(progress: number | undefined, step: string | undefined): void;
  /** Called with what the attempt printed or logged, as it is. */
  printed(stream: 'stdout' | 'stderr' | 'log', chunk: Uint8Array | string): void;
  /** Called with the name of the worker that gets the attempt, if one does. */
  placed(worker: string): void;
  /** Called with what the attempt used in processes. */
  measured(usage: ProcessUsage): void;
  /** Called with what each call of a model or an agent cost. */
  spent(spending: Spending): void;
}

interface AttemptOptions {
  readonly observer?: AttemptObserver | undefined;
  /** An attempt that it answers returns a `CachedResult`. */
  readonly cache?: ResultCache | undefined;
  /** The folder in which it works, in place of the roots. */
  readonly folder?: string | undefined;
  /** Called with what it logs. */
  readonly onLog?: ((text: string) => void) | undefined;
}

interface NestedOptions extends AttemptOptions {
  /** The group of the child. */
  readonly group: string;
  readonly onChild: ((child: ExecutionHandle) => void) | undefined;
  /** Where the child may run, if there are workers. */
  readonly on: ((ready: ReadyCall, input: unknown) => { readonly on: Labels }) | undefined;
}

const NO_OPTIONS: AttemptOptions = {};

/** Whether unclaimed needs of a tool's calls follow what is measured: only processes are measured. */
export function learnsUsage(tool: Tool, { processes }: VolleyConfig): boolean {
  return tool.isolation === 'process' && processes.learnUsage;
}

/** What processes used, as the engine learns it. */
export function attemptUsage({ memoryMb, cpuMs, durationMs }: ProcessUsage): AttemptUsage {
  return {
    ...(memoryMb !== undefined && { memoryMb }),
    // Anything shorter says nothing about how many cores it keeps busy.
    ...(cpuMs !== undefined && durationMs >= MIN_MEASURED_MS && { cpu: cpuMs / durationMs }),
  };
}

/** Runs the attempts of calls: resolves references, checks what goes in and out, and lets no secret through. */
export class CallRunner {
  constructor(
    private readonly config: VolleyConfig,
    private readonly runners: RunnerSet,
    private readonly redactor: Redactor,
  ) {}

  /** Runs an attempt of a call whose needs are known. */
  async run(
    ready: ReadyCall,
    needs: ResourceRequirements,
    task: TaskContext,
    results: ResultReader,
    { observer, cache, folder, onLog }: AttemptOptions = NO_OPTIONS,
  ): Promise<unknown> {
    try {
      const isPlain = ready.references.size + ready.expressions.size === 0;
      const input = isPlain ? ready.input : await inputOf(ready, task, results);
      const redacted = new RedactedTask(task, task, this.redactor, observer, folder, onLog);
      return await this.call(ready.tool, input, needs, redacted, { cache, worker: task.worker });
    } catch (error) {
      throw this.reported(error);
    }
  }

  /**
   * Runs an attempt of a call whose needs follow from results of others, or from a tool that was not known. They are
   * known now: the work is submitted as a child with those needs, and this attempt lends its room and waits.
   */
  async runNested(
    planned: ReadyCall,
    task: TaskContext,
    results: ResultReader,
    { group, onChild, observer, cache, folder, on }: NestedOptions,
  ): Promise<unknown> {
    try {
      const ready = planned.tool.later === undefined ? planned : await this.withTool(planned, task);
      const input = await inputOf(ready, task, results, ready.options.timeoutMs);
      const { stallMs, deadlineMs, quota, ...options } = withQuota(ready.options, ready.tool, input);
      const needs = resolveNeeds(ready.call, ready.tool, input);
      const child = task.submit(
        {
          ...options,
          ...(stallMs !== undefined && { stallMs }),
          ...(quota !== undefined && { quota }),
          ...on?.(ready, input),
          group,
          resources: needs,
          learnUsage: learnsUsage(ready.tool, this.config),
        },
        async (inner) => {
          try {
            const redacted = new RedactedTask(inner, task, this.redactor, observer, folder);
            return await this.call(ready.tool, input, needs, redacted, { cache, worker: inner.worker });
          } catch (error) {
            throw this.reported(error);
          }
        },
      );
      onChild?.(child);
      return childValue(await child.outcome(), ready);
    } catch (error) {
      throw this.reported(error);
    }
  }

  /** Replaces the placeholder of a tool by the tool itself. */
  private withTool(ready: ReadyCall, task: TaskContext): Promise<ReadyCall> {
    return new Promise((resolve, reject) => {
      task.onStop(reject);
      ready.tool.later!().then((tool) => {
        const options = resolveOptions(ready.call, tool, tool.conflictsWith, this.config.defaults);
        resolve({ ...ready, tool, options });
      }, reject);
    });
  }

  private call(
    tool: Tool,
    input: unknown,
    needs: ResourceRequirements,
    task: RedactedTask,
    { cache, worker }: { readonly cache: ResultCache | undefined; readonly worker: string | undefined },
  ): Promise<unknown> {
    this.redactor.refreshForCall();
    const { remote } = this.runners;
    // The cache knows the files of this machine only.
    if (remote !== undefined && worker !== undefined && worker !== LOCAL_WORKER) {
      const { grantedMemoryMb: memoryMb = needs.memoryMb } = task;
      const granted = memoryMb === undefined ? needs : { ...needs, memoryMb };
      task.placed(remote.nameOf(worker));
      if (this.runners.hosted.has(tool)) {
        task.on = placedOn(remote, worker, task);
        return this.send(tool, this.requestFor(tool, input, needs, task), task);
      }
      return remote.run(worker, { tool, input, needs: granted }, task);
    }
    const isCached = cache !== undefined && tool.cache !== undefined;
    // Its thread or process may load the module now. A cached result needs the same approval.
    if (tool.code.kind === 'module' || (isCached && tool.source !== undefined))
      requireUnchanged(this.config.trust);
    const request = this.requestFor(tool, input, needs, task);
    return isCached
      ? cache.through(tool, request, task.signal, () => this.send(tool, request, task))
      : this.send(tool, request, task);
  }

  private send(tool: Tool, request: RunnerCall, task: RunnerTask): Promise<unknown> {
    let running = this.runners.get(tool.isolation).run(request, task);
    if (tool.isolation === 'process')
      running = running.catch((error: unknown) => {
        throw this.withMoreMemory(error, tool, request.limits.memoryMb);
      });
    return tool.output === undefined ? running : running.then((value) => checkResult(tool, value));
  }

  /**
   * A call that exceeded the memory it claimed is retried with twice as much, up to the limit of every call. A limit of
   * the tool itself is never raised, and one that was killed may have done a part of its work.
   */
  private withMoreMemory(error: unknown, tool: Tool, limitMb: number | undefined): unknown {
    if (!isToolFailure(error) || error.reason !== 'memory') return error;
    if (limitMb === undefined || tool.limits.memoryMb !== undefined || !tool.idempotent) return error;
    const memoryMb = Math.min(2 * limitMb, this.config.processes.limits.memoryMb);
    if (memoryMb <= limitMb) return error;
    return new ToolFailure(error.message, { reason: 'memory', memoryMb, cause: error.cause });
  }

  private requestFor(
    tool: Tool,
    input: unknown,
    needs: ResourceRequirements,
    { grantedMemoryMb, folder }: RedactedTask,
  ): RunnerCall {
    const { processes, tools } = this.config;
    const memoryMb = grantedMemoryMb ?? needs.memoryMb;
    const roots = folder === undefined ? tools.roots : [folder];
    return {
      toolName: tool.name,
      code: tool.code,
      input,
      limits:
        tool.isolation === 'process'
          ? {
              ...processes.limits,
              ...(memoryMb !== undefined && { memoryMb }),
              ...tool.limits,
            }
          : tool.limits,
      sandbox: {
        mode: processes.sandbox,
        read: roots,
        write: tool.readOnly ? [] : roots,
        network: needs.network === true,
        guard: folder === undefined ? this.runners.guard : undefined,
      },
      folder,
      env: tool.env.length === 0 ? NO_VARIABLES : variables(tool.env),
    };
  }

  private reported(error: unknown): ReportedError {
    return error instanceof ReportedError ? error : new ReportedError(error, this.redactor);
  }
}

function variables(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const isOurs = name === TRUST_VARIABLE || name === CLUSTER_KEY_VARIABLE;
      const value = isOurs ? undefined : process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** The worker that the attempt of a hosted tool was placed on; undefined if it is all done here. */
export function placeOfAttempt(context: ToolContext): PlacedOn | undefined {
  return context instanceof RedactedTask ? context.on : undefined;
}

/** The worker of a call that runs here. What the call has done there stops with its own signal. */
function placedOn(remote: RemoteRunner, worker: string, { id, attempt }: RedactedTask): PlacedOn {
  return {
    worker: remote.nameOf(worker),
    agents: remote.agentsOf(worker),
    run: (call, task) => {
      const { signal } = task;
      signal.throwIfAborted();
      const onStop = (stop: (reason: unknown) => void) =>
        signal.addEventListener('abort', () => stop(signal.reason), { once: true });
      return remote.run(worker, call, { ...task, id, attempt, onStop, began: () => undefined });
    },
  };
}

/** An attempt as a runner sees it. What the tool reports goes into events: without secrets, and bounded. */
class RedactedTask implements RunnerTask {
  readonly id: string;
  readonly attempt: number;
  on: PlacedOn | undefined = undefined;

  constructor(
    private readonly task: TaskContext,
    /** The execution that the caller knows. */
    private readonly reporter: TaskContext,
    private readonly redactor: Redactor,
    private readonly observer: AttemptObserver | undefined,
    readonly folder: string | undefined,
    private readonly onLog?: (text: string) => void,
  ) {
    this.id = reporter.id;
    this.attempt = task === reporter && observer !== undefined ? observer.attempt : task.attempt;
  }

  get signal(): AbortSignal {
    return this.task.signal;
  }

  get quota(): string {
    return this.task.quota;
  }

  get began(): TaskContext['began'] {
    return this.task.began;
  }

  get grantedMemoryMb(): number | undefined {
    return this.task.grantedMemoryMb;
  }

  measured(usage: ProcessUsage): void {
    this.task.used(attemptUsage(usage));
    this.observer?.measured(usage);
  }

  placed(worker: string): void {
    this.observer?.placed(worker);
  }

  spent(spending: Spending): void {
    this.observer?.spent(spending);
  }

  get onStop(): TaskContext['onStop'] {
    return this.task.onStop;
  }

  get log(): (text: string) => void {
    const { observer, onLog } = this;
    return (text) => {
      observer?.printed('log', `${text}\n`);
      onLog?.(text);
    };
  }

  output(stream: 'stdout' | 'stderr', chunk: Uint8Array | string): void {
    this.observer?.printed(stream, chunk);
  }

  get report(): Report {
    const { redactor, observer } = this;
    const { report } = this.reporter;
    return (first: number | string, second?: string) => {
      if (typeof first === 'string') {
        const step = redactor.text(first);
        report(step);
        observer?.reported(undefined, step);
        return;
      }
      const step = typeof second === 'string' ? redactor.text(second) : second;
      report(first, step);
      observer?.reported(first, step);
    };
  }
}

/**
 * The arguments with all references resolved, checked. A schema may take its time, or never answer: this waits until the
 * attempt stops, and for `timeoutMs` at most.
 */
function inputOf(
  ready: ReadyCall,
  task: TaskContext,
  results: ResultReader,
  timeoutMs = Number.POSITIVE_INFINITY,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(late(ready.tool, timeoutMs));
    const timer = Number.isFinite(timeoutMs) ? setTimeout(giveUp, timeoutMs) : undefined;
    const end = () => clearTimeout(timer);
    task.onStop((reason) => {
      end();
      reject(reason);
    });
    resolveInput(ready, task, results).then(resolve, reject).finally(end);
  });
}

async function resolveInput(
  { tool, call, references, mentions, expressions }: ReadyCall,
  task: TaskContext,
  read: ResultReader,
): Promise<unknown> {
  const results = await read(task, references);
  const expression = await valuesOf(expressions, mentions, results);
  return checkArguments(tool, resolveReferences(call.arguments ?? {}, references, results.value, expression));
}

/** Evaluates expressions, all of which see the results of the calls that they mention. */
async function valuesOf(
  sources: ReadonlySet<string>,
  mentions: ReadonlySet<string>,
  { json }: Results,
): Promise<ExpressionLookup | undefined> {
  if (sources.size === 0) return undefined;
  const results = new Map([...mentions].map((id) => [id, json(id)]));
  const texts = new Map<string, string | undefined>();
  for (const source of sources) texts.set(source, await evaluate({ source, results }));
  return (source) => {
    const text = texts.get(source);
    return text === undefined ? undefined : JSON.parse(text);
  };
}

function late({ name }: Tool, timeoutMs: number): ToolFailure {
  const message = `The arguments of ${name} were not checked within its limit of ${timeoutMs} ms`;
  return new ToolFailure(message, {
    reason: 'timeout',
    cause: new VolleyError('EXECUTION_TIMEOUT', message, { toolName: name, timeoutMs }),
  });
}

/** Returns or throws what the child did, as if the execution of the call had done its work itself. */
function childValue(outcome: Outcome, { id, call }: ReadyCall): unknown {
  switch (outcome.status) {
    case 'completed':
      return outcome.value;
    case 'failed': {
      const { error, reason } = outcome;
      if (error instanceof ReportedError && error.limit === undefined) throw error;
      // A limit was waited for already, as often as it may be.
      if (error instanceof ReportedError)
        throw Object.assign(new ToolFailure(error.message, { reason, cause: error }), { name: error.name });
      const cause = renameError(error, call.name, () => id);
      throw new ToolFailure((cause as Error).message, { reason, cause });
    }
    default:
      throw new ToolFailure(`It was ${outcome.status}.`);
  }
}
