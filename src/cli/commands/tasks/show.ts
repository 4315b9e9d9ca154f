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
  featureHeading,
  featureStatusText,
  featureView,
  plainLine,
  shortTitle,
  subtaskLine,
  subtaskView,
} from '../../../tasks/files/feature-text.ts';
import { openDependencies, readySubtasks, waitingSubtasks } from '../../../tasks/files/readiness.ts';
import { findSubtask } from '../../../tasks/files/subtask-reference.ts';
import { dependencyTree, featurePlanText, planFeature } from '../../../tasks/plan/plan.ts';
import { SubtaskGraph, selectConcurrent } from '../../../tasks/plan/subtask-graph.ts';
import { validateBatch, validateFeature } from '../../../tasks/plan/validate.ts';
import { featureUsage } from '../../../tasks/run/report-file.ts';
import { usedText } from '../../../tasks/run/report-text.ts';
import type { FinishedTask } from '../../drawing/task-graph.ts';
import { EXIT } from '../../output/io.ts';
import { type CommonOptions, defineCommand } from '../../program/command.ts';
import { listOption } from '../../program/options.ts';
import {
  FEATURE_ARGUMENT,
  FEATURES_ARGUMENT,
  openFolder,
  SEQ_ARGUMENT,
  say,
  showFeatures,
} from './support.ts';

interface GraphOptions extends CommonOptions {
  readonly output?: string;
}

interface ValidateOptions extends CommonOptions {
  readonly subtasks?: readonly string[];
}

export const featureStatusCommand = defineCommand({
  examples: ['volley tasks status', 'volley tasks status auth-system --json'],
  declare: (program) => program.argument(...FEATURES_ARGUMENT),
  run: async ([name], options, io) => {
    const folder = openFolder(io);
    const names = name === undefined ? await folder.names() : [name];
    const known = await Promise.all(
      names.map(async (one) => [one, await featureUsage(folder, one)] as const),
    );
    const usages = new Map(known);
    return showFeatures(name, options, io, (feature, moment) => {
      const usage = usages.get(feature.name);
      return {
        text: `${featureStatusText(feature, moment)}${usedText(usage)}`,
        view: { ...featureView(feature, moment), usage: usage ?? null },
      };
    });
  },
});

export const nextCommand = defineCommand({
  examples: ['volley tasks next', 'volley tasks next auth-system'],
  declare: (program) => program.argument(...FEATURES_ARGUMENT),
  run: ([name], options, io) =>
    showFeatures(name, options, io, (feature, moment) => {
      const ready = readySubtasks(feature, moment);
      const lines = ready.map((one) => `  ${plainLine(one)}${one.parallel ? ' (parallel)' : ''}`);
      return {
        text: listText(feature, 'Ready to start:', lines, 'Nothing is ready to start.'),
        view: { feature: feature.name, ready: ready.map((subtask) => subtaskView(subtask, moment)) },
      };
    }),
});

export const parallelCommand = defineCommand({
  examples: ['volley tasks parallel auth-system'],
  declare: (program) => program.argument(...FEATURES_ARGUMENT),
  run: ([name], options, io) =>
    showFeatures(name, options, io, (feature, moment) => {
      const ready = readySubtasks(feature, moment).filter(({ parallel }) => parallel);
      const batch = selectConcurrent(ready);
      const later = ready.filter((subtask) => !batch.includes(subtask)).map(({ seq }) => seq);
      const lines = batch.map((one) => `  ${plainLine(one)}`);
      if (later.length > 0)
        lines.push(`  Not at the same time: ${later.join(', ')} (overlapping deliverables)`);
      return {
        text: listText(feature, 'Can run at the same time:', lines, 'No parallel subtask is ready to start.'),
        view: {
          feature: feature.name,
          parallel: batch.map((subtask) => subtaskView(subtask, moment)),
          conflicting: later,
        },
      };
    }),
});

export const blockedCommand = defineCommand({
  examples: ['volley tasks blocked', 'volley tasks blocked auth-system'],
  declare: (program) => program.argument(...FEATURES_ARGUMENT),
  run: ([name], options, io) =>
    showFeatures(name, options, io, (feature, moment) => {
      const waiting = waitingSubtasks(feature, moment);
      const lines = waiting.map(({ subtask, reason, waitsFor }) => {
        const why = [
          ...(reason === undefined ? [] : [shortTitle(reason)]),
          ...(waitsFor.length > 0 ? [`waits for ${waitsFor.join(', ')}`] : []),
        ];
        return `  ${subtaskLine(subtask)} ${why.join('; ')}`;
      });
      return {
        text: listText(feature, 'Blocked or waiting:', lines, 'Nothing is blocked or waiting.'),
        view: {
          feature: feature.name,
          blocked: waiting.map(({ subtask, reason, waitsFor }) => ({
            ...subtaskView(subtask, moment),
            reason: reason ?? null,
            waits_for: waitsFor,
          })),
        },
      };
    }),
});

export const featurePlanCommand = defineCommand({
  examples: ['volley tasks plan auth-system', 'volley tasks plan --json'],
  declare: (program) => program.argument(...FEATURES_ARGUMENT),
  run: ([name], options, io) =>
    showFeatures(name, options, io, (feature) => {
      const plan = planFeature(feature);
      const seqs = (subtasks: readonly Subtask[]) => subtasks.map(({ seq }) => seq);
      return {
        text: featurePlanText(feature, plan),
        view: {
          feature: feature.name,
          waves: plan.waves.map(seqs),
          wave_numbers: plan.numbers,
          critical_path: seqs(plan.criticalPath),
          conflicts: plan.conflicts,
          cannot_run: seqs(plan.left),
        },
      };
    }),
});

export const validateCommand = defineCommand<ValidateOptions>({
  examples: ['volley tasks validate', 'volley tasks validate auth-system --subtasks 01,02,03'],
  declare: (program) =>
    program
      .argument(...FEATURES_ARGUMENT)
      .option('--subtasks <list>', 'also check whether these can start at the same time', listOption),
  run: async ([name], options, io) => {
    const { subtasks } = options;
    if (subtasks !== undefined && name === undefined)
      throw new VolleyError('INVALID_VALUE', '--subtasks requires a feature.');
    return showFeatures(
      name,
      options,
      io,
      (feature, moment) => {
        const batch = subtasks === undefined ? [] : validateBatch(feature, subtasks, moment);
        const problems = unique([...validateFeature(feature), ...batch]);
        const lines = problems.flatMap(({ severity, file, text, remedy }) => [
          `  ${severity === 'error' ? '✗' : '!'} ${file}: ${text}`,
          `    ${remedy}`,
        ]);
        return {
          text: listText(feature, `${countText(problems.length, 'problem')}:`, lines, 'No problems found.'),
          view: { feature: feature.name, problems },
        };
      },
      (views) => (views.every(({ problems }) => onlyErrors(problems).length === 0) ? EXIT.ok : EXIT.usage),
    );
  },
});

/** The batch may repeat problems of the whole feature. */
function unique(problems: readonly FeatureProblem[]): FeatureProblem[] {
  return [...new Map(problems.map((problem) => [`${problem.file}\0${problem.text}`, problem])).values()];
}

function listText({ name }: Feature, heading: string, lines: readonly string[], none: string): string {
  return lines.length === 0 ? `[${name}] ${none}` : [`[${name}] ${heading}`, ...lines].join('\n');
}

export const depsCommand = defineCommand({
  examples: ['volley tasks deps auth-system 04'],
  declare: (program) => program.argument(...FEATURE_ARGUMENT).argument(...SEQ_ARGUMENT),
  run: async ([name, reference], options, io) => {
    const feature = await openFolder(io).read(name!);
    const subtask = findSubtask(feature, reference!);
    const graph = new SubtaskGraph(feature.subtasks);
    const data = {
      feature: feature.name,
      seq: subtask.seq,
      depends_on: subtask.dependsOn,
      open: openDependencies(feature, subtask),
      /** Including indirect dependencies. */
      all: feature.subtasks.map(({ seq }) => seq).filter((seq) => graph.waitsFor(subtask.seq, seq)),
    };
    return say(io, options, data, dependencyTree(feature, subtask.seq));
  },
});

const DRAWN_AS: Readonly<Record<SubtaskStatus, TaskStatus>> = {
  completed: 'completed',
  in_progress: 'running',
  pending: 'open',
  blocked: 'open',
};

export const graphCommand = defineCommand<GraphOptions>({
  examples: ['volley tasks graph auth-system', 'volley tasks graph auth-system --output auth.svg'],
  declare: (program) =>
    program.argument(...FEATURE_ARGUMENT).option('--output <file>', 'write a picture: .svg, .mmd or .dot'),
  run: async ([name], options, io) => {
    const { output } = options;
    const draw =
      output === undefined ? undefined : (await import('../../drawing/pictures.ts')).graphDrawer(output);
    const feature = await openFolder(io).read(name!);
    const edges = feature.subtasks.flatMap(({ seq, dependsOn }) =>
      dependsOn.map((from) => ({ from, to: seq })),
    );
    if (draw !== undefined)
      await writeFile(resolve(io.cwd, output!), await draw(titleOf(feature), feature.subtasks.map(drawn)));
    const data = { feature: feature.name, edges, ...(output !== undefined && { written: output }) };
    return say(io, options, data, output === undefined ? graphText(feature) : `Wrote ${output}`);
  },
});

function graphText(feature: Feature): string {
  const lines = feature.subtasks.map((subtask) => {
    const { dependsOn } = subtask;
    return `  ${subtaskLine(subtask)}${dependsOn.length > 0 ? ` ← ${dependsOn.join(', ')}` : ''}`;
  });
  return [featureHeading(feature), ...lines].join('\n');
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
