import { setImmediate as nextTurn } from 'node:timers/promises';
import { findBatch } from '../../batch/context.ts';
import { VolleyError } from '../../core/errors.ts';
import type { BatchRecord, TaskRecord, TaskStatus } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';

/** Which executions are asked for. */
export interface ExecutionQuery {
  /** Of all batches, the newest first, where none is named. */
  readonly batch: string | undefined;
  readonly status: readonly TaskStatus[] | undefined;
  readonly function: string | undefined;
  /** A part of the id or the name, in any case. */
  readonly search: string | undefined;
  /** Whether the last added come first. */
  readonly isBackwards: boolean;
  readonly limit: number;
  readonly cursor: string | undefined;
}

export interface ExecutionPage {
  readonly records: readonly TaskRecord[];
  readonly nextCursor: string | null;
}

interface Place {
  readonly batch: BatchRecord;
  /** The last task that was looked at; undefined before the first. */
  readonly seq: number | undefined;
}

const PAGE = 500;
/** So many are looked at for one answer; the next page goes on from there, even if this one is short. */
const MAX_LOOKED_AT = 10_000;
const CURSOR = /^(\d{1,15})\.(\d{1,10})$/;

/** Finds executions a page at a time. The work for one page is bounded, however rare what is looked for is. */
export async function findExecutions(store: Store, query: ExecutionQuery): Promise<ExecutionPage> {
  const records: TaskRecord[] = [];
  const isWanted = matcher(query);
  let lookedAt = 0;
  for (let place = await firstPlace(store, query); place !== undefined; await nextTurn()) {
    const { batch, seq } = place;
    const found = await pageAfter(store, query, batch.name, seq);
    for (const record of found) {
      place = { batch, seq: record.seq };
      lookedAt++;
      if (!isWanted(record)) continue;
      records.push(record);
      if (records.length === query.limit) return { records, nextCursor: cursorOf(place) };
    }
    if (lookedAt >= MAX_LOOKED_AT) return { records, nextCursor: cursorOf(place) };
    if (found.length < PAGE) {
      lookedAt++;
      const next = query.batch === undefined ? (await store.batchPage(batch.number, 1))[0] : undefined;
      place = next && { batch: next, seq: undefined };
    }
  }
  return { records, nextCursor: null };
}

async function firstPlace(store: Store, { batch: name, cursor }: ExecutionQuery): Promise<Place | undefined> {
  const [, number, seq] = cursor === undefined ? [] : (CURSOR.exec(cursor) ?? []);
  if (cursor !== undefined && number === undefined)
    throw new VolleyError('INVALID_REQUEST', 'The cursor is not one that a page before has given.');
  if (name !== undefined) {
    return { batch: await findBatch({ store }, name), seq: seq === undefined ? undefined : Number(seq) };
  }
  if (number === undefined) {
    const [newest] = await store.batchPage(undefined, 1);
    return newest && { batch: newest, seq: undefined };
  }
  // It may have been cleared since: then the next one is meant.
  const [batch] = await store.batchPage(Number(number) + 1, 1);
  return batch && { batch, seq: batch.number === Number(number) ? Number(seq) : undefined };
}

async function pageAfter(
  store: Store,
  { status, isBackwards }: ExecutionQuery,
  batch: string,
  seq: number | undefined,
): Promise<TaskRecord[]> {
  const from = isBackwards ? { beforeSeq: seq ?? 2 ** 30 } : { afterSeq: seq ?? 0 };
  return isBackwards && seq === 1
    ? []
    : store.tasks(batch, { ...from, ...(status && { status }), limit: PAGE });
}

function matcher({ function: tool, search }: ExecutionQuery): (record: TaskRecord) => boolean {
  const part = search?.toLowerCase();
  return (record) =>
    (tool === undefined || record.function === tool) &&
    (part === undefined ||
      record.id.toLowerCase().includes(part) ||
      record.name.toLowerCase().includes(part));
}

function cursorOf({ batch, seq }: Place): string {
  return `${batch.number}.${seq ?? 0}`;
}
