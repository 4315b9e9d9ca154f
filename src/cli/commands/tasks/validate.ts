import { VolleyError } from '../../../core/errors.ts';
import { countText } from '../../../core/words.ts';
import { errorsOf, type Problem } from '../../../tasks/problem.ts';
import { validateBatch } from '../../../tasks/validate/batch.ts';
import { validateFeature } from '../../../tasks/validate/feature.ts';
import { EXIT } from '../../output/io.ts';
import { type CommonOptions, defineCommand } from '../../program/command.ts';
import { listOption } from '../../program/options.ts';
import { FEATURES_ARGUMENT, featuresOf, openFolder, paragraphs, say } from './support.ts';

interface ValidateOptions extends CommonOptions {
  readonly subtasks?: readonly string[];
}

export const validateCommand = defineCommand<ValidateOptions>({
  examples: ['volley tasks validate', 'volley tasks validate auth-system --subtasks 01,02,03'],
  declare: (program) =>
    program
      .argument(...FEATURES_ARGUMENT)
      .option('--subtasks <list>', 'also whether these can be started at once', listOption),
  run: async ([name], options, io) => {
    const { subtasks } = options;
    if (subtasks !== undefined && name === undefined) {
      throw new VolleyError('INVALID_VALUE', '--subtasks needs the feature they belong to.');
    }
    const folder = openFolder(io);
    const moment = folder.moment();
    const found = (await featuresOf(folder, name)).map((feature) => {
      const batch = subtasks === undefined ? [] : validateBatch(feature, subtasks, moment);
      return { feature: feature.name, problems: unique([...validateFeature(feature), ...batch]) };
    });
    const isRight = found.every(({ problems }) => errorsOf(problems).length === 0);
    const text = paragraphs(
      found.map(({ feature, problems }) => problemsText(feature, problems)),
      folder,
    );
    return say(io, options, { features: found }, text, isRight ? EXIT.ok : EXIT.usage);
  },
});

function problemsText(feature: string, problems: readonly Problem[]): string {
  if (problems.length === 0) return `[${feature}] Nothing is wrong.`;
  const lines = problems.flatMap(({ severity, file, text, remedy }) => [
    `  ${severity === 'error' ? '✗' : '!'} ${file}: ${text}`,
    `    ${remedy}`,
  ]);
  return [`[${feature}] ${countText(problems.length, 'problem')}:`, ...lines].join('\n');
}

/** A batch may have what the whole has, too. */
function unique(problems: readonly Problem[]): Problem[] {
  return [...new Map(problems.map((problem) => [`${problem.file}\0${problem.text}`, problem])).values()];
}
