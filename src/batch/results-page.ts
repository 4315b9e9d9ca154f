import { bytesText, countText, spanText } from '../core/words.ts';
import { itemId, type TaskRecord, type TaskStatus } from '../store/records.ts';
import type { ResultRange, Store } from '../store/store.ts';
import type { ActionResult } from './answer.ts';
import { countsText, ENDED, type TaskCounts } from './counts.ts';
import { itemNoun } from './group-text.ts';
import { hintText } from './hints.ts';
import { beginOfResult, itemCountsOf, rowOf, rowsWithResults, usageFields } from './result-row.ts';
import { pageText } from './results-summary.ts';
import { linesText, oneLine, taskText, workerText } from './text.ts';

/** Which part of the results. */
export interface PageRequest {
  readonly status: readonly TaskStatus[] | undefined;
  /** Only the items of this group. */
  readonly group: TaskRecord | undefined;
  readonly limit: number;
  /** How many tasks to skip. */
  readonly offset: number;
  /** The `next_cursor` of the page before. */
  readonly cursor: number;
}

/** Characters of results on a page, shared by its tasks. */
const BUDGET = 12_000;
const MIN_CHARACTERS = 40;
const MAX_CHARACTERS = 2000;

/** Returns a page of results, in the order in which the tasks were added. */
export async function resultsPage(
  store: Store,
  batch: string,
  request: PageRequest,
  format: 'detailed' | 'json',
): Promise<ActionResult> {
  const { records, hasMore } = await readPage(store, batch, request);
  const length = Math.max(
    MIN_CHARACTERS,
    Math.min(MAX_CHARACTERS, Math.floor(BUDGET / Math.max(1, records.length))),
  );
  const next = hasMore ? { next_cursor: records.at(-1)!.seq } : {};
  const items = await itemCountsOf(store, records);
  const results = await rowsWithResults(store, batch, records, items, length);
  const data = { batch, results, ...next };
  if (format === 'json') return { text: JSON.stringify(data), data };
  return {
    text: linesText(
      pageText(records.length, hasMore),
      records.map((record) => lineOf(record, items.get(record.seq), Math.min(length, 200))),
      hasMore ? hintText('nextPage', records.at(-1)!.seq) : undefined,
      records.some((record) => record.status === 'completed') ? hintText('oneResult') : undefined,
      items.size > 0 ? hintText('itemsOf') : undefined,
    ),
    data,
  };
}

/** A group stands for its items, unless they or some statuses are asked for. */
async function readPage(
  store: Store,
  batch: string,
  { status, group, limit, offset, cursor }: PageRequest,
): Promise<{ records: TaskRecord[]; hasMore: boolean }> {
  const read = (afterSeq: number, limit: number) =>
    group === undefined
      ? store.tasks(batch, { status: status ?? ENDED, afterSeq, limit, withoutItems: status === undefined })
      : store.items(batch, group.seq, { status: status ?? ENDED, afterSeq, limit });
  let afterSeq = cursor;
  for (let left = offset; left > 0; ) {
    const passed = await read(afterSeq, Math.min(left, 1000));
    if (passed.length === 0) return { records: [], hasMore: false };
    left -= passed.length;
    afterSeq = passed.at(-1)!.seq;
  }
  const found = await read(afterSeq, limit + 1);
  return { records: found.slice(0, limit), hasMore: found.length > limit };
}

function lineOf(record: TaskRecord, items: TaskCounts | undefined, length: number): string {
  const ms = record.durationMs;
  const took = record.cached
    ? ' (from cache)'
    : ms === undefined
      ? ''
      : ` in ${spanText(ms)}${usageText(record)}${workerText(record)}`;
  const counted = items === undefined ? '' : ` (${countsText(items, itemNoun(record.options))})`;
  return `- ${taskText(record)}: ${record.status}${took}${counted}${outcomeText(record, length)}${warningText(record)}`;
}

/** `, with 120 MB and 300 ms of CPU time`, if that was measured. */
function usageText(record: TaskRecord): string {
  const { memory_mb, cpu_ms } = usageFields(record);
  const parts = [
    ...(memory_mb === undefined ? [] : [`${memory_mb} MB`]),
    ...(cpu_ms === undefined ? [] : [`${spanText(cpu_ms)} of CPU time`]),
  ];
  return parts.length === 0 ? '' : ` with ${parts.join(' and ')}`;
}

function warningText({ options: { warnings = [] } }: TaskRecord): string {
  return warnings.map((warning) => ` (warning: ${oneLine(warning, 300)})`).join('');
}

function outcomeText(record: TaskRecord, length: number): string {
  switch (record.status) {
    case 'completed':
      return `: ${oneLine(beginOfResult(record, length).text, length + 1)}`;
    case 'failed':
      return ` after ${countText(record.attempts, 'attempt')}: ${record.reason}: ${oneLine(record.message ?? '', 200)}`;
    case 'cancelled':
      return `: ${oneLine(record.message ?? '', 200)}`;
    case 'skipped':
      if (record.cause !== undefined) return ` because of ${record.cause}`;
      return `: ${oneLine(record.message ?? 'not needed', 200)}`;
    default:
      return '';
  }
}

/** How much of a result is returned without a range. */
const DEFAULT_BYTES = 65_536;

const STATE_TEXT: Readonly<Record<Exclude<TaskStatus, 'completed'>, string>> = {
  open: 'is open',
  running: 'is running',
  failed: 'has failed',
  cancelled: 'was cancelled',
  skipped: 'was skipped',
};

/** Returns one result in full, or the requested part of it. */
export async function oneResult(
  store: Store,
  record: TaskRecord,
  range: ResultRange | undefined,
): Promise<ActionResult> {
  const row = rowOf(record);
  if (record.status !== 'completed') {
    const why = record.message ?? (record.cause === undefined ? undefined : `because of ${record.cause}`);
    const state = `${taskText(record)} ${STATE_TEXT[record.status]}, so it has no result`;
    return {
      text: why === undefined ? `${state}.` : `${state}: ${why}`,
      data: { ...row },
    };
  }
  const { resultBytes } = record;
  if (resultBytes === undefined)
    return {
      text: `${taskText(record)} completed, but the list of its results is too large to be kept. Read those of its items, such as ${itemId(record.id, 0)}.`,
      data: { ...row },
    };
  const { offset, length } = range ?? { offset: 0, length: DEFAULT_BYTES };
  const part = (await store.result(record.batch, record.id, { offset, length })) ?? '';
  const end = Math.min(resultBytes, offset + length);
  const isWhole = offset === 0 && end === resultBytes;
  return {
    text: linesText(
      isWhole
        ? `The result of ${taskText(record)}:`
        : offset >= resultBytes
          ? `The result of ${taskText(record)} has ${bytesText(resultBytes)}: offset ${offset} is past its end.`
          : `Bytes ${offset} to ${end} of the result of ${taskText(record)}, which has ${bytesText(resultBytes)}:`,
      part === '' ? undefined : part,
      end < resultBytes ? hintText('nextPart', end) : undefined,
      row.warnings?.map((warning) => `Warning: ${warning}`),
    ),
    data: {
      ...row,
      result_bytes: resultBytes,
      ...(isWhole ? { result: JSON.parse(part) } : { part, offset, length: Math.max(0, end - offset) }),
      ...(end < resultBytes && { next_offset: end }),
    },
  };
}
