import { setImmediate as nextTurn } from 'node:timers/promises';
import { countText, spanText } from '../core/words.ts';
import type { TaskRecord, TaskStatus } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { ActionResult } from './answer.ts';
import { commonText } from './common-text.ts';
import { countsText, ENDED, type TaskCounts } from './counts.ts';
import { taskText } from './names.ts';
import { taskPages } from './pages.ts';
import { beginOfResult } from './result-row.ts';
import { linesText, oneLine } from './text.ts';

const MAX_CAUSES = 8;
const MAX_SLOWEST = 5;
const MAX_FIRST = 10;
const EXAMPLES = 3;
/** Different causes beyond these are counted as one: a summary is to stay small. */
const MAX_GROUPS = 1000;

interface Cause {
  readonly status: string;
  readonly reason: string;
  /** With `…` where those of the tasks differ. */
  text: string;
  count: number;
  readonly examples: string[];
}

/** What came of a batch in a few lines, however large it is. */
export async function summaryOf(
  store: Store,
  batch: string,
  counts: TaskCounts,
  statuses: readonly TaskStatus[] = ENDED,
): Promise<ActionResult> {
  // Most of a large batch has completed, and is not read.
  const others = statuses.filter((status) => status !== 'completed');
  const digest = new Digest();
  for await (const page of others.length === 0 ? [] : taskPages(store, batch, others))
    for (const record of page) digest.add(record);
  const causes = digest.topCauses();
  const slowest = await slowestOf(store, batch, statuses);
  const first = statuses.includes('completed')
    ? await store.tasks(batch, { status: ['completed'], limit: MAX_FIRST })
    : [];
  return {
    text: linesText(
      `The batch "${batch}" has ${countsText(counts)}.`,
      causes.length === 0 ? undefined : 'Not completed, by cause:',
      causes.map(({ count, text, examples }) => `- ${count} × ${text} (${examples.join(', ')})`),
      slowest.length === 0 ? undefined : 'Slowest:',
      slowest.map((record) => `- ${taskText(record)}: ${spanText(record.durationMs ?? 0)}`),
      first.length === 0 ? undefined : 'First results:',
      first.map((record) => `- ${taskText(record)}: ${oneLine(beginOfResult(record, 100).text, 100)}`),
      'More: "format": "detailed" for a list in pages, "id" for one result as a whole.',
    ),
    data: {
      batch,
      counts,
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

/** The few that took longest; the event loop gets a break between looks at many. */
async function slowestOf(
  store: Store,
  batch: string,
  statuses: readonly TaskStatus[],
): Promise<TaskRecord[]> {
  let slowest: TaskRecord[] = [];
  for (let after = 0; ; await nextTurn()) {
    const { tasks, nextSeq } = await store.slowest(batch, statuses, after, MAX_SLOWEST);
    // Of those that took as long, the first in the batch stay: sorting keeps the order of equals.
    slowest = [...slowest, ...tasks]
      .sort((a, b) => (b.durationMs ?? 0) - (a.durationMs ?? 0))
      .slice(0, MAX_SLOWEST);
    if (nextSeq === undefined) return slowest;
    after = nextSeq;
  }
}

/** Sees every task once that did not complete, and keeps little of it. */
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
    // The same failure of many tasks differs in names and numbers only: paths, sizes, places.
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
      return cause === undefined ? 'skipped: not needed' : `skipped because of ${cause}`;
    case 'cancelled':
      return `cancelled: ${oneLine(message ?? '', 160)}`;
    default:
      return `${reason}: ${oneLine(message ?? '', 160)}`;
  }
}

/** How many of a batch a page shows, of how many. */
export function pageText(shown: number, hasMore: boolean): string {
  return hasMore ? `${countText(shown, 'task')}, and there are more:` : `${countText(shown, 'task')}:`;
}
