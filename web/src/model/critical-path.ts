import type { Row } from './row.ts';

export interface CriticalPath {
  /** Ids from the first to the last. */
  readonly ids: readonly string[];
  /** From the start of the first to the end of the last, or to now. */
  readonly lengthMs: number;
  /** Of that, how long they ran. */
  readonly runningMs: number;
}

const NO_PATH: CriticalPath = { ids: [], lengthMs: 0, runningMs: 0 };

/**
 * The chain that the end had to wait for: the execution that ends last, before it the one of its dependencies that
 * ended last, and so on.
 */
export function criticalPath(
  rows: readonly Row[],
  places: ReadonlyMap<string, number>,
  now: number,
): CriticalPath {
  const endOf = (row: Row) => (row.started_at === null ? Number.NEGATIVE_INFINITY : (row.ended_at ?? now));
  const latest = (some: readonly Row[]) =>
    some.reduce<Row | undefined>((last, row) => {
      if (row.started_at === null) return last;
      return last === undefined || endOf(row) > endOf(last) ? row : last;
    }, undefined);
  const path: Row[] = [];
  // A dependency always ends before what waits for it starts; the bound is for a clock that was set back.
  const tasks = rows.filter(({ group }) => group === null);
  for (let row = latest(tasks); row !== undefined && path.length <= rows.length; ) {
    path.push(row);
    row = latest(row.depends_on.flatMap((id) => rows[places.get(id) ?? -1] ?? []));
  }
  // One alone had nothing to wait for: what came last is no path.
  if (path.length < 2) return NO_PATH;
  path.reverse();
  return {
    ids: path.map(({ id }) => id),
    lengthMs: endOf(path.at(-1)!) - path[0]!.started_at!,
    runningMs: path.reduce((sum, row) => sum + endOf(row) - row.started_at!, 0),
  };
}
