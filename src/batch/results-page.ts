import { countText, spanText } from '../core/words.ts';
import type { TaskRecord, TaskStatus } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { ActionResult } from './answer.ts';
import { ENDED } from './counts.ts';
import { taskText } from './names.ts';
import { beginOfResult, rowsWithResults } from './result-row.ts';
import { pageText } from './results-summary.ts';
import { linesText, oneLine } from './text.ts';

/** Which part of the results. */
export interface PageRequest {
  readonly status: readonly TaskStatus[] | undefined;
  readonly limit: number;
  /** Tasks that are passed over. */
  readonly offset: number;
  /** What the page before gave as `next_cursor`. */
  readonly cursor: number;
}

/** So many characters of results a page shows in all, as far as each can have a few. */
const BUDGET = 12_000;
const SHORTEST = 40;
const LONGEST = 2000;

/** A page of results in the order in which the tasks were added. */
export async function resultsPage(
  store: Store,
  batch: string,
  request: PageRequest,
  format: 'detailed' | 'json',
): Promise<ActionResult> {
  const { records, hasMore } = await readPage(store, batch, request);
  const length = Math.max(SHORTEST, Math.min(LONGEST, Math.floor(BUDGET / Math.max(1, records.length))));
  const next = hasMore ? { next_cursor: records.at(-1)!.seq } : {};
  const results = await rowsWithResults(store, batch, records, length);
  const data = { batch, results, ...next };
  if (format === 'json') return { text: JSON.stringify(data), data };
  return {
    text: linesText(
      pageText(records.length, hasMore),
      records.map((record) => lineOf(record, Math.min(length, 200))),
      hasMore ? `The next page has "cursor": ${records.at(-1)!.seq}.` : undefined,
      records.some((record) => record.status === 'completed')
        ? 'One result as a whole or in parts: "id", with "range": { "offset": 0, "length": 10000 } in bytes.'
        : undefined,
    ),
    data,
  };
}

async function readPage(
  store: Store,
  batch: string,
  { status = ENDED, limit, offset, cursor }: PageRequest,
): Promise<{ records: TaskRecord[]; hasMore: boolean }> {
  let afterSeq = cursor;
  for (let left = offset; left > 0; ) {
    const passed = await store.tasks(batch, { status, afterSeq, limit: Math.min(left, 1000) });
    if (passed.length === 0) return { records: [], hasMore: false };
    left -= passed.length;
    afterSeq = passed.at(-1)!.seq;
  }
  const found = await store.tasks(batch, { status, afterSeq, limit: limit + 1 });
  return { records: found.slice(0, limit), hasMore: found.length > limit };
}

function lineOf(record: TaskRecord, length: number): string {
  const ms = record.durationMs;
  const took = ms === undefined ? '' : ` in ${spanText(ms)}`;
  return `- ${taskText(record)}: ${record.status}${took}${outcomeText(record, length)}${warningText(record)}`;
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
      return record.cause === undefined ? ': not needed' : ` because of ${record.cause}`;
    default:
      return '';
  }
}
