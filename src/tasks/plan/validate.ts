import { nearest } from '../../core/nearest.ts';
import { show } from '../../core/numbers.ts';
import { type Feature, type FeatureProblem, progressOf, type Subtask } from '../files/feature.ts';
import { TASK_FILE } from '../files/parse-feature.ts';
import { effectiveStatus, type Moment, openDependencies } from '../files/readiness.ts';
import { findSubtask, isSeq } from '../files/subtask-reference.ts';
import { findOverlap, OverlapIndex, projectPathProblem } from './deliverables.ts';
import { SubtaskGraph } from './subtask-graph.ts';

/** More overlaps are usually the same mistake again. */
const MAX_OVERLAPS = 100;

/** Collects the problems of one feature. */
class Problems {
  readonly found: FeatureProblem[] = [];

  constructor(private readonly feature: string) {}

  error(code: FeatureProblem['code'], file: string, text: string, remedy: string): void {
    this.found.push({ code, severity: 'error', file: `${this.feature}/${file}`, text, remedy });
  }

  warning(code: FeatureProblem['code'], file: string, text: string, remedy: string): void {
    this.found.push({ code, severity: 'warning', file: `${this.feature}/${file}`, text, remedy });
  }

  overlap(a: Subtask, b: Subtask): void {
    const overlap = findOverlap(a, b);
    if (overlap === undefined) return;
    const [first, second] = [overlap.first, overlap.second].map((path) => JSON.stringify(path));
    const text = `its deliverable ${second} may be the same file as ${first} of subtask ${a.seq}.`;
    const remedy = `Remove it from one of them, or make ${b.seq} depend on ${a.seq}.`;
    this.error('overlap', b.file, text, remedy);
  }
}

/** Everything that is wrong with a feature. */
export function validateFeature(feature: Feature): FeatureProblem[] {
  const problems = new Problems(feature.name);
  checkTaskFile(feature, problems);
  checkSequences(feature, problems);
  checkDependencies(feature, problems);
  checkDeliverables(feature, problems);
  checkVerifiable(feature, problems);
  checkOverlaps(feature, problems);
  return [...feature.problems, ...problems.found];
}

/** What prevents these subtasks from running at the same time. */
export function validateBatch(
  feature: Feature,
  references: readonly string[],
  moment: Moment,
): FeatureProblem[] {
  const batch = [...new Set(references.map((reference) => findSubtask(feature, reference)))];
  const members = new Set(batch.map(({ seq }) => seq));
  const graph = new SubtaskGraph(feature.subtasks);
  const problems = new Problems(feature.name);
  for (const subtask of batch) {
    const { seq, file } = subtask;
    const status = effectiveStatus(subtask, moment);
    if (status !== 'pending')
      problems.error('not-open', file, `subtask ${seq} is ${status}.`, 'Leave it out of the batch.');
    for (const other of batch.filter((one) => graph.waitsFor(seq, one.seq))) {
      const text = `subtask ${seq} waits for ${other.seq}, which is in the same batch.`;
      problems.error('inside-batch', file, text, 'Run it in a later batch.');
    }
    const open = openDependencies(feature, subtask).filter((one) => !members.has(one));
    if (open.length > 0) {
      const text = `subtask ${seq} depends on ${open.join(', ')}, which ${areOrIs(open)} not completed.`;
      problems.error('open-dependency', file, text, 'Complete that first.');
    }
    if (!subtask.parallel && batch.length > 1) {
      const text = `subtask ${seq} does not have "parallel": true, but the batch has ${batch.length} subtasks.`;
      problems.error('not-parallel', file, text, 'Run it alone.');
    }
  }
  const index = new OverlapIndex();
  for (const subtask of batch) {
    for (const other of index.overlapping(subtask)) problems.overlap(other, subtask);
    index.add(subtask);
  }
  return problems.found;
}

/** Compares `task.json` with the subtasks. */
function checkTaskFile(feature: Feature, problems: Problems): void {
  const { name, task } = feature;
  if (task === undefined) {
    if (feature.problems.every(({ file }) => file !== `${name}/${TASK_FILE}`)) {
      const remedy = 'Create it with "id", "name" and "status".';
      problems.error('missing-task-file', TASK_FILE, 'the file is missing.', remedy);
    }
    return;
  }
  const { done, total } = progressOf(feature);
  if (total === 0)
    problems.error('no-subtasks', TASK_FILE, 'the feature has no subtasks.', 'Add a subtask_01.json.');
  const counters = [
    ['subtask_count', task.subtaskCount, total],
    ['completed_count', task.completedCount, done],
  ] as const;
  for (const [key, stated, real] of counters) {
    if (stated === undefined || stated === real) continue;
    const remedy = `Set it to ${real}; Volley's next change to the feature does so too.`;
    problems.error('count', TASK_FILE, `"${key}" is ${stated}, but should be ${real}.`, remedy);
  }
  if (done < total && (task.status === 'completed' || task.status === 'archived')) {
    const text = `"status" is "${task.status}", but ${total - done} of ${total} subtasks are open.`;
    problems.error('status', TASK_FILE, text, 'Set it to "active".');
  }
}

/** Every subtask needs a unique number that matches its file name. */
function checkSequences({ subtasks }: Feature, problems: Problems): void {
  const bySeq = new Map<string, Subtask>();
  for (const subtask of subtasks) {
    const { seq, file } = subtask;
    const other = bySeq.get(seq);
    if (other === undefined) bySeq.set(seq, subtask);
    else
      problems.error(
        'duplicate-sequence',
        file,
        `${other.file} is also subtask ${seq}.`,
        'Renumber one of them.',
      );
    if (!isSeq(seq))
      problems.error(
        'sequence',
        file,
        'the file name has no number.',
        'Rename it, for example to subtask_01.json.',
      );
  }
  for (const { seq, statedSeq, file } of subtasks) {
    if (statedSeq === undefined || statedSeq === seq) continue;
    const other = bySeq.get(statedSeq);
    const text = `"seq" is "${statedSeq}", but the file name says ${seq}`;
    if (other === undefined)
      problems.error('sequence', file, `${text}.`, `Set it to "${seq}", or rename the file.`);
    else
      problems.error(
        'duplicate-sequence',
        file,
        `${text}, and ${other.file} is ${statedSeq}.`,
        `Set it to "${seq}".`,
      );
  }
}

function checkDependencies(feature: Feature, problems: Problems): void {
  const { subtasks, broken } = feature;
  const fileOf = new Map([...broken, ...subtasks].map(({ seq, file }) => [seq, file]));
  for (const subtask of subtasks) {
    const { file, dependsOn, status } = subtask;
    for (const seq of dependsOn) {
      if (fileOf.has(seq)) continue;
      const close = nearest(seq, fileOf.keys());
      const remedy = `Remove it${close === undefined ? '' : `, or change it to "${close}" if that is meant`}.`;
      const text = `"depends_on" has ${JSON.stringify(seq)}, but there is no such subtask.`;
      problems.error('missing-dependency', file, text, remedy);
    }
    const open = status === 'completed' ? openDependencies(feature, subtask) : [];
    if (open.length > 0) {
      const text = `it is completed, but it depends on ${open.join(', ')}, which ${areOrIs(open)} not.`;
      problems.warning('order', file, text, 'Check that its work is still valid.');
    }
  }
  for (const path of new SubtaskGraph(subtasks).cycles()) {
    const text =
      path.length === 2
        ? `subtask ${path[0]} depends on itself.`
        : `the dependencies form a cycle: ${path.join(' → ')} (each waits for the next).`;
    problems.error('cycle', fileOf.get(path[0]!)!, text, 'Remove one of the dependencies.');
  }
}

function checkDeliverables({ subtasks }: Feature, problems: Problems): void {
  for (const { file, deliverables } of subtasks) {
    for (const deliverable of deliverables) {
      const what = projectPathProblem(deliverable);
      if (what === undefined) continue;
      const text = `the deliverable ${show(deliverable)} ${what}.`;
      problems.error('deliverable', file, text, 'Use a path or glob relative to the project folder.');
    }
  }
}

/** Warns of subtasks that nobody can verify, or nobody did. */
function checkVerifiable({ subtasks }: Feature, problems: Problems): void {
  for (const { file, status, forced, deliverables, verification, acceptanceCriteria } of subtasks) {
    if (status === 'completed') {
      if (forced === undefined) continue;
      const text = `it was completed with --force despite: ${forced.join('; ') || 'unknown problems'}.`;
      problems.warning('forced', file, text, 'Check its work.');
    } else if (deliverables.length + verification.length === 0) {
      const isVague = acceptanceCriteria.length === 0;
      const text = `it has no deliverables or checks${isVague ? ', and no acceptance criteria' : ''}, so its work cannot be verified.`;
      problems.warning('unverifiable', file, text, 'Add "deliverables" or "verification".');
    }
  }
}

/** Open subtasks that could run at the same time and might write the same files. */
function checkOverlaps({ subtasks }: Feature, problems: Problems): void {
  const open = subtasks.filter(({ status, parallel }) => status !== 'completed' && parallel);
  const graph = new SubtaskGraph(subtasks);
  const last = problems.found.length + MAX_OVERLAPS;
  const index = new OverlapIndex();
  for (const subtask of open) {
    for (const other of index.overlapping(subtask)) {
      if (problems.found.length === last) return;
      if (!graph.areOrdered(subtask.seq, other.seq)) problems.overlap(other, subtask);
    }
    index.add(subtask);
  }
}

function areOrIs(list: readonly unknown[]): string {
  return list.length === 1 ? 'is' : 'are';
}
