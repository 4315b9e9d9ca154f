import { packWithGroups } from '../../../src/cli/drawing/timeline.ts';
import type { Row, Try } from '../store/state.ts';

/** One try of an execution, in milliseconds since the first start. */
export interface Span {
  readonly row: Row;
  readonly attempt: number;
  readonly outcome: Try['outcome'];
  readonly startMs: number;
  readonly endMs: number;
  /** From 0: tries of one lane never overlap. */
  readonly lane: number;
  /** The place of the try before it in the list, or -1. */
  readonly before: number;
}

export interface Spans {
  readonly list: readonly Span[];
  readonly laneCount: number;
  readonly lengthMs: number;
}

/** All tries in as few lanes as there were tries at once, in the order of their starts. Groups are above the rest. */
export function spansOf(rows: readonly Row[], now: number): Spans {
  const tries = rows.flatMap((row) => triesOf(row).map((one) => ({ row, ...one })));
  if (tries.length === 0) return { list: [], laneCount: 0, lengthMs: 0 };
  const origin = tries.reduce((least, { startedAt }) => Math.min(least, startedAt), Number.POSITIVE_INFINITY);
  const times = tries.map(({ row, attempt, startedAt, endedAt, outcome }) => {
    const startMs = startedAt - origin;
    return { row, attempt, outcome, startMs, endMs: Math.max(startMs, (endedAt ?? now) - origin) };
  });
  times.sort((a, b) => a.startMs - b.startMs || b.endMs - a.endMs);
  const { lanes, laneCount } = packWithGroups(times, ({ row }) => row.group_kind !== null);
  const last = new Map<string, number>();
  const list = times.map((time, place) => {
    const before = last.get(time.row.id) ?? -1;
    last.set(time.row.id, place);
    return { ...time, lane: lanes[place]!, before };
  });
  return { list, laneCount, lengthMs: times.reduce((most, { endMs }) => Math.max(most, endMs), 0) };
}

/** Where the tries are not known, the time from first start to end stands for them. */
function triesOf(row: Row): readonly Try[] {
  if (row.tries.length > 0) return row.tries;
  if (row.started_at === null || row.status === 'open') return [];
  return [
    {
      attempt: row.attempts,
      startedAt: row.started_at,
      endedAt: row.ended_at,
      outcome: row.status === 'skipped' ? 'cancelled' : row.status,
    },
  ];
}
