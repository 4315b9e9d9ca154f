import type { TaskStatus } from '../../store/records.ts';
import type { Span } from './timeline.ts';

/** A task, or several short ones of a lane that follow each other closely. */
export interface Bar {
  readonly lane: number;
  readonly startMs: number;
  readonly endMs: number;
  /** That of most. */
  readonly status: TaskStatus;
  readonly failed: number;
  readonly spans: readonly Span[];
}

/**
 * The bars of a time line, at most so many: where there are more tasks, those that are shorter than some width are drawn
 * together with their neighbours. So a lane looks as busy as it was, which leaving tasks out would not show.
 */
export function barsOf(spans: readonly Span[], most: number, msPerPixel: number): Bar[] {
  const byLane: Span[][] = [];
  for (const span of spans) {
    byLane[span.lane] ??= [];
    byLane[span.lane]!.push(span);
  }
  let width = 0;
  let bars = spans.map(toBar);
  while (bars.length > most) {
    width = width === 0 ? msPerPixel : width * 2;
    bars = byLane.flatMap((lane) => bundle(lane, width));
  }
  return bars;
}

/** Joins what is shorter than the width and no further away than that. */
function bundle(lane: readonly Span[], width: number): Bar[] {
  const bars: Bar[] = [];
  let open: Span[] = [];
  let end = 0;
  const close = () => {
    if (open.length > 0) bars.push(toBundle(open, end));
    open = [];
  };
  for (const span of lane) {
    const isShort = span.endMs - span.startMs < width;
    if (!isShort || (open.length > 0 && span.startMs - end > width)) close();
    if (isShort) {
      end = open.length === 0 ? span.endMs : Math.max(end, span.endMs);
      open.push(span);
    } else {
      bars.push(toBar(span));
    }
  }
  close();
  return bars;
}

function toBar(span: Span): Bar {
  return toBundle([span], span.endMs);
}

function toBundle(spans: readonly Span[], endMs: number): Bar {
  const counts = new Map<TaskStatus, number>();
  for (const { task } of spans) counts.set(task.status, (counts.get(task.status) ?? 0) + 1);
  let [{ task: most }] = spans as [Span];
  for (const { task } of spans) if (counts.get(task.status)! > counts.get(most.status)!) most = task;
  const { lane, startMs } = spans[0]!;
  return { lane, startMs, endMs, status: most.status, failed: counts.get('failed') ?? 0, spans };
}
