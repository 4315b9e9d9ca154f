import { posix } from 'node:path';
import { globProblem } from '../../core/glob.ts';
import { nearest } from '../../core/nearest.ts';
import { show } from '../../core/numbers.ts';
import { type Feature, type FeatureProblem, progressOf, type Subtask } from '../files/feature.ts';
import { TASK_FILE } from '../files/parse-feature.ts';
import { effectiveStatus, type Moment, openDependencies } from '../files/readiness.ts';
import { findSubtask, isSeq } from '../files/subtask-reference.ts';
import { findOverlap } from './deliverables.ts';
import { findCycles, SubtaskGraph } from './subtask-graph.ts';

/** Everything that is wrong with a feature. */
export function validateFeature(feature: Feature): FeatureProblem[] {
  return [
    ...feature.problems,
    ...countProblems(feature),
    ...sequenceProblems(feature),
    ...dependencyProblems(feature),
    ...deliverableProblems(feature),
    ...overlapProblems(feature),
  ];
}

/** What speaks against starting these subtasks at once. */
export function validateBatch(
  feature: Feature,
  references: readonly string[],
  moment: Moment,
): FeatureProblem[] {
  const batch = [...new Set(references.map((reference) => findSubtask(feature, reference)))];
  const map = new SubtaskGraph(feature.subtasks);
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
  map: SubtaskGraph,
  moment: Moment,
): FeatureProblem[] {
  const { seq, parallel } = subtask;
  const found: FeatureProblem[] = [];
  const error = (code: FeatureProblem['code'], text: string, remedy: string) =>
    found.push({ code, severity: 'error', file: `${feature.name}/${subtask.file}`, text, remedy });
  const status = effectiveStatus(subtask, moment);
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

/** What `task.json` says against what the subtasks say. */
export function countProblems(feature: Feature): FeatureProblem[] {
  const { name, task, problems } = feature;
  const file = `${name}/${TASK_FILE}`;
  const error = (code: FeatureProblem['code'], text: string, remedy: string): FeatureProblem => ({
    code,
    severity: 'error',
    file,
    text,
    remedy,
  });
  if (task === undefined) {
    const isBroken = problems.some((one) => one.file === file);
    return isBroken
      ? []
      : [error('missing-task-file', 'there is no such file.', 'Write one with "id", "name" and "status".')];
  }
  const { done, total } = progressOf(feature);
  const found: FeatureProblem[] = [];
  if (total === 0)
    found.push(error('no-subtasks', 'the feature has no subtasks.', 'Write a subtask_01.json beside it.'));
  const counters = [
    ['subtask_count', task.subtaskCount, total],
    ['completed_count', task.completedCount, done],
  ] as const;
  for (const [key, stated, real] of counters) {
    if (stated === undefined || stated === real) continue;
    found.push(
      error(
        'count',
        `"${key}" is ${stated}, but it is ${real}.`,
        `Write ${real}; any change by Volley mends it, too.`,
      ),
    );
  }
  if (done < total && (task.status === 'completed' || task.status === 'archived')) {
    found.push(
      error(
        'status',
        `"status" is "${task.status}", but ${total - done} of ${total} subtasks are open.`,
        'Write "active".',
      ),
    );
  }
  return found;
}

/** Every subtask has a number of its own, and says the same as its file's name. */
export function sequenceProblems({ name, subtasks }: Feature): FeatureProblem[] {
  const byName = new Map<string, Subtask>();
  const found: FeatureProblem[] = [];
  const error = (code: FeatureProblem['code'], { file }: Subtask, text: string, remedy: string) =>
    found.push({ code, severity: 'error', file: `${name}/${file}`, text, remedy });
  for (const subtask of subtasks) {
    const other = byName.get(subtask.seq);
    if (other !== undefined) {
      error(
        'duplicate-sequence',
        subtask,
        `${other.file} is subtask ${subtask.seq}, too.`,
        'Give one of them another number.',
      );
    } else byName.set(subtask.seq, subtask);
    if (!isSeq(subtask.seq)) {
      error('sequence', subtask, 'its name holds no number.', 'Name it such as subtask_01.json.');
    }
  }
  for (const subtask of subtasks) {
    const { seq, statedSeq } = subtask;
    if (statedSeq === undefined || statedSeq === seq) continue;
    const other = byName.get(statedSeq);
    const says = `"seq" is "${statedSeq}", its name says ${seq}`;
    if (other === undefined) error('sequence', subtask, `${says}.`, `Write "${seq}", or rename the file.`);
    else
      error(
        'duplicate-sequence',
        subtask,
        `${says}, and ${other.file} is ${statedSeq} already.`,
        `Write "${seq}".`,
      );
  }
  return found;
}

/** Dependencies lead to subtasks that are there, and never round in a circle. */
export function dependencyProblems(feature: Feature): FeatureProblem[] {
  const { name, subtasks, broken } = feature;
  const fileOf = new Map([...broken, ...subtasks].map(({ seq, file }) => [seq, `${name}/${file}`]));
  const found: FeatureProblem[] = [];
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
  for (const path of findCycles(subtasks)) {
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

/** Deliverables are paths within the project. */
export function deliverableProblems({ name, subtasks }: Feature): FeatureProblem[] {
  return subtasks.flatMap(({ file, deliverables }) =>
    deliverables.flatMap((deliverable) => {
      const what = projectPathProblem(deliverable);
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

export function projectPathProblem(path: string): string | undefined {
  if (path.trim() === '') return 'is empty';
  if (path.includes('\0')) return 'holds a NUL character';
  if (posix.isAbsolute(path) || /^[a-z]:[\\/]/i.test(path)) return 'is an absolute path';
  const problem = globProblem(path);
  if (problem !== undefined) return problem;
  return posix.normalize(path.replaceAll('\\', '/')).split('/')[0] === '..'
    ? 'leads outside the project'
    : undefined;
}

/** More are the same mistake again. */
const MAX_FOUND = 100;

/** Open subtasks that could run at the same time and would write to the same files. */
export function overlapProblems({ name, subtasks }: Feature): FeatureProblem[] {
  const open = subtasks.filter(({ status, parallel }) => status !== 'completed' && parallel);
  const map = new SubtaskGraph(subtasks);
  const found: FeatureProblem[] = [];
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

export function overlapProblem(name: string, a: Subtask, b: Subtask): FeatureProblem | undefined {
  const overlap = findOverlap(a, b);
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
