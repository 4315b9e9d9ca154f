import { VolleyError } from '../core/errors.ts';
import type { GroupSpec } from '../core/spec.ts';
import type { GroupItem, ParallelExecutionEngine } from '../engine/engine.ts';
import type { GroupHandle } from '../engine/group-handle.ts';
import type { Outcome } from '../engine/outcome.ts';
import type { CallResult } from './call.ts';
import type { CallDesk } from './call-desk.ts';
import { type EarlyEnd, earlyEnds } from './early-ends.ts';
import type { PlannedCall, ReadyCall } from './plan.ts';
import { earlyResult, toResult } from './results.ts';

/** The calls of one list while they run. Their ids are made unique in the engine by the name of the group. */
export class CallGroup {
  private readonly ends: ReadonlyMap<string, EarlyEnd>;
  private readonly handle: GroupHandle;
  /** The place among the handles of the execution that runs for a call. */
  private readonly places = new Map<string, number>();
  /** The execution that runs for a call; identical calls share one. */
  private readonly executionIds = new Map<string, string>();

  constructor(
    engine: ParallelExecutionEngine,
    private readonly desk: CallDesk,
    private readonly planned: readonly PlannedCall[],
    private readonly name: string,
    options: GroupSpec,
  ) {
    this.ends = earlyEnds(planned);
    const items: GroupItem[] = [];
    for (const one of planned) {
      const source = (one.kind === 'ready' ? one.sameAs : undefined) ?? one.id;
      this.executionIds.set(one.id, `${name}/${source}`);
      if (one.kind === 'refused' || one.sameAs !== undefined || this.ends.has(one.id)) continue;
      this.places.set(one.id, items.length);
      items.push(this.itemFor(one));
    }
    this.handle = engine.submitAll(items, { ...options, name });
    const refused = planned.find(({ kind }) => kind === 'refused');
    if (options.failFast === true && refused !== undefined) this.cancel(`${refused.id} was refused`);
  }

  cancel(reason: unknown): void {
    this.handle.cancel(reason);
  }

  /** The result of every call, in their order. */
  results(): Promise<CallResult[]> {
    return Promise.all(this.planned.map((one) => this.resultOf(one)));
  }

  /** The results as they come. */
  async *stream(): AsyncGenerator<CallResult, void, undefined> {
    const arrived: CallResult[] = [];
    let wake: () => void = () => {};
    for (const one of this.planned) {
      void this.resultOf(one).then((result) => {
        arrived.push(result);
        wake();
      });
    }
    try {
      for (let given = 0; given < this.planned.length; given++) {
        if (arrived.length === 0) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
        yield arrived.shift()!;
      }
    } finally {
      // Whoever stops listening wants the rest no more. When all results were given, this changes nothing.
      this.cancel('nobody reads the results any more');
    }
  }

  private async resultOf(planned: PlannedCall): Promise<CallResult> {
    const { redactor } = this.desk;
    const source = planned.kind === 'ready' ? planned.sameAs : undefined;
    const end = this.ends.get(source ?? planned.id);
    if (end !== undefined) return shared(earlyResult(planned, end, redactor), source);
    const outcome = await this.handle.handles[this.places.get(source ?? planned.id)!]!.outcome();
    const callIdOf = (executionId: string) => executionId.slice(this.name.length + 1);
    return shared(toResult(planned, outcome, redactor, callIdOf), source);
  }

  private itemFor(ready: ReadyCall): GroupItem {
    const started = ready.dependsOn.filter((id) => !this.ends.has(id));
    return this.desk.itemFor(ready, {
      id: `${this.name}/${ready.id}`,
      dependsOn: started.map((id) => `${this.name}/${id}`),
      hasFailedDependency: started.length < ready.dependsOn.length,
      resultOf: (task) => (id) => resultValue(id, task.outcomes.get(this.executionIds.get(id)!)),
    });
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

function shared(result: CallResult, source: string | undefined): CallResult {
  return source === undefined ? result : { ...result, sharedWith: source };
}
