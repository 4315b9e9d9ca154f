import type { Feature, Subtask } from '../feature.ts';
import { DependencyMap } from '../graph/dependencies.ts';
import { overlapOf } from '../overlap/deliverables.ts';
import type { Problem } from '../problem.ts';

/** More are the same mistake again. */
const MAX_FOUND = 100;

/** Open subtasks that could run at the same time and would write to the same files. */
export function overlapProblems({ name, subtasks }: Feature): Problem[] {
  const open = subtasks.filter(({ status, parallel }) => status !== 'completed' && parallel);
  const map = new DependencyMap(subtasks);
  const found: Problem[] = [];
  for (const [place, subtask] of open.entries()) {
    for (const other of open.slice(place + 1)) {
      if (found.length === MAX_FOUND) return found;
      const problem = overlapProblem(name, subtask, other);
      if (problem === undefined) continue;
      if (!map.waitsFor(subtask.seq, other.seq) && !map.waitsFor(other.seq, subtask.seq)) found.push(problem);
    }
  }
  return found;
}

export function overlapProblem(name: string, a: Subtask, b: Subtask): Problem | undefined {
  const overlap = overlapOf(a, b);
  if (overlap === undefined) return undefined;
  const { first, second } = overlap;
  return {
    code: 'overlap',
    severity: 'error',
    file: `${name}/${b.file}`,
    text: `its deliverable ${JSON.stringify(second)} may be the same file as ${JSON.stringify(first)} of subtask ${a.seq}.`,
    remedy: `Let one deliver it, or let ${b.seq} depend on ${a.seq}.`,
  };
}
