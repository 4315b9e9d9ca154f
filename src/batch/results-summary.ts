import { setImmediate as nextTurn } from 'node:timers/promises';
import { countText, spanText } from '../core/words.ts';
import { type BatchRecord, isGroup, type TaskRecord, type TaskStatus } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { ActionResult } from './answer.ts';
import { taskPages } from './context.ts';
import { countsText, ENDED } from './counts.ts';
import { itemNoun } from './group-text.ts';
import { hintText } from './hints.ts';
import { beginOfResult, itemCountsOf } from './result-row.ts';
import { returnedBy } from './returned.ts';
import { spendingFields, spendingText } from './run/spending.ts';
import { linesText, oneLine, taskText } from './text.ts';

const MAX_CAUSES = 8;
const MAX_SLOWEST = 5;
const MAX_FIRST = 10;
const EXAMPLES = 3;
/** Further causes are ignored, so that a summary stays small. */
const MAX_GROUPS = 1000;

interface Cause {
  readonly status: string;
  readonly reason: string;
  /** With `…` where the messages of the tasks differ. */
  text: string;
  count: number;
  readonly examples: string[];
}

/** Summarizes a batch of any size in a few lines. */
export async function summaryOf(
  store: Store,
  { name: batch, counts, cached, spending }: Pick<BatchRecord, 'name' | 'counts' | 'cached' | 'spending'>,
  statuses: readonly TaskStatus[] = ENDED,
): Promise<ActionResult> {
  // Most tasks of a large batch have completed, and need not be read.
  const others = statuses.filter((status) => status !== 'completed');
  const digest = new Digest();
  for await (const page of others.length === 0 ? [] : taskPages(store, batch, others))
    for (const record of page) digest.add(record);
  const causes = digest.topCauses();
  const slowest = await slowestOf(store, batch, statuses);
  const first = statuses.includes('completed')
    ? await store.tasks(batch, { status: ['completed'], limit: MAX_FIRST, withoutItems: true })
    : [];
  const items = await itemCountsOf(store, first);
  const countOf = ({ seq, options }: TaskRecord) =>
    items.has(seq) ? ` (${countsText(items.get(seq)!, itemNoun(options))})` : '';
  const returned = await returnedBy(store, batch);
  return {
    text: linesText(
      returned?.text,
      `The batch "${batch}" has ${countsText(counts, 'task', cached)}.`,
      spending && `Models and agents: ${spendingText(spending)}.`,
      causes.length === 0 ? undefined : 'Not completed, by cause:',
      causes.map(({ count, text, examples }) => `- ${count} × ${text} (${examples.join(', ')})`),
      slowest.length === 0 ? undefined : 'Slowest:',
      slowest.map((record) => `- ${taskText(record)}: ${spanText(record.durationMs ?? 0)}`),
      first.length === 0 ? undefined : 'First results:',
      first.map(
        (record) =>
          `- ${taskText(record)}${countOf(record)}: ${oneLine(beginOfResult(record, 100).text, 100)}`,
      ),
      hintText('moreResults'),
    ),
    data: {
      batch,
      ...returned?.data,
      counts,
      ...(cached > 0 && { cached }),
      ...(spending !== undefined && { spending: spendingFields(spending) }),
      causes: causes.map(({ status, reason, text, count, examples }) => ({
        status,
        reason,
        text,
        count,
        examples,
      })),
      slowest: slowest.map((record) => ({
        id: record.id,
        name: record.name,
        duration_ms: record.durationMs,
      })),
      first: first.map((record) => ({
        id: record.id,
        name: record.name,
        preview: beginOfResult(record, 100).text,
      })),
    },
  };
}

/** Returns the few slowest tasks. Yields to the event loop between pages. */
async function slowestOf(
  store: Store,
  batch: string,
  statuses: readonly TaskStatus[],
): Promise<TaskRecord[]> {
  let slowest: TaskRecord[] = [];
  for (let after = 0; ; await nextTurn()) {
    const { tasks, nextSeq } = await store.slowest(batch, statuses, after, 2 * MAX_SLOWEST);
    // Sorting is stable, so tasks of equal duration stay in the order of the batch.
    // A group only waits for its items.
    slowest = [...slowest, ...tasks.filter(({ options }) => !isGroup(options))]
      .sort((a, b) => (b.durationMs ?? 0) - (a.durationMs ?? 0))
      .slice(0, MAX_SLOWEST);
    if (nextSeq === undefined) return slowest;
    after = nextSeq;
  }
}

/** Groups the tasks that did not complete by cause, with a few examples of each. */
class Digest {
  private readonly causes = new Map<string, Cause>();

  add(record: TaskRecord): void {
    if (record.status !== 'open' && record.status !== 'running') this.addCause(record);
  }

  topCauses(): Cause[] {
    return [...this.causes.values()].sort((a, b) => b.count - a.count).slice(0, MAX_CAUSES);
  }

  private addCause(record: TaskRecord): void {
    const { status, reason = status } = record;
    const text = causeText(record);
    // The same failure of many tasks differs only in names and numbers.
    const key = `${reason} ${text.replace(/"[^"]*"/g, '""').replace(/\d+/g, '#')}`;
    let cause = this.causes.get(key);
    if (cause === undefined) {
      if (this.causes.size >= MAX_GROUPS) return;
      cause = { status, reason, text, count: 0, examples: [] };
      this.causes.set(key, cause);
    }
    cause.text = commonText(cause.text, text);
    cause.count++;
    if (cause.examples.length < EXAMPLES) cause.examples.push(record.id);
  }
}

function causeText({ status, reason, message, cause }: TaskRecord): string {
  switch (status) {
    case 'skipped':
      if (cause !== undefined) return `skipped because of ${cause}`;
      return message === undefined ? 'skipped: not needed' : `skipped: ${oneLine(message, 160)}`;
    case 'cancelled':
      return `cancelled: ${oneLine(message ?? '', 160)}`;
    default:
      return `${reason}: ${oneLine(message ?? '', 160)}`;
  }
}

/** The heading of a page of tasks. */
export function pageText(shown: number, hasMore: boolean): string {
  return hasMore ? `${countText(shown, 'task')}, and there are more:` : `${countText(shown, 'task')}:`;
}

const ELLIPSIS = '…';
const LETTER = /[\p{L}\p{N}]/u;

/** Returns what two messages have in common, with `…` where they differ: `Cannot read "src/….ts"`. */
export function commonText(one: string, other: string): string {
  if (one === other) return one;
  const [left, right] = [one.split(' '), other.split(' ')];
  const words = left.length === right.length ? wordByWord(left, right) : endsOf(left, right);
  return words.filter((word, at) => word !== ELLIPSIS || words[at - 1] !== ELLIPSIS).join(' ');
}

function wordByWord(left: readonly string[], right: readonly string[]): string[] {
  return left.map((word, at) => commonWord(word, right[at]!));
}

/** Keeps the words that are the same at the beginning and at the end. */
function endsOf(left: readonly string[], right: readonly string[]): string[] {
  const shorter = Math.min(left.length, right.length);
  let before = 0;
  while (before < shorter && left[before] === right[before]) before++;
  let after = 0;
  while (after < shorter - before && left.at(-1 - after) === right.at(-1 - after)) after++;
  return [...left.slice(0, before), ELLIPSIS, ...left.slice(left.length - after)];
}

/** Never splits runs of letters or digits: the common 1 of 12 and 13 means nothing. */
function commonWord(one: string, other: string): string {
  if (one === other) return one;
  const shorter = Math.min(one.length, other.length);
  let before = 0;
  while (before < shorter && one[before] === other[before]) before++;
  while (before > 0 && LETTER.test(one[before - 1]!)) before--;
  let after = 0;
  while (after < shorter - before && one.at(-1 - after) === other.at(-1 - after)) after++;
  while (after > 0 && LETTER.test(one.at(-after)!)) after--;
  return `${one.slice(0, before)}${ELLIPSIS}${one.slice(one.length - after)}`.replace(/…+/, ELLIPSIS);
}
