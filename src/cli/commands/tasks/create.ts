import { TrustStore } from '../../../config/trust-store.ts';
import { countText, reasonText } from '../../../core/words.ts';
import { type Feature, featureProblemText } from '../../../tasks/files/feature.ts';
import type { TaskFolder } from '../../../tasks/files/task-folder.ts';
import { parseDescription } from '../../../tasks/plan/description.ts';
import { type FeatureDraft, renderDraft } from '../../../tasks/plan/draft.ts';
import { parseTaskMaster } from '../../../tasks/plan/task-master.ts';
import { isAgentOfRun } from '../../../tasks/run/mailbox.ts';
import { trustFeature, verificationCommands } from '../../../tasks/verify/trust.ts';
import type { ExitStatus, Io } from '../../output/io.ts';
import { type CommonOptions, defineCommand } from '../../program/command.ts';
import { openFolder, readInputFile, say } from './support.ts';

interface NewOptions extends CommonOptions {
  readonly feature?: string;
}

export const newCommand = defineCommand<NewOptions>({
  examples: ['volley tasks new auth.md', 'volley tasks new auth.yaml --feature auth-system'],
  declare: (program) =>
    program
      .argument('<file>', 'a description: .md, .yaml or .json')
      .option('--feature <name>', 'the name of the folder (default: from the file)'),
  run: async ([file], options, io) => {
    const draft = parseDescription(file!, await readInputFile(file!, io));
    return createFeature(draft, options.feature, options, io);
  },
});

interface ImportOptions extends CommonOptions {
  readonly feature?: string;
  readonly tag?: string;
}

export const importCommand = defineCommand<ImportOptions>({
  examples: ['volley tasks import .taskmaster/tasks/tasks.json --tag master --feature auth-system'],
  declare: (program) =>
    program
      .argument('<file>', 'a tasks.json of claude-task-master')
      .option('--feature <name>', 'the name of the folder (default: the tag)')
      .option('--tag <name>', 'the list in the file (default: the only one, or master)'),
  run: async ([file], options, io) => {
    const draft = parseTaskMaster(file!, await readInputFile(file!, io), options.tag);
    return createFeature(draft, options.feature, options, io);
  },
});

/** Writes the files of a feature and prints what to do next. */
async function createFeature(
  draft: FeatureDraft,
  feature: string | undefined,
  options: CommonOptions,
  io: Io,
): Promise<ExitStatus> {
  const folder = openFolder(io);
  const { now } = folder.moment();
  const { name, texts, warnings } = renderDraft({ ...draft, feature: feature ?? draft.feature }, now);
  const made = await folder.create(name, texts);
  const text = [
    `Wrote ${name} with ${countText(made.subtasks.length, 'subtask')} to ${folder.path}.`,
    ...warnings.map((problem) => `  ! ${featureProblemText(problem)}`),
    ...trust(folder, made, io),
    `Next: volley tasks plan ${name}`,
  ].join('\n');
  return say(io, options, { feature: name, subtasks: made.subtasks.map(({ seq }) => seq), warnings }, text);
}

/** Approves a feature that the user wrote, but not one that an agent wrote. Returns notes for the user. */
function trust(folder: TaskFolder, feature: Feature, { env }: Io): string[] {
  if (verificationCommands(feature).length === 0) return [];
  const todo = 'its verification commands need your approval: volley trust.';
  if (isAgentOfRun(env)) return [`  ! It was written by an agent, so ${todo}`];
  try {
    trustFeature(folder, feature, new TrustStore(env));
    return [];
  } catch (error) {
    return [`  ! The approval could not be saved (${reasonText(error)}), so ${todo}`];
  }
}
