import type { VolleyConfig } from '../config/config.ts';
import type { ResourceRequirements } from '../core/demand.ts';
import type { DependencyPolicy } from '../core/terms.ts';
import type { GroupItem, ParallelExecutionEngine } from '../engine/engine.ts';
import type { TaskContext, ToolFunction } from '../engine/task.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import type { ToolCall } from './call.ts';
import { CallRunner } from './call-runner.ts';
import { type PlannedCall, planCalls, type ReadyCall } from './plan.ts';
import type { Redactor } from './redactor.ts';
import type { ResultLookup } from './references.ts';
import type { RunnerSet } from './runner-set.ts';
import { type CallSpec, knownNeeds, NO_NEEDS, specOf } from './spec.ts';

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
  readonly roots: readonly string[];
  private readonly runner: CallRunner;

  constructor(private readonly parts: CallDeskParts) {
    this.redactor = parts.redactor;
    this.roots = parts.config.tools.roots;
    this.runner = new CallRunner(parts.config, parts.runners, parts.redactor);
  }

  /** Checks calls without starting anything. `outside` are ids that they may depend on besides each other. */
  plan(calls: readonly ToolCall[], outside?: ReadonlySet<string>): Promise<PlannedCall[]> {
    return planCalls(calls, this.parts.registry, (ready) => this.check(ready), outside);
  }

  /** What the engine is given for a call. */
  itemFor(ready: ReadyCall, { id, dependsOn, hasFailedDependency, resultOf }: ItemOptions): GroupItem {
    const spec = this.specOf(ready);
    // What runs after a failure, and only then, need not wait for a second one.
    const place = {
      id,
      dependsOn,
      policy: hasFailedDependency ? 'run' : ready.call.onDependencyFailure,
    } as const;
    const resources = knownNeeds(ready);
    if (resources !== undefined)
      return itemOf(spec, place, resources, (task) => this.runner.run(ready, task, resultOf(task)));
    // The limits and retries are those of the child, which does the work.
    const outer = {
      ...spec,
      timeoutMs: Number.POSITIVE_INFINITY,
      stallMs: undefined,
      retry: { maxRetries: 0 },
    };
    return itemOf(outer, place, NO_NEEDS, (task) => this.runner.runNested(ready, task, spec, resultOf(task)));
  }

  /** Throws what the engine would throw of a call by itself: a demand that never fits, an unknown priority. */
  private check(ready: ReadyCall): void {
    const place = { id: undefined, dependsOn: [], policy: ready.call.onDependencyFailure };
    this.parts.engine.check(
      itemOf(this.specOf(ready), place, knownNeeds(ready) ?? NO_NEEDS, () => undefined),
    );
  }

  private specOf({ call, tool }: ReadyCall): CallSpec {
    const { registry, config } = this.parts;
    return specOf(call, tool, registry.conflictsOf(tool), config.defaults);
  }
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
