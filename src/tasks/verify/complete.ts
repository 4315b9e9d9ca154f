import type { EnvironmentVariables } from '../../config/environment.ts';
import { type Feature, progressOf } from '../files/feature.ts';
import { subtaskLine, subtaskView } from '../files/feature-text.ts';
import { type Moment, readySubtasks } from '../files/readiness.ts';
import { completeSubtask, completionObstacles, markSubtask } from '../files/subtask-changes.ts';
import { findSubtask } from '../files/subtask-reference.ts';
import type { TaskFolder } from '../files/task-folder.ts';
import type { CommandRunner } from './command-runner.ts';
import { requireTrusted } from './trust.ts';
import { type Evidence, failedChecks, verifySubtask } from './verify.ts';

interface SubtaskCompletion {
  readonly seq: string;
  readonly summary: string;
  readonly agent?: string | undefined;
  readonly force?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** The folder with the work; default: the project. */
  readonly workspace?: string;
  /** Locates the user's approvals. */
  readonly env: EnvironmentVariables;
}

interface CompletedSubtask {
  readonly feature: Feature;
  readonly evidence: readonly Evidence[];
  /** False if it was already completed. */
  readonly changed: boolean;
  /** Marked as done; it is completed when its work is merged into the project. */
  readonly isMarked: boolean;
}

/**
 * Verifies a subtask and completes it. Verification may take minutes, so it runs before the files are locked; changes
 * made meanwhile are respected.
 */
export async function verifyAndComplete(
  folder: TaskFolder,
  name: string,
  completion: SubtaskCompletion,
  commands: Pick<CommandRunner, 'run'>,
): Promise<CompletedSubtask> {
  const { seq, summary, agent, force = false, signal, workspace = folder.project, env } = completion;
  // Work in a separate worktree may still be lost or conflict.
  const isMarked = workspace !== folder.project;
  // Obstacles skip the verification, but only once: if they vanish, the second round verifies in any case.
  for (let maySkip = !force; ; maySkip = false) {
    const before = await folder.read(name);
    const subtask = findSubtask(before, seq);
    if (subtask.status === 'completed')
      return { feature: before, evidence: [], changed: false, isMarked: false };
    requireTrusted(folder, before, env);
    const isSkipped = maySkip && completionObstacles(before, subtask, agent, folder.moment()).length > 0;
    const context = { folder: workspace, project: folder.project, commands, signal };
    const evidence = isSkipped ? [] : await verifySubtask(subtask, context);
    let changed = false;
    let isUnverified = false;
    const feature = await folder.change(name, (now, moment) => {
      isUnverified = isSkipped && completionObstacles(now, findSubtask(now, seq), agent, moment).length === 0;
      if (isUnverified) return undefined;
      const failures = failedChecks(evidence);
      const passed = evidence.length - failures.length;
      const change = completeSubtask(now, { seq, summary, agent, failures, passed, force }, moment);
      changed = change !== undefined;
      return isMarked && changed ? markSubtask(now, { seq, summary }, moment) : change;
    });
    if (!isUnverified) return { feature, evidence, changed, isMarked };
  }
}

export type CompletedAnswer = ReturnType<typeof completedAnswer>;

/** Describes a completed subtask, as text and as data. */
export function completedAnswer(completed: CompletedSubtask, seq: string, moment: Moment) {
  const { feature, evidence, changed, isMarked } = completed;
  const subtask = findSubtask(feature, seq);
  const { done, total } = progressOf(feature);
  const ready = readySubtasks(feature, moment).map((one) => one.seq);
  const note = !changed ? ' (no change: already completed)' : isMarked ? ' (done; counts once merged)' : '';
  const lines = [
    `${subtaskLine(subtask)}${note}`,
    `  Progress: ${done}/${total}`,
    ...(ready.length > 0 ? [`  Ready to start: ${ready.join(', ')}`] : []),
  ];
  const view = subtaskView(subtask, moment);
  const data = { feature: feature.name, subtask: view, changed, marked: isMarked, evidence, ready };
  return { text: lines.join('\n'), data };
}
