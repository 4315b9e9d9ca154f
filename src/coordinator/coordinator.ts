import picomatch from 'picomatch';
import { defaultConfig, type VolleyConfig } from '../config/config.ts';
import { untrustedTool, type WorkspaceTrust } from '../config/trust.ts';
import { limitsChange } from '../config/watch.ts';
import { checkKnown } from '../core/check-known.ts';
import { VolleyError } from '../core/errors.ts';
import { checkGlob } from '../core/glob.ts';
import { checkObject } from '../core/numbers.ts';
import { reasonText } from '../core/words.ts';
import { type EngineLimits, ParallelExecutionEngine } from '../engine/engine.ts';
import type { ParallelAgentTool } from '../tools/agent-tool.ts';
import { builtinTools } from '../tools/builtin/all.ts';
import { type ToolDescription, ToolRegistry } from '../tools/registry.ts';
import type { Tool } from '../tools/tool.ts';
import { discoverAll, sourceNameOf, type ToolSource } from '../tools/tool-source.ts';
import type { CallResult, ToolCall } from './call.ts';
import { CallDesk } from './call-desk.ts';
import { CallGroup } from './call-group.ts';
import { environmentOf } from './environment.ts';
import { checkOptions, type ExecuteOptions } from './execute-options.ts';
import { Planning } from './planning.ts';
import { Redactor } from './redactor.ts';
import { ResultStream } from './result-stream.ts';
import { RunnerSet } from './runner-set.ts';

/** How a coordinator is made. */
export interface CoordinatorOptions {
  /** What `loadConfig()` gives. Default: the defaults, with the working directory as the only root. */
  readonly config?: VolleyConfig;
}

export type { ExecuteOptions };

const OPTIONS: ReadonlySet<string> = new Set<keyof CoordinatorOptions>(['config']);

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
  private readonly plannings = new Set<Planning>();
  private closing: Promise<void> | undefined;

  constructor(options: CoordinatorOptions = {}) {
    checkObject('The options of a coordinator', options);
    checkKnown('option of a coordinator', options, OPTIONS);
    const { config = defaultConfig() } = options;
    this.config = config;
    this.engine = new ParallelExecutionEngine({ ...config.engine, ...engineLimits(config) });
    this.registry = new ToolRegistry(config.tools, (name, isUnlikeOthers) =>
      untrustedTool(config.trust, name, isUnlikeOthers),
    );
    this.runners = new RunnerSet(config);
    const { engine, registry, runners } = this;
    const redactor = new Redactor({ ...config.secrets, env: process.env });
    this.desk = new CallDesk({ engine, registry, runners, redactor, config });
    const { tools, absent } = builtinTools(environmentOf(config, runners));
    this.registry.register(...tools);
    for (const [name, remedy] of absent) this.registry.explainAbsence(name, remedy);
  }

  /** Adds tools: what `defineTool` returns, or objects of the form of `ParallelAgentTool`. */
  register(...tools: readonly (Tool | ParallelAgentTool)[]): void {
    this.registry.register(...tools);
  }

  /**
   * Whether the folder of its configuration is trusted.
   *
   * @internal
   */
  get trust(): WorkspaceTrust {
    return this.config.trust;
  }

  /**
   * Adds a tool that is for Volley itself: it is listed nowhere, and `allow` and `deny` do not concern it.
   *
   * @internal
   */
  registerInternal(tool: Tool): void {
    this.registry.registerInternal(tool);
  }

  /** Takes a tool out. What runs of it goes on. */
  unregister(name: string): boolean {
    return this.registry.unregister(name);
  }

  /**
   * Adds tools that become known when they are asked for, such as those of an MCP server. They are closed with this.
   *
   * @internal
   */
  addSource(source: ToolSource): void {
    this.registry.addSource(source);
  }

  /**
   * Explains to whoever calls a tool why it is not there; undefined takes that back.
   *
   * @internal
   */
  explainAbsence(name: string, reason: string | undefined): void {
    if (reason === undefined) this.registry.forgetAbsence(name);
    else this.registry.explainAbsence(name, reason);
  }

  /**
   * Waits for the sources of the tools whose names a glob may match, for so long at most, so that {@link tools} knows
   * them.
   */
  async discover(glob = '*', limitMs?: number): Promise<void> {
    checkGlob(glob);
    const first = sourceNameOf(glob);
    // A bracket may hold whole names, with the parts that tell sources apart.
    const matches = /[{([]/.test(first) ? () => true : picomatch(first);
    await discoverAll(
      this.registry.listSources().filter(({ name }) => matches(name)),
      limitMs,
    );
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
  stream(
    calls: readonly ToolCall[],
    options: ExecuteOptions = {},
  ): AsyncGenerator<CallResult, void, undefined> {
    return new ResultStream(async (give, stop) => {
      const { group, unlink } = await this.start(calls, options, stop);
      try {
        await group.results(give);
      } finally {
        unlink();
      }
    });
  }

  /** Takes over the limits of a changed configuration while everything runs. Other keys need a new coordinator. */
  applyLimits(config: VolleyConfig): void {
    this.engine.setLimits(limitsChange(this.config.limits, config.limits));
    this.config = { ...this.config, limits: config.limits };
  }

  /** Takes no more calls, waits for those there are (with `cancel`, ends them), and ends every thread and process. */
  close(options: { readonly cancel?: boolean } = {}): Promise<void> {
    const closed = this.engine.close(options);
    this.closing ??= closed.then(() => this.closeParts());
    for (const planning of this.plannings) planning.stop(closedError());
    return this.closing;
  }

  /** The same as {@link close}: `await using` waits for everything. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  private async closeParts(): Promise<void> {
    const sources = this.registry.listSources().map((source) => source.close());
    await Promise.all([this.runners.close(), ...sources]);
  }

  private async start(
    calls: readonly ToolCall[],
    options: ExecuteOptions,
    stop?: AbortSignal,
  ): Promise<{ group: CallGroup; unlink: () => void }> {
    checkOptions(options);
    this.assertOpen();
    const { signal, timeoutMs, failFast, maxConcurrency } = options;
    const signals = [signal, stop].filter((one) => one !== undefined);
    const planning = new Planning(signals, timeoutMs);
    this.plannings.add(planning);
    const planned = await this.desk.plan(calls, undefined, planning.signal).finally(() => {
      planning.end();
      this.plannings.delete(planning);
    });
    this.assertOpen();
    const { leftMs } = planning;
    const name = `calls-${++this.lists}`;
    options.onGroup?.(name);
    const group = new CallGroup(this.engine, this.desk, planned, name, {
      ...(failFast !== undefined && { failFast }),
      ...(maxConcurrency !== undefined && { maxConcurrency }),
      ...(leftMs !== undefined && { timeoutMs: leftMs }),
    });
    const unlinks = signals.map((one) => linkSignal(group, one, this.desk.redactor));
    return {
      group,
      unlink: () => {
        for (const unlink of unlinks) unlink();
      },
    };
  }

  private assertOpen(): void {
    if (this.closing !== undefined) throw closedError();
  }
}

function closedError(): VolleyError {
  return new VolleyError(
    'RUNNER_CLOSED',
    'The coordinator was closed and takes no more calls: create a new one.',
  );
}

function engineLimits({ limits }: VolleyConfig): EngineLimits {
  const { maxConcurrency, resources, tools, groups } = limits;
  return { maxConcurrency, limits: resources, tools, groups };
}

function linkSignal(group: CallGroup, signal: AbortSignal, redactor: Redactor): () => void {
  const cancel = () => group.cancel(redactor.text(reasonText(signal.reason)));
  if (signal.aborted) cancel();
  else signal.addEventListener('abort', cancel, { once: true });
  return () => signal.removeEventListener('abort', cancel);
}
