import { countText } from '../../../core/words.ts';
import { draftTexts, type FeatureDraft } from '../../../tasks/describe/draft.ts';
import { problemText } from '../../../tasks/problem.ts';
import type { CommonOptions } from '../../command.ts';
import type { ExitStatus, Io } from '../../io.ts';
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
    `See volley tasks plan ${name}.`,
  ].join('\n');
  return say(io, options, { feature: name, subtasks: made.subtasks.map(({ seq }) => seq), warnings }, text);
}
