import type { Feature } from '../feature.ts';
import { DependencyMap } from '../graph/dependencies.ts';
import { subtaskOf } from '../lookup.ts';
import { subtaskLine } from './lines.ts';

/** What a subtask waits for, and what those wait for. What was shown is not shown again, so that a circle ends. */
export function dependencyTree(feature: Feature, reference: string): string {
  const root = subtaskOf(feature, reference);
  const map = new DependencyMap(feature.subtasks);
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
