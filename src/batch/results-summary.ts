import { countText, spanText } from '../core/words.ts';
import type { TaskRecord, TaskStatus } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { ActionResult } from './answer.ts';
import { countsText, ENDED, type TaskCounts } from './counts.ts';
import { taskText } from './names.ts';
import { taskPages } from './pages.ts';
import { beginOfResult, durationOf } from './result-row.ts';
import { linesText, oneLine } from './text.ts';

const MOST_CAUSES = 8;
const MOST_SLOWEST = 5;
const MOST_FIRST = 10;
const EXAMPLES = 3;
/** Different causes beyond these are counted as one: a summary is to stay small. */
const MOST_GROUPS = 1000;

interface Cause {
  readonly status: string;
  readonly reason: string;
  readonly text: string;
  count: number;
  readonly examples: string[];
}

interface Slow {
  readonly record: TaskRecord;
  readonly ms: number;
}

/** What came of a batch in a few lines, however large it is. */
export async function summaryOf(
  store: Store,
  batch: string,
  counts: TaskCounts,
  statuses: readonly TaskStatus[] = ENDED,
): Promise<ActionResult> {
  const digest = new Digest();
  for await (const page of taskPages(store, batch, statuses)) for (const record of page) digest.add(record);
  const causes = digest.topCauses();
  const { slowest, first } = digest;
  return {
    text: linesText(
      `The batch "${batch}" has ${countsText(counts)}.`,
      causes.length === 0 ? undefined : 'Not completed, by cause:',
      causes.map(({ count, text, examples }) => `- ${count} × ${text} (${examples.join(', ')})`),
      slowest.length === 0 ? undefined : 'Slowest:',
      slowest.map(({ record, ms }) => `- ${taskText(record)}: ${spanText(ms)}`),
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
      slowest: slowest.map(({ record, ms }) => ({ id: record.id, name: record.name, duration_ms: ms })),
      first: first.map((record) => ({
        id: record.id,
        name: record.name,
        preview: beginOfResult(record, 100).text,
      })),
    },
  };
}

/** Sees every task once and keeps little of it. */
class Digest {
  readonly slowest: Slow[] = [];
  readonly first: TaskRecord[] = [];
  private readonly causes = new Map<string, Cause>();

  add(record: TaskRecord): void {
    if (record.status === 'completed') {
      if (this.first.length < MOST_FIRST) this.first.push(record);
    } else if (record.status !== 'open' && record.status !== 'running') {
      this.addCause(record);
    }
    const ms = durationOf(record);
    if (ms === undefined || ms <= (this.slowest[MOST_SLOWEST - 1]?.ms ?? -1)) return;
    this.slowest.push({ record, ms });
    this.slowest.sort((a, b) => b.ms - a.ms);
    this.slowest.length = Math.min(this.slowest.length, MOST_SLOWEST);
  }

  topCauses(): Cause[] {
    return [...this.causes.values()].sort((a, b) => b.count - a.count).slice(0, MOST_CAUSES);
  }

  private addCause(record: TaskRecord): void {
    const { status, reason = status } = record;
    const text = causeText(record);
    // The same failure of many tasks differs in names and numbers only: paths, sizes, places.
    const key = `${reason} ${text.replace(/"[^"]*"/g, '""').replace(/\d+/g, '#')}`;
    let cause = this.causes.get(key);
    if (cause === undefined) {
      if (this.causes.size >= MOST_GROUPS) return;
      cause = { status, reason, text, count: 0, examples: [] };
      this.causes.set(key, cause);
    }
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
