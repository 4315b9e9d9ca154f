import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeeperThan } from '../../core/depth.ts';
import { VolleyError } from '../../core/errors.ts';
import { codeOf } from '../../tools/builtin/refusal.ts';
import type { BrokenFile, Feature, Subtask, TaskHead } from '../feature.ts';
import type { Problem } from '../problem.ts';
import { compareSeqs, seqOfFile } from '../seq.ts';
import { parseSubtask } from './parse-subtask.ts';
import { parseTask, TASK_FILE } from './parse-task.ts';
import { readPlain } from './read-plain.ts';

/** People may share files of tasks by links. */
const LIMITS = { maxBytes: 1024 * 1024, followLinks: true };
const MAX_SUBTASKS = 10_000;
const DEEPEST = 100;
/** Files that are open at once. */
const AT_ONCE = 64;

/** The texts of a feature's files, by their names; a problem where one cannot be read. */
export type FeatureTexts = ReadonlyMap<string, string | Error>;

/** Reads all files of a feature's folder. One that cannot be read stands in the way of no other. */
export async function readTexts(folder: string): Promise<FeatureTexts> {
  const names = (await readdir(folder)).filter((name) => name === TASK_FILE || seqOfFile(name) !== undefined);
  if (names.length > MAX_SUBTASKS) {
    const message = `${folder} has ${names.length} files: ${MAX_SUBTASKS} at most. Make several features of it.`;
    throw new VolleyError('INVALID_FEATURE', message, { folder });
  }
  const texts = new Map<string, string | Error>();
  for (let from = 0; from < names.length; from += AT_ONCE) {
    const some = names.slice(from, from + AT_ONCE);
    const read = await Promise.all(some.map((name) => readPlain(join(folder, name), LIMITS).catch(asError)));
    for (const [place, name] of some.entries()) texts.set(name, read[place]!);
  }
  return texts;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** What the texts say. */
export function parseFeature(name: string, texts: FeatureTexts): Feature {
  const problems: Problem[] = [];
  const subtasks: Subtask[] = [];
  const broken: BrokenFile[] = [];
  let task: TaskHead | undefined;
  for (const [file, text] of texts) {
    const data = parseObject(`${name}/${file}`, text, problems);
    if (file === TASK_FILE) task = data && parseTask(name, data, problems);
    else if (data === undefined) broken.push({ file, seq: seqOfFile(file)! });
    else subtasks.push(parseSubtask(name, file, data, problems));
  }
  const bySeq = (a: BrokenFile, b: BrokenFile) => compareSeqs(a.seq, b.seq) || (a.file < b.file ? -1 : 1);
  problems.sort((a, b) => Number(a.file > b.file) - Number(a.file < b.file));
  return { name, task, subtasks: subtasks.sort(bySeq), broken: broken.sort(bySeq), problems };
}

function parseObject(
  file: string,
  text: string | Error,
  problems: Problem[],
): Record<string, unknown> | undefined {
  const note = (what: string, remedy: string) => {
    problems.push({ code: 'unreadable', severity: 'error', file, text: what, remedy });
    return undefined;
  };
  if (text instanceof Error) {
    const code = codeOf(text);
    return note(
      `it cannot be read (${code ?? text.message}).`,
      'See to the file; the others are read without it.',
    );
  }
  try {
    const data: unknown = JSON.parse(withoutMark(text));
    if (isDeeperThan(data, DEEPEST))
      return note(
        `it is nested deeper than ${DEEPEST} levels.`,
        'Make it flatter; the others are read without it.',
      );
    if (typeof data === 'object' && data !== null && !Array.isArray(data))
      return data as Record<string, unknown>;
    return note('it holds no object.', 'Write one: { … }.');
  } catch (error) {
    return note(
      `it is not valid JSON (${(error as Error).message}).`,
      'Correct it; the others are read without it.',
    );
  }
}

/** Some editors write a mark before the text. */
function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}
