import { countText } from '../../core/words.ts';
import {
  type Feature,
  type FeatureProblem,
  featureProblemText,
  onlyErrors,
  type Subtask,
  titleOf,
} from '../files/feature.ts';
import { plainLine, shortTitle, subtaskLine } from '../files/feature-text.ts';
import { findSubtask } from '../files/subtask-reference.ts';
import { criticalPath, planWaves, SubtaskGraph } from './subtask-graph.ts';
import { validateFeature } from './validate.ts';

/** How what is open of a feature could be run. */
export interface FeaturePlan {
  /** Each can run at once when those before it are done. */
  readonly waves: readonly (readonly Subtask[])[];
  /** The number of each wave among those of the whole feature: it stays the same while the feature goes on. */
  readonly numbers: readonly number[];
  /** The longest chain of what waits for each other: no run has fewer steps. */
  readonly criticalPath: readonly Subtask[];
  /** What speaks against running it, overlapping deliverables among it. */
  readonly conflicts: readonly FeatureProblem[];
  /** Blocked, and what waits for something blocked, missing or in a circle: it is in no wave. */
  readonly left: readonly Subtask[];
}

export function planFeature(feature: Feature): FeaturePlan {
  const possible = new Set(startable(feature));
  const all = planWaves(feature.subtasks).map((wave, place) => ({
    number: place + 1,
    open: wave.filter((subtask) => possible.has(subtask)),
  }));
  const some = all.filter(({ open }) => open.length > 0);
  const waves = some.map(({ open }) => open);
  const planned = new Set(waves.flat());
  return {
    waves,
    numbers: some.map(({ number }) => number),
    criticalPath: criticalPath([...planned]),
    conflicts: onlyErrors(validateFeature(feature)),
    left: feature.subtasks.filter((subtask) => subtask.status !== 'completed' && !planned.has(subtask)),
  };
}

/** What is open and waits for nothing that will not come. */
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
  const lines = [`[${feature.name}] ${shortTitle(titleOf(feature))}`];
  const count = waves.flat().length;
  if (count === 0) lines.push('  Nothing is left that could be run.');
  else lines.push(`  ${countText(count, 'subtask')} in ${countText(waves.length, 'wave')}`);
  for (const [place, wave] of waves.entries()) {
    lines.push('', `  Wave ${numbers[place]}: ${wave.map(({ seq }) => seq).join(', ')}`);
    for (const subtask of wave) {
      const alone = subtask.parallel ? '' : ' alone';
      lines.push(`    ${plainLine(subtask)}${alone}`);
    }
  }
  if (criticalPath.length > 0) {
    const path = criticalPath.map(({ seq }) => seq).join(' → ');
    lines.push('', `  Critical path (${countText(criticalPath.length, 'step')}): ${path}`);
  }
  if (left.length > 0) {
    lines.push('', '  Cannot be run:', ...left.map((subtask) => `    ${plainLine(subtask)}`));
  }
  if (conflicts.length > 0) {
    lines.push('', '  Conflicts:', ...conflicts.map((one) => `    ${featureProblemText(one)}`));
  }
  return lines.join('\n');
}

/** What a subtask waits for, and what those wait for. What was shown is not shown again, so that a circle ends. */
export function dependencyTree(feature: Feature, reference: string): string {
  const root = findSubtask(feature, reference);
  const map = new SubtaskGraph(feature.subtasks);
  const lines = [subtaskLine(root)];
  const expanded = new Set([root.seq]);
  const visit = (dependsOn: readonly string[], indent: string, path: readonly string[]): void => {
    for (const [place, seq] of dependsOn.entries()) {
      const isLast = place === dependsOn.length - 1;
      const subtask = map.get(seq);
      const label = subtask === undefined ? `! ${seq} - there is no such subtask` : subtaskLine(subtask);
      const isAgain = expanded.has(seq);
      const hasMore = subtask !== undefined && subtask.dependsOn.length > 0;
      const note = path.includes(seq) ? ' (a cycle)' : isAgain && hasMore ? ' (see above)' : '';
      lines.push(`${indent}${isLast ? '└── ' : '├── '}${label}${note}`);
      if (isAgain || subtask === undefined) continue;
      expanded.add(seq);
      visit(subtask.dependsOn, `${indent}${isLast ? '    ' : '│   '}`, [...path, seq]);
    }
  };
  visit(root.dependsOn, '', [root.seq]);
  return lines.join('\n');
}
