import { TrustStore } from '../../../config/trust-store.ts';
import { countText, reasonText } from '../../../core/words.ts';
import { draftTexts, type FeatureDraft } from '../../../tasks/describe/draft.ts';
import type { Feature } from '../../../tasks/feature.ts';
import type { TaskFolder } from '../../../tasks/files/task-folder.ts';
import { isAgentOfRun } from '../../../tasks/mailbox/ask-run.ts';
import { problemText } from '../../../tasks/problem.ts';
import { trustFeature, verificationCommands } from '../../../tasks/trust.ts';
import type { ExitStatus, Io } from '../../output/io.ts';
import type { CommonOptions } from '../../program/command.ts';
import { openFolder, say } from './support.ts';

/** Writes the files of a feature, and says what to look at. */
export async function createFeature(
  draft: FeatureDraft,
  feature: string | undefined,
  options: CommonOptions,
  io: Io,
): Promise<ExitStatus> {
  const folder = openFolder(io);
  const { now } = folder.moment();
  const { name, texts, warnings } = draftTexts({ ...draft, feature: feature ?? draft.feature }, now);
  const made = await folder.create(name, texts);
  const text = [
    `Wrote ${name} with ${countText(made.subtasks.length, 'subtask')} to ${folder.path}.`,
    ...warnings.map((problem) => `  ! ${problemText(problem)}`),
    ...trust(folder, made, io),
    `See volley tasks plan ${name}.`,
  ].join('\n');
  return say(io, options, { feature: name, subtasks: made.subtasks.map(({ seq }) => seq), warnings }, text);
}

/** Approves a feature that the user described, not one that an agent described. Returns what is left to do. */
function trust(folder: TaskFolder, feature: Feature, { env }: Io): string[] {
  if (verificationCommands(feature).length === 0) return [];
  const todo = 'its verification commands need your approval: volley trust.';
  if (isAgentOfRun(env)) return [`  ! An agent wrote it, so ${todo}`];
  try {
    trustFeature(folder, feature, new TrustStore(env));
    return [];
  } catch (error) {
    return [`  ! The approval could not be saved (${reasonText(error)}), so ${todo}`];
  }
}
