import { countText } from '../../core/words.ts';
import {
  type Feature,
  type FeatureProblem,
  featureProblemText,
  onlyErrors,
  type Subtask,
} from '../files/feature.ts';
import { featureHeading, plainLine, subtaskLine } from '../files/feature-text.ts';
import { findSubtask } from '../files/subtask-reference.ts';
import { planWaves, SubtaskGraph } from './subtask-graph.ts';
import { validateFeature } from './validate.ts';

/** How the open subtasks of a feature could run. */
interface FeaturePlan {
  /** Each wave can run at once when the previous ones are done. */
  readonly waves: readonly (readonly Subtask[])[];
  /** The number of each wave within the whole feature, which does not change as work progresses. */
  readonly numbers: readonly number[];
  /** The longest chain of dependencies. */
  readonly criticalPath: readonly Subtask[];
  /** Errors that prevent a run, including overlapping deliverables. */
  readonly conflicts: readonly FeatureProblem[];
  /** Subtasks in no wave: blocked, or waiting for something blocked, missing or in a cycle. */
  readonly left: readonly Subtask[];
}

export function planFeature(feature: Feature): FeaturePlan {
  const possible = new Set(startable(feature));
  const all = planWaves(feature.subtasks).map((wave, index) => ({
    number: index + 1,
    open: wave.filter((subtask) => possible.has(subtask)),
  }));
  const some = all.filter(({ open }) => open.length > 0);
  const waves = some.map(({ open }) => open);
  const planned = new Set(waves.flat());
  return {
    waves,
    numbers: some.map(({ number }) => number),
    criticalPath: new SubtaskGraph([...planned]).criticalPath(),
    conflicts: onlyErrors(validateFeature(feature)),
    left: feature.subtasks.filter((subtask) => subtask.status !== 'completed' && !planned.has(subtask)),
  };
}

/** Open subtasks whose dependencies are done or can be done. */
function startable({ subtasks }: Feature): Subtask[] {
  const done = new Set(subtasks.filter(({ status }) => status === 'completed').map(({ seq }) => seq));
  let open = subtasks.filter(({ status }) => status === 'pending' || status === 'in_progress');
  for (let before = -1; before !== open.length; ) {
    before = open.length;
    const coming = new Set(open.map(({ seq }) => seq));
    open = open.filter(({ dependsOn }) => dependsOn.every((seq) => done.has(seq) || coming.has(seq)));
  }
  return open;
}

export function featurePlanText(
  feature: Feature,
  { waves, numbers, criticalPath, conflicts, left }: FeaturePlan,
): string {
  const count = waves.flat().length;
  const lines = [
    featureHeading(feature),
    count === 0
      ? '  No subtasks left to run.'
      : `  ${countText(count, 'subtask')} in ${countText(waves.length, 'wave')}`,
  ];
  for (const [index, wave] of waves.entries()) {
    const number = numbers[index]!;
    // Batches keep their numbers, so a gap needs an explanation.
    const gap = number - (numbers[index - 1] ?? 0) - 1;
    if (gap > 0) lines.push('', `  ${gapText(number - gap, number - 1)}: completed or cannot run`);
    lines.push('', `  Wave ${number}: ${wave.map(({ seq }) => seq).join(', ')}`);
    for (const subtask of wave)
      lines.push(`    ${plainLine(subtask)}${subtask.parallel ? '' : ' (runs alone)'}`);
  }
  if (criticalPath.length > 0) {
    const path = criticalPath.map(({ seq }) => seq).join(' → ');
    lines.push('', `  Critical path (${countText(criticalPath.length, 'step')}): ${path}`);
  }
  if (left.length > 0) lines.push('', '  Cannot run:', ...left.map((subtask) => `    ${plainLine(subtask)}`));
  if (conflicts.length > 0)
    lines.push('', '  Conflicts:', ...conflicts.map((one) => `    ${featureProblemText(one)}`));
  return lines.join('\n');
}

function gapText(first: number, last: number): string {
  return first === last ? `Wave ${first}` : `Waves ${first} to ${last}`;
}

/** The dependencies of a subtask as a tree. Each subtask is expanded once, so cycles end. */
export function dependencyTree(feature: Feature, reference: string): string {
  const root = findSubtask(feature, reference);
  const graph = new SubtaskGraph(feature.subtasks);
  const lines = [subtaskLine(root)];
  const expanded = new Set([root.seq]);
  const visit = (dependsOn: readonly string[], indent: string, path: readonly string[]): void => {
    for (const [index, seq] of dependsOn.entries()) {
      const isLast = index === dependsOn.length - 1;
      const subtask = graph.get(seq);
      const label = subtask === undefined ? `! ${seq} - no such subtask` : subtaskLine(subtask);
      const isAgain = expanded.has(seq);
      const hasMore = subtask !== undefined && subtask.dependsOn.length > 0;
      const note = path.includes(seq) ? ' (cycle)' : isAgain && hasMore ? ' (see above)' : '';
      lines.push(`${indent}${isLast ? '└── ' : '├── '}${label}${note}`);
      if (isAgain || subtask === undefined) continue;
      expanded.add(seq);
      visit(subtask.dependsOn, `${indent}${isLast ? '    ' : '│   '}`, [...path, seq]);
    }
  };
  visit(root.dependsOn, '', [root.seq]);
  return lines.join('\n');
}
