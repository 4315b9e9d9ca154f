import { limitsChange } from '../config/change.ts';
import type { VolleyConfig } from '../config/config.ts';
import { defaultConfig } from '../config/default-config.ts';
import { VolleyError } from '../core/errors.ts';
import { type EngineLimits, ParallelExecutionEngine } from '../engine/engine.ts';
import type { ParallelAgentTool } from '../tools/agent-tool.ts';
import { builtinTools } from '../tools/builtin/all.ts';
import { type ToolDescription, ToolRegistry } from '../tools/registry.ts';
import type { Tool } from '../tools/tool.ts';
import type { CallResult, ToolCall } from './call.ts';
import { CallDesk } from './call-desk.ts';
import { CallGroup } from './call-group.ts';
import { environmentOf } from './environment.ts';
import { Redactor } from './redactor.ts';
import { RunnerSet } from './runner-set.ts';

export interface CoordinatorOptions {
  /** What `loadConfig()` gives. Default: the defaults, with the working directory as the only root. */
  readonly config?: VolleyConfig;
}

/** How one list of calls is run. */
export interface ExecuteOptions {
  /** Cancels what has not settled when it is aborted. */
  readonly signal?: AbortSignal;
  /** Whether the first failure cancels the rest. Default false. */
  readonly failFast?: boolean;
  /** How many calls of the list may run at once. Default: as many as the limits allow. */
  readonly maxConcurrency?: number;
  /** How long the whole list may take. */
  readonly timeoutMs?: number;
}

/**
 * Tool calls in, results out: each in its place, each with an outcome of its own.
 *
 * ```ts
 * await using coordinator = new ParallelToolCoordinator();
 * const results = await coordinator.executeParallel([
 *   { id: 'a', name: 'read_file', arguments: { path: 'a.txt' } },
 *   { id: 'b', name: 'write_file', arguments: { path: 'b.txt', content: { $from: 'a', path: '/content' } } },
 * ]);
 * ```
 */
export class ParallelToolCoordinator implements AsyncDisposable {
  /** Runs the calls. Its progress, statistics and `explain` tell of them. */
  readonly engine: ParallelExecutionEngine;
  private readonly registry: ToolRegistry;
  private readonly runners: RunnerSet;
  /** @internal */
  readonly desk: CallDesk;
  private config: VolleyConfig;
  private lists = 0;
  private closing: Promise<void> | undefined;

  constructor({ config = defaultConfig() }: CoordinatorOptions = {}) {
    this.config = config;
    this.engine = new ParallelExecutionEngine({ ...config.engine, ...engineLimits(config) });
    this.registry = new ToolRegistry(config.tools);
    this.runners = new RunnerSet(config);
    const { engine, registry, runners } = this;
    const redactor = new Redactor({ ...config.secrets, env: process.env });
    this.desk = new CallDesk({ engine, registry, runners, redactor, config });
    const { tools, absent } = builtinTools(environmentOf(config, () => this.runners.launcher));
    this.registry.register(...tools);
    for (const [name, remedy] of absent) this.registry.explainAbsence(name, remedy);
  }

  /** Adds tools: what `defineTool` returns, or objects of the form of `ParallelAgentTool`. */
  register(...tools: readonly (Tool | ParallelAgentTool)[]): void {
    this.registry.register(...tools);
  }

  /** Takes a tool out. What runs of it goes on. */
  unregister(name: string): boolean {
    return this.registry.unregister(name);
  }

  /** What may be called, with its schemas; all of it or what a glob of names matches. */
  tools(glob?: string): ToolDescription[] {
    return this.registry.list(glob);
  }

  /** Runs calls in parallel. The results come in the order of the calls; a failed call never hides another. */
  async executeParallel(calls: readonly ToolCall[], options: ExecuteOptions = {}): Promise<CallResult[]> {
    const { group, unlink } = await this.start(calls, options);
    try {
      return await group.results();
    } finally {
      unlink();
    }
  }

  /** Runs one call. */
  async executeSingle(call: ToolCall, options: Pick<ExecuteOptions, 'signal'> = {}): Promise<CallResult> {
    const [result] = await this.executeParallel([call], options);
    return result!;
  }

  /** Runs calls in parallel and gives each result when it comes. Whoever stops reading cancels the rest. */
  async *stream(
    calls: readonly ToolCall[],
    options: ExecuteOptions = {},
  ): AsyncGenerator<CallResult, void, undefined> {
    const { group, unlink } = await this.start(calls, options);
    try {
      yield* group.stream();
    } finally {
      unlink();
    }
  }

  /** Takes over the limits of a changed configuration while everything runs. Other keys need a new coordinator. */
  applyLimits(config: VolleyConfig): void {
    this.engine.setLimits(limitsChange(this.config.limits, config.limits));
    this.config = { ...this.config, limits: config.limits };
  }

  /** Takes no more calls, waits for those there are (with `cancel`, ends them), and ends every thread and process. */
  close(options: { readonly cancel?: boolean } = {}): Promise<void> {
    const closed = this.engine.close(options);
    this.closing ??= closed.then(() => this.runners.close());
    return this.closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  private async start(
    calls: readonly ToolCall[],
    { signal, ...options }: ExecuteOptions,
  ): Promise<{ group: CallGroup; unlink: () => void }> {
    this.assertOpen();
    const planned = await this.desk.plan(calls);
    this.assertOpen();
    const group = new CallGroup(this.engine, this.desk, planned, `calls-${++this.lists}`, options);
    return { group, unlink: linkSignal(group, signal) };
  }

  private assertOpen(): void {
    if (this.closing !== undefined)
      throw new VolleyError(
        'RUNNER_CLOSED',
        'The coordinator was closed and takes no more calls: create a new one.',
      );
  }
}

function engineLimits({ limits }: VolleyConfig): EngineLimits {
  const { maxConcurrency, resources, tools, groups } = limits;
  return { maxConcurrency, limits: resources, tools, groups };
}

function linkSignal(group: CallGroup, signal: AbortSignal | undefined): () => void {
  if (signal === undefined) return () => {};
  const cancel = () => group.cancel(signal.reason);
  if (signal.aborted) cancel();
  else signal.addEventListener('abort', cancel, { once: true });
  return () => signal.removeEventListener('abort', cancel);
}
