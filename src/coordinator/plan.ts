import type { VolleyConfig } from '../config/config.ts';
import type { ResourceRequirements } from '../core/demand.ts';
import { internalError, VolleyError } from '../core/errors.ts';
import type { Labels } from '../core/labels.ts';
import { NearestNames } from '../core/nearest.ts';
import type { Priority } from '../core/priority.ts';
import { resourceNameProblem, unknownResource } from '../core/resource-names.ts';
import { NO_NEEDS } from '../core/resource-table.ts';
import type { GroupSpec } from '../core/spec.ts';
import type { DependencyPolicy } from '../core/terms.ts';
import { isThenable } from '../core/values.ts';
import { reasonText } from '../core/words.ts';
import type { GroupItem, ParallelExecutionEngine, RefusedItem } from '../engine/engine.ts';
import type { GroupHandle } from '../engine/group-handle.ts';
import type { ExecutionHandle } from '../engine/handle.ts';
import type { TaskContext, ToolFunction } from '../engine/task.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import type { Tool } from '../tools/tool.ts';
import { discoverAll, sourceNameOf } from '../tools/tool-source.ts';
import { askSchema, validInput } from './arguments.ts';
import { callIds, checkDependsOn, checkedList, type ToolCall } from './call.ts';
import { type CallOptions, preparing, resolveNeeds, resolveOptions, withQuota } from './call-options.ts';
import { type AttemptObserver, CallRunner, learnsUsage, type ResultReader } from './call-runner.ts';
import { withExpression } from './compute.ts';
import { reportRefusal } from './errors.ts';
import { identityOf } from './identity.ts';
import type { Redactor } from './redaction/redactor.ts';
import {
  type KnownIds,
  loadParser,
  NO_REFERENCES,
  ParserMissing,
  type References,
  referencesIn,
  resolveReferences,
} from './references.ts';
import { LOCAL_LABELS } from './remote-runner.ts';
import type { ResultCache } from './result-cache.ts';
import type { RunnerSet } from './runner-set.ts';

/*
 * A call takes four shapes. Each guarantees more than the one before.
 *
 * 1. Written: `ToolCall` (call.ts) in a list, `TaskInput` (batch/input) in a batch. Its fields are valid. Its tool is not
 *    looked up yet.
 * 2. Stored: `TaskRecord` (store), in a batch only. It survives the process, and so does its result. Its tool,
 *    arguments, needs and dependencies were valid when it was added; a later process may have other tools.
 * 3. Planned: `PlannedCall`, below. Its tool is resolved, its input validated, its options and needs merged with those of
 *    the tool and the defaults. A call that cannot run is planned as refused, with its error. Each call is planned once
 *    per run.
 * 4. Executed: `GroupItem` or `RefusedItem` (engine), which the core turns into an execution. It has an id that is
 *    unique in the engine, dependencies, and work. A refused call is an execution that fails on submission, so that only
 *    the core decides what is skipped because of it.
 */

/** A validated call. */
export type PlannedCall = ReadyCall | RefusedCall;

/** A call that can run. */
export interface ReadyCall {
  readonly kind: 'ready';
  readonly id: string;
  readonly call: ToolCall;
  readonly tool: Tool;
  /** Validated by each attempt instead if it contains references or the tool is a placeholder. */
  readonly input: unknown;
  readonly options: CallOptions;
  /** Undefined if they depend on an input that is not validated yet. */
  readonly needs: ResourceRequirements | undefined;
  /** Ids of the calls whose results the arguments use. */
  readonly references: ReadonlySet<string>;
  /** Those of `references` that expressions mention. */
  readonly mentions: ReadonlySet<string>;
  /** The expressions in the arguments. */
  readonly expressions: ReadonlySet<string>;
  /** Possible mistakes in the arguments. */
  readonly warnings: readonly string[];
  /** Ids of calls, listed or referred to. Duplicates of a call are replaced by the one that runs. */
  readonly dependsOn: readonly string[];
  /** The identical call that runs in place of this one. */
  readonly sameAs: string | undefined;
  /** Whether it only plans and awaits other calls. It holds nothing of what its tool needs, and has no time limit. */
  readonly isGroup?: boolean;
}

/** A call that cannot run. It fails; the others continue. */
export interface RefusedCall {
  readonly kind: 'refused';
  readonly id: string;
  readonly call: ToolCall;
  readonly error: VolleyError;
}

/** The place of a planned call among other executions. */
export interface Placement {
  /** The id of the execution. */
  readonly id: string;
  /** Ids or handles of executions. */
  readonly dependsOn: readonly (string | ExecutionHandle)[];
  /** Set if a dependency that is not among `dependsOn` did not complete. */
  readonly hasFailedDependency?: boolean;
  /** Whether its failure does not end a `failFast` group. */
  readonly isOptional?: boolean | undefined;
  readonly results: ResultReader;
  readonly group: string;
  /** Plans the call again when an attempt starts, so that its input need not stay in memory. */
  readonly reload?: (() => Promise<ReadyCall>) | undefined;
  /** Wraps the work of each attempt. */
  readonly around?: { attempt(task: TaskContext, work: AttemptWork): unknown };
  /** Answers attempts of tools that declare what they read. */
  readonly cache?: ResultCache | undefined;
  /** The folder in which it works, in place of the roots. */
  readonly folder?: string | undefined;
  /** Called with what it logs. */
  readonly onLog?: ((text: string) => void) | undefined;
  /** Called with the child that does the work, if the needs were not known before the attempt. */
  readonly onChild?: (child: ExecutionHandle) => void;
}

/** The work of an attempt. */
export type AttemptWork = (task: TaskContext, observer?: AttemptObserver) => unknown;

export interface CallPlannerParts {
  readonly engine: ParallelExecutionEngine;
  readonly registry: ToolRegistry;
  readonly runners: RunnerSet;
  readonly redactor: Redactor;
  readonly config: VolleyConfig;
}

/** The last check that the engine accepted. */
interface LastCheck {
  readonly options: CallOptions;
  readonly needs: ResourceRequirements;
  readonly policy: DependencyPolicy | undefined;
  readonly limitsVersion: number;
}

/** What was found out about a call when it was stored. */
export interface StoredReferences {
  /** What its expressions mention. */
  readonly mentions?: readonly string[] | undefined;
  /** Whether its arguments are final and contain no references. */
  readonly isResolved?: boolean;
}

interface CallToPlan {
  readonly id: string;
  readonly call: ToolCall;
  /** Its listed dependencies, all known. */
  readonly dependsOn: readonly string[];
  readonly references: () => References;
  readonly stop?: AbortSignal | undefined;
}

/** How long a tool's schema may take to validate. The timeout of an attempt may be shorter. */
const MAX_CHECK_MS = 30_000;
/** The engine rejects longer names, and the name of an unknown tool is unchecked. */
const MAX_TOOL_NAME = 256;
const NO_DEPENDENCIES: readonly string[] = [];
const NO_IDS: ReadonlySet<string> = new Set();

/** Plans calls and submits them to the engine, for lists in memory and for batches in a store. */
export class CallPlanner {
  private readonly runner: CallRunner;
  private lastCheck: LastCheck | undefined;

  constructor(private readonly parts: CallPlannerParts) {
    this.runner = new CallRunner(parts.config, parts.runners, parts.redactor);
  }

  /**
   * Plans a list. Throws if the list itself is invalid (a duplicate id, an unknown dependency). A call that is invalid is
   * refused. When `stop` is aborted, its reason (a VolleyError) refuses all other calls.
   */
  async planList(calls: readonly ToolCall[], stop: AbortSignal): Promise<PlannedCall[]> {
    const list = checkedList(calls);
    const ids = callIds(list);
    const known = new Set(ids);
    const dependencies = list.map(({ dependsOn }, index) => checkDependsOn(ids[index]!, dependsOn, known));
    const names = new NearestNames(() => known);
    const planned: PlannedCall[] = new Array(list.length);
    const open: Promise<void>[] = [];
    for (const [index, written] of list.entries()) {
      const id = ids[index]!;
      const call = withExpression(written);
      const references = () => referencesIn(call.arguments, knownTo(id, known, names));
      const one = this.planCall({ id, call, dependsOn: dependencies[index]!, references, stop });
      if (isThenable(one))
        open.push(
          one.then((later) => {
            planned[index] = later;
          }),
        );
      else planned[index] = one;
    }
    await untilAborted(Promise.all(open), stop);
    if (!stop.aborted) return withoutDuplicates(planned);
    return list.map((call, index) => {
      const one = planned[index];
      return one?.kind === 'refused'
        ? one
        : { kind: 'refused', id: ids[index]!, call, error: stop.reason as VolleyError };
    });
  }

  /**
   * Plans one call, synchronously unless the schema of its tool is asynchronous. `dependsOn` lists all its
   * dependencies. Its arguments may refer only to these.
   */
  plan(
    id: string,
    call: ToolCall,
    dependsOn: readonly string[] = NO_DEPENDENCIES,
    { mentions = NO_DEPENDENCIES, isResolved = false }: StoredReferences = {},
  ): PlannedCall | Promise<PlannedCall> {
    if (isResolved) return this.planCall({ id, call, dependsOn, references: () => NO_REFERENCES });
    const ids = dependsOn.length === 0 ? NO_IDS : new Set(dependsOn);
    const known = {
      has: (id: string) => ids.has(id),
      mentions: mentions.length === 0 ? NO_IDS : new Set(mentions),
    };
    const written = withExpression(call);
    return this.planCall({
      id,
      call: written,
      dependsOn,
      references: () => referencesIn(written.arguments, known),
    });
  }

  /** Plans a call that is run for each of several items. Its arguments are checked when those are known. */
  planGroup(id: string, call: ToolCall, dependsOn: readonly string[] = NO_DEPENDENCIES): PlannedCall {
    try {
      const { tool, options, needs } = this.examineGroup(call);
      const { ids, mentions, expressions } = NO_REFERENCES;
      const rest = { references: ids, mentions, expressions, warnings: [], sameAs: undefined };
      return {
        kind: 'ready',
        id,
        call,
        tool,
        input: undefined,
        options,
        needs,
        dependsOn,
        ...rest,
        isGroup: true,
      };
    } catch (error) {
      return { kind: 'refused', id, call, error: refusal(call, error) };
    }
  }

  /** Throws if {@link planGroup} or the engine would refuse a call. */
  checkGroup(call: ToolCall): void {
    try {
      const { options, needs } = this.examineGroup(call);
      this.checkWithEngine(call, options, needs);
    } catch (error) {
      throw refusal(call, error);
    }
  }

  /** Throws if planning or the engine would refuse a call. */
  check(written: ToolCall, references: References): void | Promise<void> {
    const call = withExpression(written);
    const rethrow = (error: unknown): never => {
      throw refusal(call, error);
    };
    try {
      const checking = this.examine(call, references, undefined, (_, __, options, needs) =>
        this.checkWithEngine(call, options, needs),
      );
      return isThenable(checking) ? checking.catch(rethrow) : checking;
    } catch (error) {
      return rethrow(error);
    }
  }

  /** The priority of calls of a tool that have none of their own. */
  priorityOf(toolName: string): Priority {
    const { registry, config } = this.parts;
    try {
      return registry.resolve(toolName).priority ?? config.defaults.priority;
    } catch {
      // Such calls are refused.
      return config.defaults.priority;
    }
  }

  /** Throws if a demand in names of the wire asks for a resource that the engine does not have. */
  checkResourceNames(demand: object, builtIn: readonly string[]): void {
    const others = Object.keys(demand).filter((name) => !builtIn.includes(name));
    if (others.length === 0) return;
    const { utilization } = this.parts.engine.statistics();
    const named = Object.keys(utilization).filter((name) => resourceNameProblem(name) === undefined);
    const unknown = others.find((name) => !named.includes(name));
    if (unknown !== undefined) throw unknownResource(unknown, [...builtIn, ...named]);
  }

  /** Waits up to `limitMs` for the sources of these tools to list them. Tools still unknown remain placeholders. */
  async discover(toolNames: Iterable<string>, limitMs: number): Promise<void> {
    const sources = this.parts.registry.listSources();
    if (sources.length === 0) return;
    const wanted = new Set(Array.from(toolNames, sourceNameOf));
    await discoverAll(
      sources.filter(({ name }) => wanted.has(name)),
      limitMs,
    );
  }

  /**
   * Submits planned calls as a group. Calls that the engine rejects (needs that never fit, an unknown priority) are
   * refused one by one. Throws only if the group as a whole is invalid, for example because of a cycle.
   */
  submit(
    planned: readonly PlannedCall[],
    place: (planned: PlannedCall, index: number) => Placement,
    options: GroupSpec,
  ): GroupHandle {
    const { engine } = this.parts;
    const places = planned.map(place);
    try {
      return engine.submitAll(
        planned.map((one, index) => this.itemFor(one, places[index]!)),
        options,
      );
    } catch (error) {
      const checked = planned.map((one) => this.withEngineCheck(one));
      if (checked.every((one, index) => one === planned[index])) throw error;
      return engine.submitAll(
        checked.map((one, index) => this.itemFor(one, places[index]!)),
        options,
      );
    }
  }

  private itemFor(planned: PlannedCall, place: Placement): GroupItem | RefusedItem {
    if (planned.kind === 'refused') {
      const { call, error } = planned;
      const toolName = call.name.slice(0, MAX_TOOL_NAME);
      return {
        id: place.id,
        toolName,
        resources: NO_NEEDS,
        error: reportRefusal(error, this.parts.redactor),
        ...(place.isOptional === true && { isOptional: true }),
      };
    }
    const { options, isGroup = false } = planned;
    const needs = isGroup ? undefined : planned.needs;
    // After one failed dependency, a call that runs on failure need not wait for a second one to fail.
    const policy = place.hasFailedDependency === true ? 'run' : planned.call.onDependencyFailure;
    const work =
      place.reload === undefined ? this.work(planned, place) : this.reloadedWork(place.reload, place);
    const { around } = place;
    const run: ToolFunction = around === undefined ? work : (task) => around.attempt(task, work);
    const item: GroupItem = itemOf(
      needs === undefined ? preparing(options) : options,
      { id: place.id, dependsOn: place.dependsOn, policy },
      needs ?? NO_NEEDS,
      run,
      learnsUsage(planned.tool, this.parts.config),
    );
    const optional = place.isOptional === true ? { ...item, isOptional: true } : item;
    if (this.parts.runners.remote === undefined) return optional;
    return { ...optional, ...(needs === undefined ? { on: LOCAL_LABELS } : this.placeOf(planned)) };
  }

  private work(ready: ReadyCall, { results, group, onChild, cache, folder, onLog }: Placement): AttemptWork {
    const { runner } = this;
    const { needs } = ready;
    if (needs === undefined)
      return (task, observer) => {
        const on = this.parts.runners.remote === undefined ? undefined : this.placeOf;
        return runner.runNested(ready, task, results, { group, onChild, observer, cache, folder, on });
      };
    return (task, observer) => runner.run(ready, needs, task, results, { observer, cache, folder, onLog });
  }

  /** The labels of the workers on which a call may run: those that the call wants, and its tool. */
  private readonly placeOf = (ready: ReadyCall, resolved?: unknown): { on: Labels } => {
    const { tool, call, references, expressions } = ready;
    const { registry, runners } = this.parts;
    const isPlain = references.size + expressions.size === 0;
    const input = resolved ?? (isPlain ? ready.input : undefined);
    const hosted = runners.hosted.get(tool)?.(input);
    if (hosted !== undefined) return { on: { ...call.on, ...hosted } };
    if (!registry.canRunElsewhere(tool)) return { on: LOCAL_LABELS };
    return { on: { ...call.on, ...runners.remote!.labelsFor(tool, input) } };
  };

  /** A separate method, so that its closure does not retain the planned call. */
  private reloadedWork(reload: () => Promise<ReadyCall>, place: Placement): AttemptWork {
    return async (task, observer) => this.work(await reload(), place)(task, observer);
  }

  /** Never throws: an error refuses the call. */
  private planCall(one: CallToPlan): PlannedCall | Promise<PlannedCall> {
    const { id, call, dependsOn, references: find, stop } = one;
    const refused = (error: unknown): PlannedCall => ({
      kind: 'refused',
      id,
      call,
      error: refusal(call, error),
    });
    try {
      const references = find();
      const { ids, mentions, expressions, warnings } = references;
      const planning = this.examine(call, references, stop, (tool, input, options, needs): PlannedCall => {
        const isPlain = ids.size === 0 && dependsOn.length <= 1;
        return {
          kind: 'ready',
          id,
          call,
          tool,
          input,
          options,
          needs,
          references: ids,
          mentions,
          expressions,
          warnings,
          dependsOn: isPlain ? dependsOn : [...new Set([...dependsOn, ...ids])],
          sameAs: undefined,
        };
      });
      return isThenable(planning) ? planning.catch(refused) : planning;
    } catch (error) {
      if (error instanceof ParserMissing) return loadParser().then(() => this.planCall(one));
      return refused(error);
    }
  }

  private examineGroup(call: ToolCall) {
    const { registry, config } = this.parts;
    const tool = registry.resolve(call.name);
    const options = resolveOptions(call, tool, registry.conflictsOf(tool), config.defaults);
    const isKnown = typeof tool.resources !== 'function' && tool.later === undefined;
    return { tool, options, needs: isKnown ? resolveNeeds(call, tool, undefined) : undefined };
  }

  /** Validates a call by itself and passes the result to `done`. Throws if it is invalid. */
  private examine<T>(
    call: ToolCall,
    { ids, expressions, hasEscapes }: References,
    stop: AbortSignal | undefined,
    done: (tool: Tool, input: unknown, options: CallOptions, needs: ResourceRequirements | undefined) => T,
  ): T | Promise<T> {
    const { registry, config } = this.parts;
    const tool = registry.resolve(call.name);
    if (call.invalid !== undefined) {
      throw new VolleyError(
        'INVALID_ARGUMENTS',
        `The arguments of ${tool.name} cannot be read: ${call.invalid}`,
      );
    }
    const options = resolveOptions(call, tool, registry.conflictsOf(tool), config.defaults);
    if (ids.size + expressions.size > 0 || tool.later !== undefined) {
      const isUnknown = typeof tool.resources === 'function';
      return done(
        tool,
        call.arguments,
        options,
        isUnknown ? undefined : resolveNeeds(call, tool, call.arguments),
      );
    }
    const plain = hasEscapes ? resolveReferences(call.arguments, ids, noResult) : call.arguments;
    const limits = () => ({ limitMs: Math.min(options.timeoutMs, MAX_CHECK_MS), stop });
    const checking = askSchema(tool, plain ?? {}, limits);
    if (isThenable(checking))
      return checking.then((checked) => {
        const input = validInput(tool, checked);
        return done(tool, input, withQuota(options, tool, input), resolveNeeds(call, tool, input));
      });
    const input = validInput(tool, checking);
    return done(tool, input, withQuota(options, tool, input), resolveNeeds(call, tool, input));
  }

  /** Returns the call, or a refused one if the engine rejects it. */
  private withEngineCheck(planned: PlannedCall): PlannedCall {
    if (planned.kind === 'refused') return planned;
    const { id, call, options, needs } = planned;
    try {
      this.checkWithEngine(call, options, needs);
      return planned;
    } catch (error) {
      if (!(error instanceof VolleyError)) throw error;
      return { kind: 'refused', id, call, error };
    }
  }

  /** If the needs of the tool are not known yet, those that the call names are checked. */
  private checkWithEngine(
    { onDependencyFailure: policy, resources = NO_NEEDS }: ToolCall,
    options: CallOptions,
    needs: ResourceRequirements = resources,
  ): void {
    const { engine } = this.parts;
    const { limitsVersion } = engine;
    const last = this.lastCheck;
    // Calls of one tool without options of their own share one check.
    const isSame = last?.options === options && last.needs === needs && last.policy === policy;
    if (isSame && last.limitsVersion === limitsVersion) return;
    engine.check(
      itemOf(options, { id: undefined, dependsOn: NO_DEPENDENCIES, policy }, needs, () => undefined),
    );
    this.lastCheck = { options, needs, policy, limitsVersion };
  }
}

/** The ids that a call may refer to. It never suggests the call's own id. */
export function knownTo(id: string, known: Pick<KnownIds, 'has'>, names: NearestNames): KnownIds {
  return {
    has: (other) => known.has(other),
    nearest: (name) => {
      const found = names.find(name);
      return found === id ? undefined : found;
    },
  };
}

/** All items have the same fields in the same order, which the engine reads much faster. */
function itemOf(
  options: CallOptions,
  place: {
    readonly id: string | undefined;
    readonly dependsOn: readonly (string | ExecutionHandle)[];
    readonly policy: DependencyPolicy | undefined;
  },
  resources: ResourceRequirements,
  run: ToolFunction,
  learnUsage = false,
): GroupItem {
  const { toolName, priority, timeoutMs, retry, idempotent, conflictsWith, stallMs, deadlineMs, quota } =
    options;
  return {
    id: place.id,
    toolName,
    priority,
    resources,
    conflictsWith,
    dependsOn: place.dependsOn,
    onDependencyFailure: place.policy,
    retry,
    timeoutMs,
    deadlineMs,
    stallMs,
    idempotent,
    learnUsage,
    quota,
    run,
  } as GroupItem;
}

function noResult(id: string): never {
  throw internalError(`The result of ${id} is not needed.`);
}

/** A schema, or a getter in the arguments, may throw anything. */
function refusal({ name }: ToolCall, error: unknown): VolleyError {
  if (error instanceof VolleyError) return error;
  return new VolleyError(
    'INVALID_ARGUMENTS',
    `The arguments of ${name} could not be validated: ${reasonText(error)}`,
    { tool: name },
  );
}

/** Runs only the first of identical calls, if their tool allows it. */
function withoutDuplicates(planned: PlannedCall[]): PlannedCall[] {
  const firstByIdentity = new Map<string, string>();
  const replaced = new Map<string, string>();
  for (const one of planned) {
    const identity = one.kind === 'ready' && one.tool.dedupe ? identityOf(one) : undefined;
    if (identity === undefined) continue;
    const first = firstByIdentity.get(identity);
    if (first === undefined) firstByIdentity.set(identity, one.id);
    else replaced.set(one.id, first);
  }
  if (replaced.size === 0) return planned;
  const sourceOf = (id: string) => replaced.get(id) ?? id;
  return planned.map((one) =>
    one.kind === 'refused'
      ? one
      : { ...one, sameAs: replaced.get(one.id), dependsOn: [...new Set(one.dependsOn.map(sourceOf))] },
  );
}

function untilAborted(work: Promise<unknown>, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      stop.removeEventListener('abort', end);
      resolve();
    };
    if (stop.aborted) end();
    else stop.addEventListener('abort', end);
    void work.then(end);
  });
}
