import { setTimeout as sleep } from 'node:timers/promises';
import type { TaskRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { type LogPage, type LogSource, MAX_LOG_LINES, readLog } from './log-page.ts';

/** Another process sends no events, so the store is polled. */
const FOLLOW_MS = 200;

type TaskName = Pick<TaskRecord, 'batch' | 'id'>;

/** What a task printed, from the store. */
export function taskLog(store: Store, { batch, id }: TaskName): LogSource {
  return {
    name: `Task ${JSON.stringify(id)} of the batch "${batch}"`,
    attempts: async () => (await store.outputOf(batch, id)).map(({ attempt }) => attempt),
    extent: async (attempt) => {
      const kept = (await store.outputOf(batch, id)).find((one) => one.attempt === attempt);
      return kept ?? { firstLine: 0, endLine: 0 };
    },
    read: (attempt, fromLine) => store.output(batch, id, attempt, fromLine),
  };
}

/** Where to begin to follow a log. */
export interface FollowOptions {
  /** Only this attempt. Default: the last one, and those that come. */
  readonly attempt?: number | undefined;
  /** Default: the last lines. */
  readonly from?: number | undefined;
  /** How many of the last lines. */
  readonly limit: number;
  readonly signal?: AbortSignal | undefined;
}

/** Yields pages of a task's log as they come, until the task, or the attempt, has ended. */
export async function* followTask(
  store: Store,
  task: TaskName,
  { attempt: only, from, limit, signal }: FollowOptions,
): AsyncGenerator<LogPage, void, undefined> {
  const source = taskLog(store, task);
  let attempt = only;
  let next = from;
  while (!signal?.aborted) {
    const version = await store.version();
    // Read before the log, which is complete when the task has ended.
    const record = await store.task(task.batch, task.id);
    const attempts = await source.attempts();
    const later = attempts.find((one) => one > (attempt ?? 0));
    attempt ??= attempts.at(-1);
    const page =
      attempt === undefined || !attempts.includes(attempt)
        ? undefined
        : await readLog(source, { attempt, from: next, limit: next === undefined ? limit : MAX_LOG_LINES });
    if (page !== undefined && page.lines.length > 0) {
      yield page;
      ({ next } = page);
    } else if (later !== undefined && only === undefined && attempt !== later) {
      attempt = later;
      next = 0;
    } else if (later !== undefined && only !== undefined && later !== only) return;
    else if (record === undefined || (record.status !== 'running' && record.status !== 'open')) return;
    else await changed(store, version, signal);
  }
}

/** Resolves when any process has written to the store. */
async function changed(store: Store, version: number, signal: AbortSignal | undefined): Promise<void> {
  while (!signal?.aborted && (await store.version()) === version)
    await sleep(FOLLOW_MS, undefined, signal && { signal }).catch(() => undefined);
}
