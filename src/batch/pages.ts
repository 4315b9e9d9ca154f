import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TaskRecord, TaskStatus } from '../store/records.ts';
import type { Store } from '../store/store.ts';

const PAGE = 500;

/** All tasks of a batch in their order, a page at a time; the event loop gets a break after each. */
export async function* taskPages(
  store: Store,
  batch: string,
  status?: readonly TaskStatus[],
): AsyncGenerator<TaskRecord[], void, undefined> {
  for (let afterSeq = 0; ; await nextTurn()) {
    const page = await store.tasks(batch, { ...(status && { status }), afterSeq, limit: PAGE });
    if (page.length > 0) yield page;
    if (page.length < PAGE) return;
    afterSeq = page.at(-1)!.seq;
  }
}
