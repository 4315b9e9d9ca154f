import { packLanes, packWithGroups } from '../../../src/cli/drawing/timeline.ts';
import type { Row, Try } from '../model/row.ts';

/** One try of an execution, in milliseconds since the first start. */
export interface Span {
  readonly row: Row;
  readonly attempt: number;
  readonly outcome: Try['outcome'];
  /** The worker that it was placed on, if any. */
  readonly worker: string | null;
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
  /** The lanes that have a title instead of tries: the name of the worker whose tries are below. */
  readonly titles: readonly { readonly lane: number; readonly text: string }[];
  readonly lengthMs: number;
}

/**
 * All tries in as few lanes as there were tries at once, in the order of their starts. Groups are above the rest. With
 * `byWorker`, each worker has lanes of its own.
 */
export function spansOf(rows: readonly Row[], now: number, byWorker = false): Spans {
  const tries = rows.flatMap((row) => triesOf(row).map((one) => ({ row, ...one })));
  if (tries.length === 0) return { list: [], laneCount: 0, titles: [], lengthMs: 0 };
  const origin = tries.reduce((min, { startedAt }) => Math.min(min, startedAt), Number.POSITIVE_INFINITY);
  const times = tries.map(({ row, attempt, startedAt, endedAt, outcome, worker }) => {
    const startMs = startedAt - origin;
    return { row, attempt, outcome, worker, startMs, endMs: Math.max(startMs, (endedAt ?? now) - origin) };
  });
  times.sort((a, b) => a.startMs - b.startMs || b.endMs - a.endMs);
  const { lanes, laneCount, titles } = byWorker ? packByWorker(times) : { ...packAll(times), titles: [] };
  const last = new Map<string, number>();
  const list = times.map((time, place) => {
    const before = last.get(time.row.id) ?? -1;
    last.set(time.row.id, place);
    return { ...time, lane: lanes[place]!, before };
  });
  return { list, laneCount, titles, lengthMs: times.reduce((max, { endMs }) => Math.max(max, endMs), 0) };
}

type Time = Pick<Span, 'row' | 'worker' | 'startMs' | 'endMs'>;

function packAll(times: readonly Time[]): { lanes: number[]; laneCount: number } {
  return packWithGroups(times, ({ row }) => row.group_kind !== null);
}

/** Groups only wait, so they are above all workers. What ran in the process of the batch is below. */
function packByWorker(times: readonly Time[]): Pick<Spans, 'laneCount' | 'titles'> & { lanes: number[] } {
  const lanes = times.map(() => 0);
  const titles: { lane: number; text: string }[] = [];
  const places = new Map<string, number[]>([[GROUPS, []]]);
  for (const name of [...new Set(times.flatMap(({ worker }) => worker ?? []))].sort()) places.set(name, []);
  places.set(HERE, []);
  for (const [place, { row, worker }] of times.entries())
    places.get(row.group_kind === null ? (worker ?? HERE) : GROUPS)!.push(place);
  let laneCount = 0;
  for (const [name, own] of places) {
    if (own.length === 0) continue;
    if (name !== GROUPS) titles.push({ lane: laneCount++, text: name });
    const packed = packLanes(own.map((place) => times[place]!));
    for (const [index, place] of own.entries()) lanes[place] = laneCount + packed.lanes[index]!;
    laneCount += packed.laneCount;
  }
  return { lanes, laneCount, titles };
}

/** No names of workers: those have neither spaces nor nothing in them. */
const GROUPS = '';
const HERE = 'this machine';

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
      worker: row.worker,
    },
  ];
}
