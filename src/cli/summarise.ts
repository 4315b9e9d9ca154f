import { taskPages } from '../batch/context.ts';
import type { TaskRecord, TaskStatus } from '../store/records.ts';
import type { CommonOptions } from './command.ts';
import { groupFailures } from './display/failure-groups.ts';
import { summaryText } from './display/summary.ts';
import type { CompletedTask, FailedTask } from './display/view.ts';
import type { Io } from './io.ts';
import { createColours, wantsColours } from './output/colours.ts';
import { ownName } from './output/own-name.ts';
import type { Session } from './session.ts';
import { ownLabel } from './task-label.ts';
import { viewOf } from './view-of.ts';

const DEFAULT_COLUMNS = 100;
const MAX_SLOWEST = 5;
const ENDED = ['completed', 'failed', 'cancelled', 'skipped'] as const;
/** Those that worked to their end. */
const WORKED: readonly TaskStatus[] = ['completed', 'failed'];

/** What is known of a run from outside. */
interface RunFacts {
  /** Whether there was anything to run. */
  readonly hadWork: boolean;
  /** The time of day at which it began: what had started before belongs to another run. */
  readonly since: number;
  /** By the steady clock. */
  readonly elapsedMs: number;
}

/** The end of a run as people like to read it. */
export async function summarise(
  session: Session,
  batch: string,
  { hadWork, since: startedAt, elapsedMs }: RunFacts,
  { config }: Pick<CommonOptions, 'config'>,
  io: Io,
): Promise<string> {
  const { counts } = await viewOf(session, batch);
  // The clock may have been set back meanwhile.
  const since = Math.min(startedAt, Date.now() - elapsedMs);
  const slowest: CompletedTask[] = [];
  const failures: FailedTask[] = [];
  const warnings: string[] = [];
  let workMs = 0;
  // Another process may have ended it all just before it was this one's turn.
  let hasRun = hadWork && counts.open + counts.running > 0;
  for await (const page of taskPages(session.store, batch, ENDED)) {
    for (const task of page) {
      if (task.status === 'failed') failures.push(failureOf(task));
      const { endedAt = 0, durationMs, function: tool } = task;
      // What was skipped has never started.
      if ((task.startedAt ?? endedAt) < since) continue;
      hasRun = hadWork;
      for (const warning of task.options.warnings ?? []) warnings.push(`${ownLabel(task)}: ${warning}`);
      if (durationMs === undefined || !WORKED.includes(task.status)) continue;
      workMs += durationMs;
      if (task.status === 'completed')
        keepSlowest(slowest, { name: ownLabel(task), function: tool, durationMs });
    }
  }
  return summaryText(
    { name: batch, counts, hasRun, elapsedMs, workMs, slowest, warnings, failures: groupFailures(failures) },
    {
      colours: createColours(wantsColours(io.stdout, io.env)),
      columns: io.stdout.columns || DEFAULT_COLUMNS,
      program: ownName(io),
      config,
    },
  );
}

function keepSlowest(slowest: CompletedTask[], task: CompletedTask): void {
  const last = slowest[MAX_SLOWEST - 1];
  if (last !== undefined && last.durationMs >= task.durationMs) return;
  slowest.push(task);
  slowest.sort((a, b) => b.durationMs - a.durationMs);
  slowest.length = Math.min(slowest.length, MAX_SLOWEST);
}

function failureOf(task: TaskRecord): FailedTask {
  const { function: tool, reason = 'error', message = '', attempts } = task;
  return { name: ownLabel(task), function: tool, reason, message, attempts };
}
