import { VolleyError } from '../core/errors.ts';
import type { GroupSpec } from '../core/spec.ts';
import type { GroupItem, ParallelExecutionEngine } from '../engine/engine.ts';
import type { GroupHandle } from '../engine/group-handle.ts';
import type { ExecutionHandle } from '../engine/handle.ts';
import { inThisContext } from '../engine/in-this-context.ts';
import type { Outcome } from '../engine/outcome.ts';
import type { ProgressUpdate } from '../engine/updates.ts';
import type { CallResult } from './call.ts';
import type { CallDesk } from './call-desk.ts';
import { type EarlyEnd, earlyEnds } from './early-ends.ts';
import type { PlannedCall, ReadyCall } from './plan.ts';
import { earlyResult, toResult } from './results.ts';

/** A call, and the group of calls to which it belongs. */
export interface CallId {
  readonly group: string;
  readonly id: string;
}

const GROUP_NAME = /^calls-\d+$/;

/** The call for which an execution of the engine stands, if it stands for one. */
export function callOf({
  executionId,
  group = '',
}: Pick<ProgressUpdate, 'executionId' | 'group'>): CallId | undefined {
  if (!GROUP_NAME.test(group) || !executionId.startsWith(`${group}/`)) return undefined;
  return { group, id: executionId.slice(group.length + 1) };
}

/** The calls of one list while they run. Their ids are made unique in the engine by the name of the group. */
export class CallGroup {
  private ends!: ReadonlyMap<string, EarlyEnd>;
  private readonly handle: GroupHandle;
  /** The place among the handles of the execution that runs for a call. */
  private readonly places = new Map<string, number>();
  /** The execution that runs for a call; identical calls share one. */
  private readonly executionIds = new Map<string, string>();
  /** What does the work of a call in its place, by the id of the call. */
  private readonly children = new Map<string, ExecutionHandle>();

  constructor(
    engine: ParallelExecutionEngine,
    private readonly desk: CallDesk,
    private planned: readonly PlannedCall[],
    private readonly name: string,
    options: GroupSpec,
  ) {
    try {
      this.handle = engine.submitAll(this.items(), { ...options, name });
    } catch (error) {
      // A limit may have changed since the calls were planned: that concerns some of them, not the whole list.
      const again = planned.map((one) => desk.recheck(one));
      if (again.every((one, index) => one === planned[index])) throw this.inCallersWords(error);
      this.planned = again;
      this.handle = engine.submitAll(this.items(), { ...options, name });
    }
    const refused = this.planned.find(({ kind }) => kind === 'refused');
    if (options.failFast === true && refused !== undefined) this.cancel(`${refused.id} was refused`);
  }

  cancel(reason: unknown): void {
    this.handle.cancel(reason);
  }

  /** The result of every call, in their order; `give` hears of each when it comes. */
  results(give?: (result: CallResult) => void): Promise<CallResult[]> {
    return Promise.all(
      this.planned.map(async (one) => {
        const result = await this.resultOf(one);
        give?.(result);
        return result;
      }),
    );
  }

  private items(): GroupItem[] {
    this.ends = earlyEnds(this.planned);
    this.places.clear();
    const items: GroupItem[] = [];
    for (const one of this.planned) {
      const source = (one.kind === 'ready' ? one.sameAs : undefined) ?? one.id;
      this.executionIds.set(one.id, `${this.name}/${source}`);
      if (one.kind === 'refused' || one.sameAs !== undefined || this.ends.has(one.id)) continue;
      this.places.set(one.id, items.length);
      items.push(this.itemFor(one));
    }
    return items;
  }

  private async resultOf(planned: PlannedCall): Promise<CallResult> {
    const { redactor } = this.desk;
    const source = planned.kind === 'ready' ? planned.sameAs : undefined;
    const id = source ?? planned.id;
    const end = this.ends.get(id);
    if (end !== undefined) return shared(earlyResult(planned, end, redactor), source);
    const outcome = await this.handle.handles[this.places.get(id)!]!.outcome();
    // It has settled with its parent, if not before.
    const child = await this.children.get(id)?.outcome();
    const result = shared(toResult(planned, withChild(outcome, child), redactor, this.plain), source);
    const warnings = planned.kind === 'ready' ? planned.warnings : [];
    return warnings.length === 0
      ? result
      : { ...result, warnings: warnings.map((warning) => redactor.text(warning)) };
  }

  private itemFor(ready: ReadyCall): GroupItem {
    const started = ready.dependsOn.filter((id) => !this.ends.has(id));
    const item = this.desk.itemFor(ready, {
      id: `${this.name}/${ready.id}`,
      dependsOn: started.map((id) => `${this.name}/${id}`),
      hasFailedDependency: started.length < ready.dependsOn.length,
      resultOf: (task) => (id) => resultValue(id, task.outcomes.get(this.executionIds.get(id)!)),
      group: this.name,
      onChild: (child) => this.children.set(ready.id, child),
    });
    return { ...item, run: inThisContext(item.run) };
  }

  /** A text of the engine with the ids that the caller knows. */
  private readonly plain = (text: string): string => text.replaceAll(`${this.name}/`, '');

  private inCallersWords(error: unknown): unknown {
    if (!(error instanceof VolleyError)) return error;
    const { path } = error.details as { path?: readonly string[] };
    return new VolleyError(error.code, this.plain(error.message), {
      ...error.details,
      ...(path !== undefined && { path: path.map(this.plain) }),
    });
  }
}

/** The child did the work; waiting for its room was waiting, too. */
function withChild(outcome: Outcome, child: Outcome | undefined): Outcome {
  if (child === undefined) return outcome;
  const { attempts, durationMs } = child;
  const waitedMs = Math.max(0, outcome.waitedMs + outcome.durationMs - durationMs);
  return { ...outcome, attempts, durationMs, waitedMs };
}

function resultValue(id: string, outcome: Outcome | undefined): unknown {
  if (outcome?.status === 'completed') return outcome.value;
  throw new VolleyError(
    'UNRESOLVED_REFERENCE',
    `The arguments refer to the result of ${id}, but it has none: it ${outcome === undefined ? 'never started' : `was ${outcome.status}`}.`,
    { id },
  );
}

function shared(result: CallResult, source: string | undefined): CallResult {
  return source === undefined ? result : { ...result, sharedWith: source };
}
