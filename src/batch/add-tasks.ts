import { VolleyError } from '../core/errors.ts';
import { countText } from '../core/words.ts';
import type { AddedTasks, NewTask } from '../store/records.ts';
import type { BatchContext } from './context.ts';
import type { BatchEvents } from './events.ts';
import type { TaskInput } from './input/task-input.ts';
import { TaskCheck } from './task-check.ts';

const MAX_TRIES = 20;
const MAX_WARNINGS = 5;

/** Checks tasks, all of them or none is added, and lets them join the batch if it runs. They are safe when it returns. */
export async function addTasks(
  context: BatchContext,
  batch: string,
  inputs: readonly TaskInput[],
): Promise<readonly NewTask[]> {
  for (let tries = 1; ; tries++) {
    const { ids, giveBack } = await context.ids.choose(
      batch,
      inputs.map(({ id }) => id),
    );
    try {
      const { desk } = await context.coordinator();
      const tasks = await new TaskCheck(desk, context.store, batch, ids).tasksOf(inputs);
      tellAdded(context.runs.events, batch, await context.store.addTasks(batch, tasks));
      return tasks;
    } catch (error) {
      giveBack();
      const taken = takenId(error, ids, inputs);
      if (taken === undefined || tries === MAX_TRIES) throw error;
      await context.ids.skip(batch, taken);
    }
  }
}

/** Warnings about added tasks, for the first few of them: as text, and as a field of the answer. */
export function warningsOf(tasks: readonly NewTask[]): { text: string[]; data: { warnings?: object[] } } {
  const warned = tasks.filter(({ options }) => options.warnings !== undefined);
  if (warned.length === 0) return { text: [], data: {} };
  const warnings = warned
    .slice(0, MAX_WARNINGS)
    .flatMap(({ id, options }) => (options.warnings ?? []).map((message) => ({ id, message })));
  const more = warned.length - MAX_WARNINGS;
  const text = warnings.map(({ id, message }) => `Warning: task ${id}: ${message}`);
  if (more > 0) text.push(`… and ${countText(more, 'task')} more with warnings.`);
  return { text, data: { warnings } };
}

function tellAdded(events: BatchEvents, batch: string, { firstSeq, lastSeq, addedAt }: AddedTasks): void {
  if (events.isHeard) events.tell({ type: 'added', batch, fromSeq: firstSeq, toSeq: lastSeq, at: addedAt });
}

/** The id that was chosen and that another process, or a person, has used before. */
function takenId(error: unknown, ids: readonly string[], inputs: readonly TaskInput[]): string | undefined {
  if (!(error instanceof VolleyError) || error.code !== 'DUPLICATE_ID') return undefined;
  const { id } = error.details;
  return ids.find((chosen, index) => chosen === id && inputs[index]!.id === undefined);
}
