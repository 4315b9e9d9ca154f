import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { VolleyError } from '../../../core/errors.ts';
import { countText } from '../../../core/words.ts';
import type { TaskStatus } from '../../../store/records.ts';
import {
  type Feature,
  type FeatureProblem,
  onlyErrors,
  type Subtask,
  type SubtaskStatus,
  titleOf,
} from '../../../tasks/files/feature.ts';
import {
  featureStatusText,
  featureView,
  plainLine,
  shortTitle,
  subtaskLine,
  subtaskView,
} from '../../../tasks/files/feature-text.ts';
import {
  type Moment,
  openDependencies,
  readySubtasks,
  type Waiting,
  waitingSubtasks,
} from '../../../tasks/files/readiness.ts';
import { findSubtask } from '../../../tasks/files/subtask-reference.ts';
import { dependencyTree, featurePlanText, planFeature } from '../../../tasks/plan/plan.ts';
import { SubtaskGraph, selectConcurrent } from '../../../tasks/plan/subtask-graph.ts';
import { validateBatch, validateFeature } from '../../../tasks/plan/validate.ts';
import { type CommonOptions, defineCommand } from '../../command.ts';
import type { FinishedTask } from '../../drawing/finished-task.ts';
import { graphDrawerFor } from '../../drawing/graph-file.ts';
import { EXIT } from '../../io.ts';
import { listOption } from '../../options.ts';
import {
  FEATURE_ARGUMENT,
  FEATURES_ARGUMENT,
  featuresOf,
  openFolder,
  paragraphs,
  SEQ_ARGUMENT,
  say,
} from './support.ts';

export const featureStatusCommand = defineCommand({
  examples: ['volley tasks status', 'volley tasks status auth-system --json'],
  declare: (program) => program.argument(...FEATURES_ARGUMENT),
  run: async ([name], options, io) => {
    const folder = openFolder(io);
    const features = await featuresOf(folder, name);
    const moment = folder.moment();
    const text = paragraphs(
      features.map((feature) => featureStatusText(feature, moment)),
      folder,
    );
    return say(io, options, { features: features.map((feature) => featureView(feature, moment)) }, text);
  },
});

export const nextCommand = defineCommand({
  examples: ['volley tasks next', 'volley tasks next auth-system'],
  declare: (program) => program.argument(...FEATURES_ARGUMENT),
  run: async ([name], options, io) => {
    const folder = openFolder(io);
    const moment = folder.moment();
    const found = (await featuresOf(folder, name)).map((feature) => ({
      feature: feature.name,
      ready: readySubtasks(feature, moment),
    }));
    const texts = found.map(({ feature, ready }) => {
      if (ready.length === 0) return `[${feature}] Nothing can be started now.`;
      const lines = ready.map((one) => `  ${plainLine(one)}${one.parallel ? ' parallel' : ''}`);
      return [`[${feature}] Can be started:`, ...lines].join('\n');
    });
    const views = found.map(({ feature, ready }) => ({
      feature,
      ready: ready.map((subtask) => subtaskView(subtask, moment)),
    }));
    return say(io, options, { features: views }, paragraphs(texts, folder));
  },
});

export const parallelCommand = defineCommand({
  examples: ['volley tasks parallel auth-system'],
  declare: (program) => program.argument(...FEATURES_ARGUMENT),
  run: async ([name], options, io) => {
    const folder = openFolder(io);
    const moment = folder.moment();
    const found = (await featuresOf(folder, name)).map((feature) => batchOf(feature, moment));
    const texts = found.map(({ feature, batch, later }) => {
      if (batch.length === 0) return `[${feature}] Nothing can be started now that may run beside others.`;
      const left =
        later.length > 0
          ? [`  Not with them: ${later.map(({ seq }) => seq).join(', ')} (the same deliverables)`]
          : [];
      return [
        `[${feature}] Can run at the same time:`,
        ...batch.map((one) => `  ${plainLine(one)}`),
        ...left,
      ].join('\n');
    });
    const views = found.map(({ feature, batch, later }) => ({
      feature,
      parallel: batch.map((subtask) => subtaskView(subtask, moment)),
      conflicting: later.map(({ seq }) => seq),
    }));
    return say(io, options, { features: views }, paragraphs(texts, folder));
  },
});

/** Those that are ready, may run beside others, and share no deliverables; and those left out for the latter. */
function batchOf(feature: Feature, moment: Moment) {
  const ready = readySubtasks(feature, moment).filter(({ parallel }) => parallel);
  const batch = selectConcurrent(ready);
  return { feature: feature.name, batch, later: ready.filter((subtask) => !batch.includes(subtask)) };
}

export const blockedCommand = defineCommand({
  examples: ['volley tasks blocked', 'volley tasks blocked auth-system'],
  declare: (program) => program.argument(...FEATURES_ARGUMENT),
  run: async ([name], options, io) => {
    const folder = openFolder(io);
    const moment = folder.moment();
    const found = (await featuresOf(folder, name)).map((feature) => ({
      feature: feature.name,
      waiting: waitingSubtasks(feature, moment),
    }));
    const texts = found.map(({ feature, waiting }) =>
      waiting.length === 0
        ? `[${feature}] Nothing is held up.`
        : [`[${feature}] Held up:`, ...waiting.map((one) => `  ${lineOf(one)}`)].join('\n'),
    );
    const views = found.map(({ feature, waiting }) => ({
      feature,
      blocked: waiting.map(({ subtask, reason, waitsFor }) => ({
        ...subtaskView(subtask, moment),
        reason: reason ?? null,
        waits_for: waitsFor,
      })),
    }));
    return say(io, options, { features: views }, paragraphs(texts, folder));
  },
});

function lineOf({ subtask, reason, waitsFor }: Waiting): string {
  const waits = waitsFor.length > 0 ? ` waits for ${waitsFor.join(', ')}` : '';
  return `${subtaskLine(subtask)}${reason === undefined ? '' : ` ${shortTitle(reason)}`}${waits}`;
}

export const depsCommand = defineCommand({
  examples: ['volley tasks deps auth-system 04'],
  declare: (program) => program.argument(...FEATURE_ARGUMENT).argument(...SEQ_ARGUMENT),
  run: async ([name, reference], options, io) => {
    const feature = await openFolder(io).read(name!);
    const subtask = findSubtask(feature, reference!);
    const map = new SubtaskGraph(feature.subtasks);
    const data = {
      feature: feature.name,
      seq: subtask.seq,
      depends_on: subtask.dependsOn,
      open: openDependencies(feature, subtask),
      /** Also those that it waits for through others. */
      all: feature.subtasks.map(({ seq }) => seq).filter((seq) => map.waitsFor(subtask.seq, seq)),
    };
    return say(io, options, data, dependencyTree(feature, subtask.seq));
  },
});

export const planCommand = defineCommand({
  examples: ['volley tasks plan auth-system', 'volley tasks plan --json'],
  declare: (program) => program.argument(...FEATURES_ARGUMENT),
  run: async ([name], options, io) => {
    const folder = openFolder(io);
    const plans = (await featuresOf(folder, name)).map((feature) => ({
      feature,
      plan: planFeature(feature),
    }));
    const text = paragraphs(
      plans.map(({ feature, plan }) => featurePlanText(feature, plan)),
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

interface GraphOptions extends CommonOptions {
  readonly output?: string;
}

const DRAWN_AS: Readonly<Record<SubtaskStatus, TaskStatus>> = {
  completed: 'completed',
  in_progress: 'running',
  pending: 'open',
  blocked: 'open',
};

export const graphCommand = defineCommand<GraphOptions>({
  examples: ['volley tasks graph auth-system', 'volley tasks graph auth-system --output auth.svg'],
  declare: (program) =>
    program.argument(...FEATURE_ARGUMENT).option('--output <file>', 'a picture, as .svg, .mmd or .dot'),
  run: async ([name], options, io) => {
    const { output } = options;
    const draw = output === undefined ? undefined : graphDrawerFor(output);
    const feature = await openFolder(io).read(name!);
    const edges = feature.subtasks.flatMap(({ seq, dependsOn }) =>
      dependsOn.map((from) => ({ from, to: seq })),
    );
    if (draw !== undefined) {
      await writeFile(resolve(io.cwd, output!), draw(titleOf(feature), feature.subtasks.map(drawn)));
    }
    const data = { feature: feature.name, edges, ...(output !== undefined && { written: output }) };
    return say(io, options, data, output === undefined ? graphText(feature) : `Wrote ${output}`);
  },
});

function graphText(feature: Feature): string {
  const lines = feature.subtasks.map((subtask) => {
    const { dependsOn } = subtask;
    return `  ${subtaskLine(subtask)}${dependsOn.length > 0 ? ` ← ${dependsOn.join(', ')}` : ''}`;
  });
  return [`[${feature.name}] ${shortTitle(titleOf(feature))}`, ...lines].join('\n');
}

function drawn(subtask: Subtask): FinishedTask {
  const { seq, title, status, suggestedAgent = '', startedAt, completedAt, dependsOn } = subtask;
  return {
    id: seq,
    name: `${seq} ${title}`,
    function: status === 'blocked' ? `blocked ${suggestedAgent}`.trim() : suggestedAgent,
    status: DRAWN_AS[status],
    startMs: startedAt,
    endMs: completedAt,
    ...(startedAt !== undefined &&
      completedAt !== undefined && { durationMs: Math.max(0, completedAt - startedAt) }),
    attempts: 1,
    dependsOn,
  };
}

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
    const isRight = found.every(({ problems }) => onlyErrors(problems).length === 0);
    const text = paragraphs(
      found.map(({ feature, problems }) => problemsText(feature, problems)),
      folder,
    );
    return say(io, options, { features: found }, text, isRight ? EXIT.ok : EXIT.usage);
  },
});

function problemsText(feature: string, problems: readonly FeatureProblem[]): string {
  if (problems.length === 0) return `[${feature}] Nothing is wrong.`;
  const lines = problems.flatMap(({ severity, file, text, remedy }) => [
    `  ${severity === 'error' ? '✗' : '!'} ${file}: ${text}`,
    `    ${remedy}`,
  ]);
  return [`[${feature}] ${countText(problems.length, 'problem')}:`, ...lines].join('\n');
}

/** A batch may have what the whole has, too. */
function unique(problems: readonly FeatureProblem[]): FeatureProblem[] {
  return [...new Map(problems.map((problem) => [`${problem.file}\0${problem.text}`, problem])).values()];
}
