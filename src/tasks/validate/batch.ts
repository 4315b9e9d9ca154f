import type { Feature, Subtask } from '../feature.ts';
import { DependencyMap } from '../graph/dependencies.ts';
import { subtaskOf } from '../lookup.ts';
import type { Problem } from '../problem.ts';
import type { Moment } from '../state/moment.ts';
import { openDependencies, statusNow } from '../state/readiness.ts';
import { overlapProblem } from './overlaps.ts';

/** What speaks against starting these subtasks at once. */
export function validateBatch(feature: Feature, references: readonly string[], moment: Moment): Problem[] {
  const batch = [...new Set(references.map((reference) => subtaskOf(feature, reference)))];
  const map = new DependencyMap(feature.subtasks);
  const found = batch.flatMap((subtask) => memberProblems(feature, subtask, batch, map, moment));
  for (const [place, subtask] of batch.entries()) {
    for (const other of batch.slice(place + 1)) {
      const problem = overlapProblem(feature.name, subtask, other);
      if (problem !== undefined) found.push(problem);
    }
  }
  return found;
}

function memberProblems(
  feature: Feature,
  subtask: Subtask,
  batch: readonly Subtask[],
  map: DependencyMap,
  moment: Moment,
): Problem[] {
  const { seq, parallel } = subtask;
  const found: Problem[] = [];
  const error = (code: Problem['code'], text: string, remedy: string) =>
    found.push({ code, severity: 'error', file: `${feature.name}/${subtask.file}`, text, remedy });
  const status = statusNow(subtask, moment);
  if (status !== 'pending') error('not-open', `subtask ${seq} is ${status}.`, 'Leave it out of the batch.');
  for (const other of batch) {
    if (!map.waitsFor(seq, other.seq)) continue;
    error(
      'inside-batch',
      `subtask ${seq} waits for ${other.seq} of the same batch.`,
      'Put it into a later batch.',
    );
  }
  const members = new Set(batch.map((one) => one.seq));
  const open = openDependencies(feature, subtask).filter((one) => !members.has(one));
  if (open.length > 0) {
    error(
      'open-dependency',
      `subtask ${seq} depends on ${open.join(', ')}, which ${open.length === 1 ? 'is' : 'are'} not completed.`,
      'Complete that first.',
    );
  }
  if (!parallel && batch.length > 1) {
    error(
      'not-parallel',
      `subtask ${seq} has not "parallel": true, and the batch has ${batch.length} subtasks.`,
      'Run it in a batch of its own.',
    );
  }
  return found;
}
