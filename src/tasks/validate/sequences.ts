import type { Feature, Subtask } from '../feature.ts';
import type { Problem } from '../problem.ts';
import { isSeq } from '../seq.ts';

/** Every subtask has a number of its own, and says the same as its file's name. */
export function sequenceProblems({ name, subtasks }: Feature): Problem[] {
  const byName = new Map<string, Subtask>();
  const found: Problem[] = [];
  const error = (code: Problem['code'], { file }: Subtask, text: string, remedy: string) =>
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
