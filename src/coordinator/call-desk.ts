import type { VolleyConfig } from '../config/config.ts';
import type { ResourceRequirements } from '../core/demand.ts';
import { VolleyError } from '../core/errors.ts';
import { NO_NEEDS } from '../core/resource-table.ts';
import type { DependencyPolicy } from '../core/terms.ts';
import type { GroupItem, ParallelExecutionEngine } from '../engine/engine.ts';
import type { ExecutionHandle } from '../engine/handle.ts';
import type { TaskContext, ToolFunction } from '../engine/task.ts';
import { Roots } from '../tools/builtin/roots.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import { discoverAll, sourceNameOf } from '../tools/tool-source.ts';
import type { ToolCall } from './call.ts';
import { CallRunner } from './call-runner.ts';
import { PREPARING } from './outcome-error.ts';
import { type PlannedCall, type PlanParts, planCall, planCalls, type ReadyCall } from './plan.ts';
import type { Redactor } from './redactor.ts';
import type { ResultLookup } from './references.ts';
import type { RunnerSet } from './runner-set.ts';
import type { CallSpec } from './spec.ts';

export interface CallDeskParts {
  readonly engine: ParallelExecutionEngine;
  readonly registry: ToolRegistry;
  readonly runners: RunnerSet;
  readonly redactor: Redactor;
  readonly config: VolleyConfig;
}

/** How a call becomes an execution of a group. */
export interface ItemOptions {
  /** The id of the execution. */
  readonly id: string;
  /** Ids or handles of executions. */
  readonly dependsOn: readonly (string | ExecutionHandle)[];
  /** Whether a dependency has failed already that is not among `dependsOn`. */
  readonly hasFailedDependency: boolean;
  /** Where the results of the calls with these ids are found when an attempt begins. */
  readonly resultOf: (task: TaskContext, ids: ReadonlySet<string>) => ResultLookup | Promise<ResultLookup>;
  /** The group to which the execution will belong. */
  readonly group?: string;
  /** Does something around the work of each attempt. */
  readonly around?: { attempt(task: TaskContext, work: ToolFunction): unknown } | undefined;
  /** Hears of the child that does the work, where the needs are known only then. */
  readonly onChild?: (child: ExecutionHandle) => void;
}

interface Place {
  readonly id: string | undefined;
  readonly dependsOn: readonly (string | ExecutionHandle)[];
  readonly policy: DependencyPolicy | undefined;
}

/** What the engine had nothing against. */
interface Checked {
  readonly spec: CallSpec;
  readonly needs: ResourceRequirements;
  readonly policy: DependencyPolicy | undefined;
  readonly limits: number;
}

const NONE: readonly string[] = [];
const NO_IDS: ReadonlySet<string> = new Set();

/** Where calls are looked at and made into executions, for lists in memory and for batches in a store alike. */
export class CallDesk {
  readonly redactor: Redactor;
  /** The folders in which files may be written. */
  readonly roots: Roots;
  private readonly runner: CallRunner;
  private readonly planParts: PlanParts;
  private lastChecked: Checked | undefined;

  constructor(private readonly parts: CallDeskParts) {
    this.redactor = parts.redactor;
    this.roots = new Roots(parts.config.tools.roots, undefined, parts.runners.protection);
    this.runner = new CallRunner(parts.config, parts.runners, parts.redactor);
    const { registry, config } = parts;
    this.planParts = { registry, defaults: config.defaults, check: (ready) => this.check(ready) };
  }

  /**
   * Checks calls without starting anything. `outside` are ids that they may depend on besides each other. `stop` ends
   * it with a VolleyError as its reason, for all that are not refused already.
   */
  plan(
    calls: readonly ToolCall[],
    outside?: ReadonlySet<string>,
    stop?: AbortSignal,
  ): Promise<PlannedCall[]> {
    return planCalls(calls, this.planParts, { outside, stop });
  }

  /**
   * Checks one call by itself: at once, unless the schema of its tool takes its time. The call must have the form of one;
   * `dependsOn` are all that it depends on, and all that its arguments may refer to.
   */
  planOne(
    id: string,
    call: ToolCall,
    dependsOn: readonly string[] = NONE,
  ): PlannedCall | Promise<PlannedCall> {
    const known = dependsOn.length === 0 ? NO_IDS : new Set(dependsOn);
    return planCall({ id, call, given: dependsOn, known }, this.planParts);
  }

  /**
   * Asks the sources of tools that are about to be called, for so long at most: what they have told by then is checked
   * before it is called for, and the rest when it is called.
   */
  async discover(toolNames: Iterable<string>, limitMs: number): Promise<void> {
    const sources = this.parts.registry.listSources();
    if (sources.length === 0) return;
    const asked = new Set(Array.from(toolNames, sourceNameOf));
    await discoverAll(
      sources.filter(({ name }) => asked.has(name)),
      limitMs,
    );
  }

  /** Looks at a call again, for limits may have changed since it was planned. */
  recheck(planned: PlannedCall): PlannedCall {
    if (planned.kind === 'refused') return planned;
    try {
      this.check(planned);
      return planned;
    } catch (error) {
      if (!(error instanceof VolleyError)) throw error;
      return { kind: 'refused', id: planned.id, call: planned.call, error };
    }
  }

  /** What the engine is given for a call. */
  itemFor(ready: ReadyCall, options: ItemOptions): GroupItem {
    const { id, dependsOn, hasFailedDependency, resultOf, group, around, onChild } = options;
    const { spec, needs } = ready;
    // What runs after a failure, and only then, need not wait for a second one.
    const place = {
      id,
      dependsOn,
      policy: hasFailedDependency ? 'run' : ready.call.onDependencyFailure,
    } as const;
    const work: ToolFunction =
      needs === undefined
        ? (task) => this.runner.runNested(ready, task, resultOf, { group, onChild })
        : (task) => this.runner.run(ready, needs, task, resultOf);
    const run: ToolFunction = around === undefined ? work : (task) => around.attempt(task, work);
    return itemOf(needs === undefined ? preparing(spec) : spec, place, needs ?? NO_NEEDS, run);
  }

  /** Throws what the engine would throw of a call by itself: a demand that never fits, an unknown priority. */
  private check({ call, spec, needs = NO_NEEDS }: ReadyCall): void {
    const { engine } = this.parts;
    const { onDependencyFailure: policy } = call;
    const last = this.lastChecked;
    // Many calls of one tool that say nothing of their own are one question.
    const isSame = last?.spec === spec && last.needs === needs && last.policy === policy;
    if (isSame && last.limits === engine.limitsVersion) return;
    const place = { id: undefined, dependsOn: NONE, policy };
    engine.check(itemOf(spec, place, needs, () => undefined));
    this.lastChecked = { spec, needs, policy, limits: engine.limitsVersion };
  }
}

/** What waits for the child that does the work: the limits, the conflicts and the retries are those of the child. */
function preparing(spec: CallSpec): CallSpec {
  return {
    ...spec,
    toolName: `${PREPARING}${spec.toolName}`,
    conflictsWith: [],
    timeoutMs: Number.POSITIVE_INFINITY,
    stallMs: undefined,
    retry: { maxRetries: 0 },
  };
}

/**
 * All items have the same fields in the same order, because the engine reads thousands of them much faster then.
 * Undefined says nothing, to the engine as a field that is missing.
 */
function itemOf(
  { toolName, priority, timeoutMs, retry, idempotent, conflictsWith, stallMs, deadlineMs }: CallSpec,
  { id, dependsOn, policy }: Place,
  resources: ResourceRequirements,
  run: ToolFunction,
): GroupItem {
  return {
    id,
    toolName,
    priority,
    resources,
    conflictsWith,
    dependsOn,
    onDependencyFailure: policy,
    retry,
    timeoutMs,
    deadlineMs,
    stallMs,
    idempotent,
    run,
  } as GroupItem;
}
