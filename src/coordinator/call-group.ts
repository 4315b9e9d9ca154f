import { cycleError } from '../core/block.ts';
import { VolleyError } from '../core/errors.ts';
import type { GroupSpec } from '../core/spec.ts';
import { unwritableText } from '../core/words.ts';
import type { GroupHandle } from '../engine/group-handle.ts';
import type { ExecutionHandle } from '../engine/handle.ts';
import { inThisContext } from '../engine/in-this-context.ts';
import { type Outcome, renameOutcome } from '../engine/outcome.ts';
import type { TaskContext } from '../engine/task.ts';
import type { ProgressUpdate } from '../engine/updates.ts';
import type { CallResult } from './call.ts';
import { toCallError } from './errors.ts';
import type { AttemptWork, CallPlanner, Placement, PlannedCall } from './plan.ts';
import type { Redactor } from './redaction/redactor.ts';
import { CachedResult } from './result-cache.ts';

/** A call, and the group of calls to which it belongs. */
export interface CallId {
  readonly group: string;
  readonly id: string;
}

const GROUP_NAME = /^calls-\d+$/;

/** Returns the call of an execution, if it belongs to one. */
export function readCallId({
  executionId,
  group = '',
}: Pick<ProgressUpdate, 'executionId' | 'group'>): CallId | undefined {
  if (!GROUP_NAME.test(group) || !executionId.startsWith(`${group}/`)) return undefined;
  return { group, id: executionId.slice(group.length + 1) };
}

/** The calls of one list while they run. The name of the group makes their ids unique in the engine. */
export class CallGroup {
  private readonly handle: GroupHandle;
  /** By the id of the call; identical calls share one. */
  private readonly executions = new Map<string, ExecutionHandle>();
  /** The executions that do the work of calls in their place, by the id of the call. */
  private readonly children = new Map<string, ExecutionHandle>();
  private readonly around = { attempt: attemptsInThisContext() };
  /** The calls that the cache has answered. */
  private readonly cached = new Set<string>();

  constructor(
    planner: CallPlanner,
    private readonly redactor: Redactor,
    private readonly planned: readonly PlannedCall[],
    private readonly name: string,
    options: GroupSpec,
    private readonly extras: Pick<Placement, 'cache' | 'folder' | 'onLog'>,
  ) {
    const submitted = planned.filter((one) => one.kind === 'refused' || one.sameAs === undefined);
    try {
      this.handle = planner.submit(submitted, (one) => this.place(one), { ...options, name });
    } catch (error) {
      throw this.withCallIds(error);
    }
    for (const [index, { id }] of submitted.entries()) this.executions.set(id, this.handle.handles[index]!);
    for (const one of planned)
      if (one.kind === 'ready' && one.sameAs !== undefined)
        this.executions.set(one.id, this.executions.get(one.sameAs)!);
  }

  cancel(reason: unknown): void {
    this.handle.cancel(reason);
  }

  /** Returns the result of every call, in their order, and passes each to `give` when it comes. */
  results(give?: (result: CallResult) => void): Promise<CallResult[]> {
    return Promise.all(
      this.planned.map(async (one) => {
        const result = await this.resultOf(one);
        give?.(result);
        return result;
      }),
    );
  }

  private place(planned: PlannedCall): Placement {
    const { id } = planned;
    const dependsOn = planned.kind === 'ready' ? planned.dependsOn : [];
    return {
      id: this.executionId(id),
      dependsOn: dependsOn.map((other) => this.executionId(other)),
      results: (task) => {
        const outcomeOf = (other: string) => task.outcomes.get(this.executions.get(other)!.id);
        return {
          value: (other) => resultValue(other, outcomeOf(other)),
          json: (other) => {
            const outcome = outcomeOf(other);
            return outcome?.status === 'completed' ? resultJson(other, outcome.value) : undefined;
          },
        };
      },
      group: this.name,
      around: this.extras.cache === undefined ? this.around : { attempt: this.throughCache(id) },
      ...this.extras,
      onChild: (child) => this.children.set(id, child),
    };
  }

  /** An attempt returns the value itself, so that other calls can refer to it. */
  private throughCache(id: string): (task: TaskContext, work: AttemptWork) => Promise<unknown> {
    return async (task, work) => {
      const result = await this.around.attempt(task, work);
      if (!(result instanceof CachedResult)) return result;
      this.cached.add(id);
      return result.value;
    };
  }

  private async resultOf(planned: PlannedCall): Promise<CallResult> {
    const { redactor } = this;
    const source = planned.kind === 'ready' ? planned.sameAs : undefined;
    const outcome = await this.executions.get(planned.id)!.outcome();
    // A child settles before its parent, or with it.
    const child = await this.children.get(source ?? planned.id)?.outcome();
    const result = this.toResult(planned, withChild(outcome, child));
    const warnings = planned.kind === 'ready' ? planned.warnings : [];
    const isCached = result.status === 'completed' && this.cached.has(source ?? planned.id);
    if (source === undefined && warnings.length === 0 && !isCached) return result;
    return {
      ...result,
      ...(isCached && { cached: true }),
      ...(source !== undefined && { sharedWith: source }),
      ...(warnings.length > 0 && { warnings: warnings.map((warning) => redactor.text(warning)) }),
    };
  }

  private toResult(planned: PlannedCall, engineOutcome: Outcome): CallResult {
    const { id, call } = planned;
    const { name } = call;
    const { attempts, waitedMs, durationMs } = engineOutcome;
    // Written out: most complete, and spreading takes longer than everything else here.
    if (engineOutcome.status === 'completed') {
      const { value } = engineOutcome;
      return { id, name, attempts, waitedMs, durationMs, status: 'completed', value };
    }
    const outcome = renameOutcome(engineOutcome, name, this.callId) as Exclude<
      Outcome,
      { status: 'completed' }
    >;
    const base = { id, name, attempts, waitedMs, durationMs };
    switch (outcome.status) {
      case 'failed':
        if (planned.kind === 'refused' && planned.error.code === 'EXECUTION_CANCELLED')
          return { ...base, status: 'cancelled', reason: this.redactor.text(planned.error.message) };
        return {
          ...base,
          status: 'failed',
          reason: outcome.reason,
          error: toCallError(outcome.error, this.redactor),
        };
      case 'cancelled':
        return { ...base, status: 'cancelled', reason: this.redactor.text(outcome.reason) };
      case 'skipped':
        return { ...base, status: 'skipped', cause: outcome.cause };
    }
  }

  private executionId(call: string): string {
    return `${this.name}/${call}`;
  }

  private readonly callId = (execution: string): string => execution.slice(this.name.length + 1);

  private withCallIds(error: unknown): unknown {
    if (!(error instanceof VolleyError) || error.code !== 'DEPENDENCY_CYCLE') return error;
    const path = error.details['path'] as readonly string[];
    return cycleError(path.map((id) => ({ id: this.callId(id) })));
  }
}

/** Calls the work of all attempts in the async context of now, with what an `AsyncLocalStorage` holds here. */
function attemptsInThisContext(): (task: TaskContext, work: AttemptWork) => unknown {
  const attempt = inThisContext(({ task, work }: { task: TaskContext; work: AttemptWork }) => work(task));
  return (task, work) => attempt({ task, work });
}

/** The child did the work. Until it got its room, the call was waiting. */
function withChild(outcome: Outcome, child: Outcome | undefined): Outcome {
  if (child === undefined) return outcome;
  const { attempts, durationMs } = child;
  const waitedMs = Math.max(0, outcome.waitedMs + outcome.durationMs - durationMs);
  return { ...outcome, attempts, durationMs, waitedMs };
}

function resultJson(id: string, value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch (error) {
    throw new VolleyError(
      'UNSERIALISABLE_RESULT',
      `An expression uses the result of ${id}, which cannot be converted to JSON: ${unwritableText(error)}.`,
      { id },
    );
  }
}

function resultValue(id: string, outcome: Outcome | undefined): unknown {
  if (outcome?.status === 'completed') return outcome.value;
  throw new VolleyError(
    'UNRESOLVED_REFERENCE',
    `The arguments refer to the result of ${id}, but it has none: it ${outcome === undefined ? 'never started' : `was ${outcome.status}`}.`,
    { id },
  );
}
