import type { TaskRecord, TaskStatus } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import { taskPages } from '../pages.ts';
import { beginOfResult, rowOf } from '../result-row.ts';
import type { ExportFormat } from './format.ts';

/** All tasks of a batch with their results, piece by piece; each piece but the first and the last is a task. */
export async function* exportPieces(
  store: Store,
  batch: string,
  status: readonly TaskStatus[] | undefined,
  format: ExportFormat,
): AsyncGenerator<string, void, undefined> {
  let tasks = 0;
  yield format.begin(batch);
  for await (const page of taskPages(store, batch, status)) {
    for (const record of page) {
      // Most results are short, and stand with their task: nothing is waited for.
      const result = resultOf(store, record);
      yield format.row(rowOf(record), typeof result === 'object' ? await result : result, tasks++);
    }
  }
  yield format.end();
}

function resultOf(store: Store, record: TaskRecord): string | undefined | Promise<string | undefined> {
  if (record.status !== 'completed') return undefined;
  const { text, isWhole } = beginOfResult(record, Number.POSITIVE_INFINITY);
  return isWhole ? text : store.result(record.batch, record.id);
}
