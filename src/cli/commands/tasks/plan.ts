import { planOf } from '../../../tasks/plan.ts';
import { planText } from '../../../tasks/text/plan-text.ts';
import { defineCommand } from '../../program/command.ts';
import { FEATURES_ARGUMENT, featuresOf, openFolder, paragraphs, say } from './support.ts';

export const planCommand = defineCommand({
  examples: ['volley tasks plan auth-system', 'volley tasks plan --json'],
  declare: (program) => program.argument(...FEATURES_ARGUMENT),
  run: async ([name], options, io) => {
    const folder = openFolder(io);
    const plans = (await featuresOf(folder, name)).map((feature) => ({ feature, plan: planOf(feature) }));
    const text = paragraphs(
      plans.map(({ feature, plan }) => planText(feature, plan)),
      folder,
    );
    const views = plans.map(({ feature, plan }) => ({
      feature: feature.name,
      waves: plan.waves.map((wave) => wave.map(({ seq }) => seq)),
      wave_numbers: plan.numbers,
      critical_path: plan.criticalPath.map(({ seq }) => seq),
      conflicts: plan.conflicts,
      cannot_run: plan.left.map(({ seq }) => seq),
    }));
    return say(io, options, { features: views }, text);
  },
});
