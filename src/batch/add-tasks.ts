import { VolleyError } from '../core/errors.ts';
import type { TaskRecord } from '../store/records.ts';
import type { BatchContext } from './context.ts';
import type { BatchEvents } from './events.ts';
import type { TaskInput } from './input/task-input.ts';
import { TaskCheck } from './task-check.ts';

const MOST_TRIES = 20;

/** Checks tasks, all of them or none is added, and lets them join the batch if it runs. They are safe when it returns. */
export async function addTasks(
  context: BatchContext,
  batch: string,
  inputs: readonly TaskInput[],
): Promise<TaskRecord[]> {
  for (let tries = 1; ; tries++) {
    const { ids, giveBack } = context.ids.choose(
      batch,
      inputs.map(({ id }) => id),
    );
    try {
      const { desk } = await context.coordinator();
      const checked = await new TaskCheck(desk, context.store, batch, ids).check(inputs);
      const tasks = checked.map(({ task }) => task);
      const added = await context.store.addTasks(batch, tasks);
      tellAdded(context.runs.events, batch, added);
      return added;
    } catch (error) {
      giveBack();
      const taken = takenId(error, ids, inputs);
      if (taken === undefined || tries === MOST_TRIES) throw error;
      context.ids.skip(batch, taken);
    }
  }
}

function tellAdded(events: BatchEvents, batch: string, added: readonly TaskRecord[]): void {
  const [first, last] = [added[0], added.at(-1)];
  if (!events.isHeard || first === undefined || last === undefined) return;
  events.tell({ type: 'added', batch, fromSeq: first.seq, toSeq: last.seq, at: first.addedAt });
}

/** The id that was chosen and that another process, or a person, has used before. */
function takenId(error: unknown, ids: readonly string[], inputs: readonly TaskInput[]): string | undefined {
  if (!(error instanceof VolleyError) || error.code !== 'DUPLICATE_ID') return undefined;
  const { id } = error.details;
  return ids.find((chosen, index) => chosen === id && inputs[index]!.id === undefined);
}
