import { reasonText } from '../core/words.ts';
import type { LeaseHolder } from '../store/records.ts';
import { oneLine } from './text.ts';

/** A task in a line: `t3 "Analyze user_model.py" (code_analyzer_tool)`. */
export function taskText(task: {
  readonly id: string;
  readonly name: string;
  readonly function: string;
}): string {
  const isPlain = task.name === task.function || task.name === task.id;
  const name = isPlain ? '' : ` "${oneLine(task.name, 60)}"`;
  return `${task.id}${name} (${task.function})`;
}

export function holderText({ pid, host }: LeaseHolder): string {
  return `process ${pid} on ${host}`;
}

/** Why a run ended before its time, in a line. */
export function problemText(problem: unknown): string {
  return `The batch stopped before its end: ${oneLine(reasonText(problem), 500)} What was not finished can be started again.`;
}
