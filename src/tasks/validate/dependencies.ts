import { nearest } from '../../core/nearest.ts';
import type { Feature } from '../feature.ts';
import { cyclesOf } from '../graph/cycles.ts';
import type { Problem } from '../problem.ts';
import { openDependencies } from '../state/readiness.ts';

/** Dependencies lead to subtasks that are there, and never round in a circle. */
export function dependencyProblems(feature: Feature): Problem[] {
  const { name, subtasks, broken } = feature;
  const fileOf = new Map([...broken, ...subtasks].map(({ seq, file }) => [seq, `${name}/${file}`]));
  const found: Problem[] = [];
  for (const subtask of subtasks) {
    const file = `${name}/${subtask.file}`;
    for (const seq of subtask.dependsOn) {
      if (fileOf.has(seq)) continue;
      const close = nearest(seq, fileOf.keys());
      found.push({
        code: 'missing-dependency',
        severity: 'error',
        file,
        text: `"depends_on" has ${JSON.stringify(seq)}, and there is no such subtask.`,
        remedy: `Take it out${close === undefined ? '' : `, or write "${close}" if that is meant`}.`,
      });
    }
    const open = subtask.status === 'completed' ? openDependencies(feature, subtask) : [];
    if (open.length > 0) {
      found.push({
        code: 'order',
        severity: 'warning',
        file,
        text: `it is completed, but it depends on ${open.join(', ')}, which ${open.length === 1 ? 'is' : 'are'} not.`,
        remedy: 'See whether its work still holds.',
      });
    }
  }
  for (const path of cyclesOf(subtasks)) {
    found.push({
      code: 'cycle',
      severity: 'error',
      file: fileOf.get(path[0]!)!,
      text:
        path.length === 2
          ? `subtask ${path[0]} depends on itself.`
          : `the dependencies form a cycle: ${path.join(' → ')} (each waits for the next).`,
      remedy: path.length === 2 ? 'Take that out.' : 'Take one of them out.',
    });
  }
  return found;
}
