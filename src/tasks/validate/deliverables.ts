import { posix } from 'node:path';
import { globProblem } from '../../core/glob.ts';
import { show } from '../../core/numbers.ts';
import type { Feature } from '../feature.ts';
import type { Problem } from '../problem.ts';

/** Deliverables are paths within the project. */
export function deliverableProblems({ name, subtasks }: Feature): Problem[] {
  return subtasks.flatMap(({ file, deliverables }) =>
    deliverables.flatMap((deliverable) => {
      const what = problemOf(deliverable);
      if (what === undefined) return [];
      return [
        {
          code: 'deliverable',
          severity: 'error',
          file: `${name}/${file}`,
          text: `the deliverable ${show(deliverable)} ${what}.`,
          remedy: 'Write a path or glob relative to the folder of the project.',
        } as const,
      ];
    }),
  );
}

export function problemOf(path: string): string | undefined {
  if (path.trim() === '') return 'is empty';
  if (path.includes('\0')) return 'holds a NUL character';
  if (posix.isAbsolute(path) || /^[a-z]:[\\/]/i.test(path)) return 'is an absolute path';
  const problem = globProblem(path);
  if (problem !== undefined) return problem;
  return posix.normalize(path.replaceAll('\\', '/')).split('/')[0] === '..'
    ? 'leads outside the project'
    : undefined;
}
