import picomatch from 'picomatch';
import { defaultConfig, type VolleyConfig } from '../config/config.ts';
import { requireUnchanged, untrustedTool, type WorkspaceTrust } from '../config/trust.ts';
import { limitsChange } from '../config/watch.ts';
import { checkKnown } from '../core/check-known.ts';
import { VolleyError } from '../core/errors.ts';
import { checkGlob } from '../core/glob.ts';
import type { Labels } from '../core/labels.ts';
import { checkNumber, checkObject, checkSpanMs, show } from '../core/numbers.ts';
import type { WorkerPlacement } from '../core/placement.ts';
import type { NamedResources } from '../core/resource-names.ts';
import { isObject } from '../core/values.ts';
import { reasonText } from '../core/words.ts';
import { ParallelExecutionEngine } from '../engine/engine.ts';
import type { ParallelAgentTool, ToolInput, ToolOutput } from '../tools/agent-tool.ts';
import type { ToolSet } from '../tools/builtin/environment.ts';
import { Roots } from '../tools/builtin/roots.ts';
import { withCode } from '../tools/define-tool.ts';
import { loadToolModules } from '../tools/modules.ts';
import { type ToolDescription, ToolRegistry, type WithheldTool } from '../tools/registry.ts';
import type { Tool } from '../tools/tool.ts';
import { discoverAll, sourceNameOf, type ToolSource } from '../tools/tool-source.ts';
import type { CallResult, ToolCall } from './call.ts';
import { CallGroup } from './call-group.ts';
import { InputReader } from './input-reader.ts';
import { CallPlanner } from './plan.ts';
import { Redactor } from './redaction/redactor.ts';
import { AGENTS_RESOURCE, LOCAL_LABELS, LOCAL_WORKER, type RemoteRunner } from './remote-runner.ts';
import {
  type CacheMode,
  type CacheParts,
  type CacheStore,
  CodeVersions,
  ResultCache,
} from './result-cache.ts';
import { ResultStream } from './result-stream.ts';
import { environmentOf, RunnerSet } from './runner-set.ts';

/** Options of a coordinator. */
export interface CoordinatorOptions {
  /** The result of `loadConfig()`. Default: the defaults, with the working directory as the only root. */
  readonly config?: VolleyConfig;
  /**
   * Where the results of tools that declare what they read are cached: the result of `openStore()`. Default: nowhere.
   * Closing the coordinator leaves it open. Batches use the store that they are in.
   */
  readonly cache?: CacheStore;
  /** How much there is of each named resource, such as `{ gpu: 2 }`. They add to those of the configuration and win. */
  readonly resources?: NamedResources;
}

/** Options for one list of calls. */
export interface ExecuteOptions {
  /** Cancels all calls that have not settled when it is aborted. */
  readonly signal?: AbortSignal;
  /** Whether the first failure cancels the rest. Default false. */
  readonly failFast?: boolean;
  /** How many calls of the list may run at once. Default: as many as the limits allow. */
  readonly maxConcurrency?: number;
  /** How long the whole list may take. */
  readonly timeoutMs?: number;
  /** Called with the name of the engine's group right before the calls are submitted. */
  readonly onGroup?: (group: string) => void;
  /**
   * The folder in which the calls work, in place of the roots. Only tools with `files` can.
   *
   * @internal
   */
  readonly folder?: string;
  /**
   * Called with what the calls log.
   *
   * @internal
   */
  readonly onLog?: (text: string) => void;
}

/** Options of {@link ParallelToolCoordinator.call}: those of a call in a list, except dependencies. */
export interface SingleCallOptions
  extends Omit<ToolCall, 'name' | 'arguments' | 'invalid' | 'dependsOn' | 'onDependencyFailure'>,
    Pick<ExecuteOptions, 'signal'> {}

const EXECUTE_OPTIONS: ReadonlySet<string> = new Set<keyof ExecuteOptions>([
  'signal',
  'failFast',
  'maxConcurrency',
  'timeoutMs',
  'onGroup',
  'folder',
  'onLog',
]);

const COORDINATOR_OPTIONS: ReadonlySet<string> = new Set<keyof CoordinatorOptions>([
  'config',
  'cache',
  'resources',
]);

/**
 * Runs tool calls in parallel and returns one result per call, in order.
 *
 * ```ts
 * await using coordinator = new ParallelToolCoordinator();
 * coordinator.register(builtinTools());
 * const results = await coordinator.executeParallel([
 *   { id: 'a', name: 'read_file', arguments: { path: 'a.txt' } },
 *   { id: 'b', name: 'write_file', arguments: { path: 'b.txt', content: { $from: 'a', path: '/content' } } },
 * ]);
 * ```
 */
export class ParallelToolCoordinator implements AsyncDisposable {
  /** Runs the calls, and provides their progress, statistics and `explain`. */
  readonly engine: ParallelExecutionEngine;
  private readonly registry: ToolRegistry;
  private readonly runners: RunnerSet;
  /** @internal */
  readonly planner: CallPlanner;
  /**
   * Redacts secrets.
   *
   * @internal
   */
  readonly redactor: Redactor;
  /**
   * The folders in which files may be written.
   *
   * @internal
   */
  readonly roots: Roots;
  private config: VolleyConfig;
  private readonly cacheParts: CacheParts;
  /** Of lists of calls. */
  private readonly cache: ResultCache | undefined;
  /** Those of the options. */
  private readonly resources: NamedResources;
  private lists = 0;
  private readonly plannings = new Set<Planning>();
  private closing: Promise<void> | undefined;

  constructor(options: CoordinatorOptions = {}) {
    checkObject('The options of a coordinator', options);
    checkKnown('option of a coordinator', options, COORDINATOR_OPTIONS);
    const { config: given = defaultConfig(), resources = {} } = options;
    checkObject('resources', resources);
    this.resources = resources;
    const config = this.withResources(given);
    this.config = config;
    this.engine = new ParallelExecutionEngine({ ...config.engine, ...config.limits });
    this.registry = new ToolRegistry(config.tools, (name, isUnlikeOthers) =>
      untrustedTool(config.trust, name, isUnlikeOthers),
    );
    this.runners = new RunnerSet(config);
    this.redactor = new Redactor({ ...config.secrets, env: process.env });
    this.roots = new Roots(config.tools.roots, undefined, this.runners.protection);
    const inputs = new InputReader(this.roots);
    this.cacheParts = { config, inputs, code: new CodeVersions(inputs) };
    this.cache = options.cache && this.resultCache(options.cache, 'use');
    const { engine, registry, runners, redactor } = this;
    this.planner = new CallPlanner({ engine, registry, runners, redactor, config });
  }

  /**
   * How much of what tasks print is kept.
   *
   * @internal
   */
  get logLimits(): Pick<VolleyConfig['store'], 'logMb' | 'taskLogMb'> {
    return this.config.store;
  }

  /**
   * Adds tools, all of them or, on error, none: what `defineTool` and `builtinTools` return, or objects of the form of
   * `ParallelAgentTool`.
   */
  register(...tools: readonly (Tool | ParallelAgentTool | ToolSet)[]): void {
    const absent: (readonly [string, string])[] = [];
    const single = tools.flatMap((given): readonly (Tool | ParallelAgentTool)[] => {
      if (!isToolSet(given)) return [given];
      const made = given.toolsFor(environmentOf(this.config, this.runners));
      absent.push(...made.absent);
      return made.tools;
    });
    this.registry.register(...single);
    for (const [name, remedy] of absent) this.registry.explainAbsence(name, remedy);
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
   * Adds a tool for internal use: it is not listed, and `allow` and `deny` do not apply to it. With `placeOf`, its calls
   * take room on a worker with these labels, and have a part of their work done there.
   *
   * @internal
   */
  registerInternal(tool: Tool, placeOf?: (input: unknown) => Labels | undefined): void {
    this.registry.registerInternal(tool);
    if (placeOf !== undefined) this.runners.hosted.set(tool, placeOf);
  }

  /**
   * A cache of results in a store. Undefined if the configuration switches it off.
   *
   * @internal
   */
  resultCache(store: CacheStore, mode: CacheMode): ResultCache | undefined {
    return this.config.cache.enabled ? new ResultCache(store, mode, this.cacheParts) : undefined;
  }

  /** @internal */
  get maxOutages(): number {
    return this.config.defaults.maxOutages;
  }

  /** @internal */
  hasInternal(name: string): boolean {
    return this.registry.hasInternal(name);
  }

  /** Removes a tool. Running calls continue. */
  unregister(name: string): boolean {
    return this.registry.unregister(name);
  }

  /**
   * Adds a source that lists its tools on demand, such as an MCP server. It is closed with the coordinator.
   *
   * @internal
   */
  addSource(source: ToolSource): void {
    this.registry.addSource(source);
  }

  /**
   * Sets the explanation for callers of a missing tool. Undefined removes it.
   *
   * @internal
   */
  explainAbsence(name: string, reason: string | undefined): void {
    if (reason === undefined) this.registry.forgetAbsence(name);
    else this.registry.explainAbsence(name, reason);
  }

  /**
   * Waits up to a limit for the sources whose tools a glob may match, so that {@link tools} includes them.
   */
  async discover(glob = '*', limitMs?: number): Promise<void> {
    checkGlob(glob);
    const first = sourceNameOf(glob);
    // A bracket expression may contain whole names, including the source.
    const matches = /[{([]/.test(first) ? () => true : picomatch(first);
    await discoverAll(
      this.registry.listSources().filter(({ name }) => matches(name)),
      limitMs,
    );
  }

  /** Lists the tools that may be called, with their schemas: all, or those that match a glob. */
  tools(glob?: string): ToolDescription[] {
    return this.registry.list(glob);
  }

  /**
   * Lists the tools that exist but may not be called, with the reasons.
   *
   * @internal
   */
  withheld(): WithheldTool[] {
    return this.registry.withheld();
  }

  /** Runs calls in parallel. Returns the results in the order of the calls. A failed call does not affect the others. */
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

  /** Runs one call of a registered tool, with the types of that tool. */
  async call<T extends Tool | ParallelAgentTool>(
    tool: T,
    input: ToolInput<T>,
    options: SingleCallOptions = {},
  ): Promise<CallResult<ToolOutput<T>>> {
    if (typeof tool !== 'object' || tool === null)
      throw invalid(
        `call() takes a registered tool, but it got ${show(tool)}; for a name use executeSingle({ name, arguments })`,
      );
    const { name } = tool;
    if (!this.registry.includes(tool))
      throw new VolleyError('UNKNOWN_TOOL', `This tool is not registered: call register() with it first.`, {
        name,
      });
    checkObject('The options of call', options);
    const { signal, ...rest } = options;
    const result = await this.executeSingle(
      { ...rest, name, arguments: input },
      signal === undefined ? {} : { signal },
    );
    return result as CallResult<ToolOutput<T>>;
  }

  /** Runs calls in parallel and yields each result as it arrives. Stopping the iteration cancels the rest. */
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

  /**
   * Runs calls on other machines from now on. This process stays one of the workers, for what cannot run elsewhere.
   *
   * @internal
   */
  useRemote(remote: RemoteRunner, placement: WorkerPlacement): void {
    const { maxConcurrency, limits, resources } = this.config.limits;
    const capacity = { ...limits, concurrency: maxConcurrency, resources };
    this.runners.remote = remote;
    this.engine.usePlacement(placement);
    // Known before the first worker offers some.
    if (resources[AGENTS_RESOURCE] === undefined)
      this.engine.setLimits({ resources: { [AGENTS_RESOURCE]: Number.POSITIVE_INFINITY } });
    this.engine.changeWorkers(() => placement.join({ id: LOCAL_WORKER, capacity, labels: LOCAL_LABELS }));
  }

  /**
   * Whether calls run on the workers of a cluster.
   *
   * @internal
   */
  get hasWorkers(): boolean {
    return this.runners.remote !== undefined;
  }

  /**
   * The tools that another machine may call here.
   *
   * @internal
   */
  portableTools(): Tool[] {
    return this.registry.portable();
  }

  /** Applies the limits of a changed configuration to the running coordinator. Other settings need a new one. */
  applyLimits(config: VolleyConfig): void {
    const { limits } = this.withResources(config);
    this.engine.setLimits(limitsChange(this.config.limits, limits));
    this.config = { ...this.config, limits };
  }

  /** Rejects new calls, waits for the others (or cancels them with `cancel`), and ends all threads and processes. */
  close(options: { readonly cancel?: boolean } = {}): Promise<void> {
    const closed = this.engine.close(options);
    this.closing ??= closed.then(() => this.closeParts());
    for (const planning of this.plannings) planning.stop(closedError());
    return this.closing;
  }

  /** Same as {@link close}, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  private withResources(config: VolleyConfig): VolleyConfig {
    const { limits } = config;
    return { ...config, limits: { ...limits, resources: { ...limits.resources, ...this.resources } } };
  }

  private async closeParts(): Promise<void> {
    const sources = this.registry.listSources().map((source) => source.close());
    await Promise.all([this.runners.close(), this.cache?.close(), ...sources]);
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
    const planned = await this.planner.planList(calls, planning.signal).finally(() => {
      planning.end();
      this.plannings.delete(planning);
    });
    this.assertOpen();
    const { leftMs } = planning;
    const name = `calls-${++this.lists}`;
    options.onGroup?.(name);
    const groupOptions = {
      ...(failFast !== undefined && { failFast }),
      ...(maxConcurrency !== undefined && { maxConcurrency }),
      ...(leftMs !== undefined && { timeoutMs: leftMs }),
    };
    const group = new CallGroup(this.planner, this.redactor, planned, name, groupOptions, {
      cache: this.cache,
      folder: options.folder,
      onLog: options.onLog,
    });
    const unlinks = signals.map((one) => linkSignal(group, one, this.redactor));
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

function isToolSet(given: unknown): given is ToolSet {
  return typeof given === 'object' && given !== null && 'toolsFor' in given;
}

function closedError(): VolleyError {
  return new VolleyError('RUNNER_CLOSED', 'The coordinator is closed. Create a new one.');
}

function linkSignal(group: CallGroup, signal: AbortSignal, redactor: Redactor): () => void {
  const cancel = () => group.cancel(redactor.text(reasonText(signal.reason)));
  if (signal.aborted) cancel();
  else signal.addEventListener('abort', cancel, { once: true });
  return () => signal.removeEventListener('abort', cancel);
}

/** Creates a coordinator with the limits and rules of a configuration, the built-in tools, and those of its modules. */
export async function createCoordinator(config: VolleyConfig): Promise<ParallelToolCoordinator> {
  requireUnchanged(config.trust);
  const tools = await loadToolModules(config.tools.modules, config.folder);
  // The loaded files must be the approved ones.
  requireUnchanged(config.trust);
  const { builtinTools } = await import('../tools/builtin/all.ts');
  const coordinator = new ParallelToolCoordinator({ config });
  try {
    coordinator.register(builtinTools());
    coordinator.register(...tools.map((tool) => guarded(tool, config)));
  } catch (error) {
    await coordinator.close();
    throw error;
  }
  return coordinator;
}

/** A tool that runs in this process may load further files when it is called. */
function guarded(tool: Tool, { trust }: VolleyConfig): Tool {
  const { code } = tool;
  if (code.kind !== 'function' || trust.files.size === 0) return tool;
  return withCode(tool, {
    kind: 'function',
    run: (...call) => {
      requireUnchanged(trust);
      return code.run(...call);
    },
  });
}

/** Throws if the options are invalid, before anything is started. */
function checkOptions(options: ExecuteOptions): void {
  if (!isObject(options))
    throw invalid(
      `The options must be an object such as { timeoutMs: 60000 }, but they are ${show(options)}`,
    );
  checkKnown('option of a list of calls', options, EXECUTE_OPTIONS);
  const { signal, failFast, maxConcurrency, timeoutMs } = options;
  if (signal !== undefined && !isSignal(signal))
    throw invalid(`signal must be an AbortSignal, but it is ${show(signal)}`);
  if (failFast !== undefined && typeof failFast !== 'boolean')
    throw invalid(`failFast must be true or false, but it is ${show(failFast)}`);
  if (maxConcurrency !== undefined)
    checkNumber('maxConcurrency', maxConcurrency, { min: 1, integer: true, allowInfinity: true });
  checkSpanMs('timeoutMs', timeoutMs);
}

function isSignal(value: unknown): boolean {
  const { aborted, addEventListener } = Object(value) as Partial<AbortSignal>;
  return typeof aborted === 'boolean' && typeof addEventListener === 'function';
}

function invalid(message: string): VolleyError {
  return new VolleyError('INVALID_VALUE', `${message}.`);
}

/** What can end a list while its calls are being planned: the caller, its timeout, or the coordinator. */
class Planning {
  private readonly controller = new AbortController();
  private readonly beganAt = performance.now();
  private readonly timer: NodeJS.Timeout | undefined;
  private readonly unlinks: (() => void)[] = [];

  constructor(
    signals: readonly AbortSignal[],
    private readonly timeoutMs: number | undefined,
  ) {
    for (const signal of signals) this.link(signal);
    if (timeoutMs !== undefined && Number.isFinite(timeoutMs)) {
      const late = new VolleyError('EXECUTION_DEADLINE', `The list exceeded its timeout of ${timeoutMs} ms.`);
      this.timer = setTimeout(() => this.stop(late), timeoutMs);
    }
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** The remaining time of the list. */
  get leftMs(): number | undefined {
    if (this.timeoutMs === undefined) return undefined;
    return Math.max(1, this.timeoutMs - (performance.now() - this.beganAt));
  }

  stop(reason: VolleyError): void {
    this.controller.abort(reason);
  }

  end(): void {
    clearTimeout(this.timer);
    for (const unlink of this.unlinks) unlink();
  }

  private link(signal: AbortSignal): void {
    const cancel = () => this.stop(new VolleyError('EXECUTION_CANCELLED', reasonText(signal.reason)));
    if (signal.aborted) {
      cancel();
      return;
    }
    signal.addEventListener('abort', cancel, { once: true });
    this.unlinks.push(() => signal.removeEventListener('abort', cancel));
  }
}
