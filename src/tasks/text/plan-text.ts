import { countText } from '../../core/words.ts';
import { type Feature, titleOf } from '../feature.ts';
import type { FeaturePlan } from '../plan.ts';
import { problemText } from '../problem.ts';
import { plainLine, shortTitle } from './lines.ts';

export function planText(
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
    lines.push('', '  Conflicts:', ...conflicts.map((one) => `    ${problemText(one)}`));
  }
  return lines.join('\n');
}
