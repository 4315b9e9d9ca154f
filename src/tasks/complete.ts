import type { Feature } from './feature.ts';
import type { TaskFolder } from './files/task-folder.ts';
import { subtaskOf } from './lookup.ts';
import { completeSubtask, obstaclesTo } from './state/complete.ts';
import { markSubtask } from './state/mark.ts';
import { requireTrusted } from './trust.ts';
import type { CommandRunner } from './verify/command-runner.ts';
import { type Evidence, evidenceText } from './verify/evidence.ts';
import { verifySubtask } from './verify/verify.ts';

export interface Completion {
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

export interface Completed {
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
export async function complete(
  folder: TaskFolder,
  name: string,
  completion: Completion,
  commands: Pick<CommandRunner, 'run'>,
): Promise<Completed> {
  const { seq, summary, agent, force = false, signal, workspace = folder.project, env } = completion;
  // Work in a folder of its own may still be lost, or not fit the project.
  const isMarked = workspace !== folder.project;
  // A second time at most, and then whatever stands in the way: somebody must have looked at the work.
  for (let mayGiveUp = !force; ; mayGiveUp = false) {
    const before = await folder.read(name);
    const subtask = subtaskOf(before, seq);
    if (subtask.status === 'completed')
      return { feature: before, evidence: [], changed: false, isMarked: false };
    requireTrusted(folder, before, env);
    const isHopeless = mayGiveUp && obstaclesTo(before, subtask, agent, folder.moment()).length > 0;
    const place = { folder: workspace, project: folder.project, commands, signal };
    const evidence = isHopeless ? [] : await verifySubtask(subtask, place);
    let changed = false;
    let isUnseen = false;
    const feature = await folder.change(name, (now, moment) => {
      // What stood in the way may be gone by now, and nobody has looked at the work.
      isUnseen = isHopeless && obstaclesTo(now, subtaskOf(now, seq), agent, moment).length === 0;
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
