import type { FinishedTask } from './task-graph.ts';
import { type TaskSpan, timelineOf } from './timeline.ts';

/** More than viewers can show. */
const MAX_TASKS = 200_000;
const MAX_ARROWS = 50_000;
const PROCESS_ID = 1;

/** A trace for ui.perfetto.dev and chrome://tracing. Lanes are threads, and arrows are dependencies. */
export function traceJson(batchName: string, tasks: readonly FinishedTask[]): string {
  const { taskCount, spans, laneCount, groupLanes } = timelineOf(tasks);
  const shown = spans.slice(0, MAX_TASKS);
  const events: object[] = [
    metadata('process_name', 0, `volley: ${batchName}`),
    ...Array.from({ length: laneCount }, (_, lane) => {
      const name = lane < groupLanes ? `groups ${lane + 1}` : `lane ${lane + 1 - groupLanes}`;
      return metadata('thread_name', lane + 1, name);
    }),
    ...shown.map(taskEvent),
  ];
  const leftOut = addArrows(events, shown);
  const otherData = {
    batch: batchName,
    tasks: tasks.length,
    tasksLeftOut: spans.length - shown.length,
    neverStarted: tasks.length - taskCount,
    arrowsLeftOut: leftOut,
  };
  // One event per line, for diffs.
  const lines = events.map((event) => JSON.stringify(event)).join(',\n');
  return `{"displayTimeUnit":"ms","otherData":${JSON.stringify(otherData)},"traceEvents":[\n${lines}\n]}\n`;
}

function metadata(name: string, threadId: number, text: string): object {
  return { ph: 'M', name, pid: PROCESS_ID, tid: threadId, args: { name: text } };
}

function taskEvent({ task, startMs, endMs, lane }: TaskSpan): object {
  const { id, name, function: functionName, status, attempts, dependsOn } = task;
  return {
    ph: 'X',
    name,
    cat: `${functionName},${status}`,
    pid: PROCESS_ID,
    tid: lane + 1,
    ts: toMicroseconds(startMs),
    dur: toMicroseconds(endMs - startMs),
    ...(COLORS[status] && { cname: COLORS[status] }),
    args: { id, function: functionName, status, attempts, ...(dependsOn.length > 0 && { dependsOn }) },
  };
}

/** Color names of chrome://tracing, which Perfetto ignores. */
const COLORS: Partial<Record<string, string>> = {
  completed: 'good',
  failed: 'terrible',
  cancelled: 'bad',
  running: 'yellow',
};

/** Adds arrows from the end of dependencies, and returns how many were omitted. */
function addArrows(events: object[], spans: readonly TaskSpan[]): number {
  const byId = new Map(spans.map((span) => [span.task.id, span]));
  let arrow = 0;
  let leftOut = 0;
  for (const to of spans) {
    for (const id of to.task.dependsOn) {
      const from = byId.get(id);
      if (from === undefined) continue;
      if (arrow >= MAX_ARROWS) {
        leftOut++;
        continue;
      }
      arrow++;
      const common = { name: 'waited for', cat: 'dependency', id: arrow, pid: PROCESS_ID };
      events.push(
        { ph: 's', ...common, tid: from.lane + 1, ts: toMicroseconds(from.endMs) },
        // Bound to the enclosing task, not to the next one.
        { ph: 'f', bp: 'e', ...common, tid: to.lane + 1, ts: toMicroseconds(to.startMs) },
      );
    }
  }
  return leftOut;
}

function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000);
}
