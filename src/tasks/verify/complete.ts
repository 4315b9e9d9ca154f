import { type Feature, progressOf } from '../files/feature.ts';
import { subtaskLine, subtaskView } from '../files/feature-text.ts';
import { type Moment, readySubtasks } from '../files/readiness.ts';
import { completeSubtask, completionObstacles, markSubtask } from '../files/subtask-changes.ts';
import { findSubtask } from '../files/subtask-reference.ts';
import type { TaskFolder } from '../files/task-folder.ts';
import type { CommandRunner } from './command-runner.ts';
import { requireTrusted } from './trust.ts';
import { type Evidence, evidenceText, verifySubtask } from './verify.ts';

export interface SubtaskCompletion {
  readonly seq: string;
  readonly summary: string;
  readonly agent?: string | undefined;
  readonly force?: boolean;
  readonly signal?: AbortSignal;
  /** The folder that the work is in; default: the project. */
  readonly workspace?: string;
  /** Where the approvals of the user are found. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface CompletedSubtask {
  readonly feature: Feature;
  readonly evidence: readonly Evidence[];
  /** False if it was completed before. */
  readonly changed: boolean;
  /** It is noted as done, and completed when its work has been brought into the project. */
  readonly isMarked: boolean;
}

/**
 * Completes a subtask if its work is there. It is looked at before the files are locked, since that may take minutes;
 * what others did meanwhile counts.
 */
export async function verifyAndComplete(
  folder: TaskFolder,
  name: string,
  completion: SubtaskCompletion,
  commands: Pick<CommandRunner, 'run'>,
): Promise<CompletedSubtask> {
  const { seq, summary, agent, force = false, signal, workspace = folder.project, env } = completion;
  // Work in a folder of its own may still be lost, or not fit the project.
  const isMarked = workspace !== folder.project;
  // A second time at most, and then whatever stands in the way: somebody must have looked at the work.
  for (let mayGiveUp = !force; ; mayGiveUp = false) {
    const before = await folder.read(name);
    const subtask = findSubtask(before, seq);
    if (subtask.status === 'completed')
      return { feature: before, evidence: [], changed: false, isMarked: false };
    requireTrusted(folder, before, env);
    const isHopeless = mayGiveUp && completionObstacles(before, subtask, agent, folder.moment()).length > 0;
    const place = { folder: workspace, project: folder.project, commands, signal };
    const evidence = isHopeless ? [] : await verifySubtask(subtask, place);
    let changed = false;
    let isUnseen = false;
    const feature = await folder.change(name, (now, moment) => {
      // What stood in the way may be gone by now, and nobody has looked at the work.
      isUnseen = isHopeless && completionObstacles(now, findSubtask(now, seq), agent, moment).length === 0;
      if (isUnseen) return undefined;
      const failures = evidence.filter(({ ok }) => !ok).map(evidenceText);
      const passed = evidence.length - failures.length;
      const change = completeSubtask(now, { seq, summary, agent, failures, passed, force }, moment);
      changed = change !== undefined;
      return isMarked && changed ? markSubtask(now, { seq, summary }, moment) : change;
    });
    if (!isUnseen) return { feature, evidence, changed, isMarked };
  }
}

export type CompletedAnswer = ReturnType<typeof completedAnswer>;

/** What is said when a subtask was completed: for people and models, and for programs. */
export function completedAnswer(completed: CompletedSubtask, seq: string, moment: Moment) {
  const { feature, evidence, changed, isMarked } = completed;
  const subtask = findSubtask(feature, seq);
  const { done, total } = progressOf(feature);
  const ready = readySubtasks(feature, moment).map((one) => one.seq);
  const lines = [
    `${subtaskLine(subtask)}${noteOf(changed, isMarked)}`,
    `  Progress: ${done}/${total}`,
    ...(ready.length > 0 ? [`  Can be started: ${ready.join(', ')}`] : []),
  ];
  const data = {
    feature: feature.name,
    subtask: subtaskView(subtask, moment),
    changed,
    marked: isMarked,
    evidence,
    ready,
  };
  return { text: lines.join('\n'), data };
}

function noteOf(changed: boolean, isMarked: boolean): string {
  if (!changed) return ' before: nothing was changed';
  return isMarked ? ' is done; it counts when it has been merged' : '';
}
