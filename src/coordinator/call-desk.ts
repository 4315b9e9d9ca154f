import type { VolleyConfig } from '../config/config.ts';
import type { ResourceRequirements } from '../core/demand.ts';
import { VolleyError } from '../core/errors.ts';
import type { DependencyPolicy } from '../core/terms.ts';
import type { GroupItem, ParallelExecutionEngine } from '../engine/engine.ts';
import type { ExecutionHandle } from '../engine/handle.ts';
import type { TaskContext, ToolFunction } from '../engine/task.ts';
import { Roots } from '../tools/builtin/roots.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import type { ToolCall } from './call.ts';
import { CallRunner } from './call-runner.ts';
import { type PlannedCall, type PlanParts, planCalls, type ReadyCall } from './plan.ts';
import { protectedPathsOf } from './protected-paths.ts';
import type { Redactor } from './redactor.ts';
import type { ResultLookup } from './references.ts';
import type { RunnerSet } from './runner-set.ts';
import { type CallSpec, NO_NEEDS } from './spec.ts';

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
  /** Ids of executions. */
  readonly dependsOn: readonly string[];
  /** Whether a dependency has failed already that is not among `dependsOn`. */
  readonly hasFailedDependency: boolean;
  /** Where the results of other calls are found when an attempt begins. */
  readonly resultOf: (task: TaskContext) => ResultLookup;
  /** The group to which the execution will belong. */
  readonly group?: string;
  /** Hears of the child that does the work, where the needs are known only then. */
  readonly onChild?: (child: ExecutionHandle) => void;
}

interface Place {
  readonly id: string | undefined;
  readonly dependsOn: readonly string[];
  readonly policy: DependencyPolicy | undefined;
}

/** Where calls are looked at and made into executions, for lists in memory and for batches in a store alike. */
export class CallDesk {
  readonly redactor: Redactor;
  /** The folders in which files may be written. */
  readonly roots: Roots;
  private readonly runner: CallRunner;
  private readonly planParts: PlanParts;

  constructor(private readonly parts: CallDeskParts) {
    this.redactor = parts.redactor;
    this.roots = new Roots(parts.config.tools.roots, undefined, protectedPathsOf(parts.config));
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
    const { id, dependsOn, hasFailedDependency, resultOf, group, onChild } = options;
    const { spec, needs } = ready;
    // What runs after a failure, and only then, need not wait for a second one.
    const place = {
      id,
      dependsOn,
      policy: hasFailedDependency ? 'run' : ready.call.onDependencyFailure,
    } as const;
    if (needs !== undefined)
      return itemOf(spec, place, needs, (task) => this.runner.run(ready, needs, task, resultOf(task)));
    return itemOf(preparing(spec), place, NO_NEEDS, (task) =>
      this.runner.runNested(ready, task, resultOf(task), { group, onChild }),
    );
  }

  /** Throws what the engine would throw of a call by itself: a demand that never fits, an unknown priority. */
  private check({ call, spec, needs = NO_NEEDS }: ReadyCall): void {
    const place = { id: undefined, dependsOn: [], policy: call.onDependencyFailure };
    this.parts.engine.check(itemOf(spec, place, needs, () => undefined));
  }
}

/** What waits for the child that does the work: the limits, the conflicts and the retries are those of the child. */
function preparing(spec: CallSpec): CallSpec {
  return {
    ...spec,
    toolName: `prepare ${spec.toolName}`,
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
