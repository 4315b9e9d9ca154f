import { z } from 'zod';
import { spanText } from '../../core/words.ts';
import type { BatchRecord } from '../../store/records.ts';
import { countsText } from '../counts.ts';
import { holderText } from '../run/holder-requests.ts';
import { linesText } from '../text.ts';
import { batchStanding } from '../view.ts';
import { defineAction } from './define-action.ts';

/** Only the latest are listed. */
const MAX_LISTED = 50;

export const listAction = defineAction({
  name: 'list',
  order: 100,
  summary: 'List all batches with their state, counts and times',
  scope: 'read',
  hints: { readOnly: true },
  schema: z.strictObject({}),
  cli: { group: 'look', examples: ['volley list', 'volley list --json'] },
  run: async (_, { store, runs }) => {
    const all = await store.batches();
    const listed = all.slice(-MAX_LISTED).map((record) => {
      const holder = runs.otherHolder(record);
      return { ...record, ...batchStanding(record, { runs }), holder };
    });
    const more = all.length - listed.length;
    return {
      text: linesText(
        all.length === 0
          ? 'No batches yet. Add tasks first.'
          : `${all.length} ${all.length === 1 ? 'batch' : 'batches'}:`,
        listed.map(batchLine),
        more > 0 ? `and ${more} older` : undefined,
      ),
      data: { total: all.length, batches: listed.map(batchData) },
    };
  },
});

type ListedBatch = BatchRecord & ReturnType<typeof batchStanding>;

function batchData({ name, counts, state, createdAt, startedAt, endedAt, holder }: ListedBatch): object {
  return {
    batch: name,
    counts,
    state,
    created_at: timeText(createdAt),
    ...(startedAt !== undefined && { started_at: timeText(startedAt) }),
    ...(endedAt !== undefined && { ended_at: timeText(endedAt) }),
    ...(holder !== undefined && { holder }),
  };
}

/** `- "audit" has ended, 12 tasks: 12 completed; started 2026-11-16T03:11:09.124Z, took 5.1 s`. */
function batchLine(batch: ListedBatch): string {
  const { name, counts, createdAt, startedAt, endedAt } = batch;
  const times =
    startedAt === undefined
      ? `created ${timeText(createdAt)}`
      : `started ${timeText(startedAt)}${endedAt === undefined ? '' : `, took ${spanText(Math.max(0, endedAt - startedAt))}`}`;
  return `- "${name}" ${stateText(batch)}, ${countsText(counts)}; ${times}`;
}

function stateText({ state, holder, counts, startedAt }: ListedBatch): string {
  if (state === 'elsewhere') return `is running in ${holderText(holder!)}`;
  if (state !== 'idle') return `is ${state}`;
  if (counts.open + counts.running === 0) return 'has ended';
  return startedAt === undefined ? 'has not started' : 'is not running';
}

function timeText(at: number): string {
  return new Date(at).toISOString();
}
