import { printableText } from '../core/printable-text.ts';
import { reasonText } from '../core/words.ts';

/** Puts untrusted text on one line and truncates it. */
export function oneLine(text: string, length: number): string {
  const begin = text.length > length ? text.slice(0, length + 1) : text;
  const plain = printableText(begin)
    .replace(/[\n\t]+/g, ' ')
    .trim();
  return text.length > length ? `${plain.slice(0, length)}…` : plain;
}

/** Joins lines, leaving out undefined ones. */
export function linesText(...lines: readonly (string | undefined | readonly string[])[]): string {
  return lines
    .flat()
    .filter((line) => line !== undefined)
    .join('\n');
}

/** ` on build-1`, if a worker of a cluster ran it or runs it. */
export function workerText({ worker }: { readonly worker?: string | undefined }): string {
  return worker === undefined ? '' : ` on ${worker}`;
}

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

/** Why a run ended early, on one line. */
export function runProblemText(problem: unknown): string {
  return `The batch ended early: ${oneLine(reasonText(problem), 500)} Start it again to run the remaining tasks.`;
}
