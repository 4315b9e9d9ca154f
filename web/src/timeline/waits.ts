import type { Row } from '../model/row.ts';
import type { Span, Spans } from './spans.ts';

/**
 * How long a try waited: a first one since it could have started, which is when it was added, its batch started, and its
 * dependencies or its group were there; a later one since the try before it. Undefined if that is not known.
 */
export function waitOf(
  span: Span,
  { list }: Spans,
  rowOf: (id: string) => Row | undefined,
  batchStartedAt: number | null,
): number | undefined {
  if (span.before >= 0) return Math.max(0, span.startMs - list[span.before]!.endMs);
  const { row } = span;
  if (row.started_at === null) return undefined;
  const startedAt = row.started_at;
  const moments = [
    row.added_at,
    batchStartedAt,
    row.group === null ? null : (rowOf(row.group)?.started_at ?? null),
    ...row.depends_on.map((id) => rowOf(id)?.ended_at ?? null),
  ];
  // A later run of the batch, or of a dependency, has nothing to do with this start.
  const ready = moments.filter((at): at is number => at !== null && at <= startedAt);
  return ready.length === 0 ? undefined : startedAt - Math.max(...ready);
}
