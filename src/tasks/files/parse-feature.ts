import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { oneLine } from '../../batch/text.ts';
import { isDeeperThan } from '../../core/depth.ts';
import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import type { ProcessIdentity } from '../../store/process-identity.ts';
import { codeOf } from '../../tools/builtin/refusal.ts';
import {
  type BrokenFile,
  type Check,
  type Claim,
  FEATURE_STATUSES,
  type Feature,
  type FeatureProblem,
  type FileReference,
  type ProblemCode,
  SUBTASK_STATUSES,
  type Subtask,
  type TaskHead,
} from './feature.ts';
import { readRegularFile } from './regular-file.ts';
import { compareSeqs, normalizeSeq, seqFromFile, seqFromReference } from './subtask-reference.ts';

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
  const names = (await readdir(folder)).filter(
    (name) => name === TASK_FILE || seqFromFile(name) !== undefined,
  );
  if (names.length > MAX_SUBTASKS) {
    const message = `${folder} has ${names.length} files: ${MAX_SUBTASKS} at most. Make several features of it.`;
    throw new VolleyError('INVALID_FEATURE', message, { folder });
  }
  const texts = new Map<string, string | Error>();
  for (let from = 0; from < names.length; from += AT_ONCE) {
    const some = names.slice(from, from + AT_ONCE);
    const read = await Promise.all(
      some.map((name) => readRegularFile(join(folder, name), LIMITS).catch(asError)),
    );
    for (const [place, name] of some.entries()) texts.set(name, read[place]!);
  }
  return texts;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** What the texts say. */
export function parseFeature(name: string, texts: FeatureTexts): Feature {
  const problems: FeatureProblem[] = [];
  const subtasks: Subtask[] = [];
  const broken: BrokenFile[] = [];
  let task: TaskHead | undefined;
  for (const [file, text] of texts) {
    const data = parseObject(`${name}/${file}`, text, problems);
    if (file === TASK_FILE) task = data && parseTask(name, data, problems);
    else if (data === undefined) broken.push({ file, seq: seqFromFile(file)! });
    else subtasks.push(parseSubtask(name, file, data, problems));
  }
  const bySeq = (a: BrokenFile, b: BrokenFile) => compareSeqs(a.seq, b.seq) || (a.file < b.file ? -1 : 1);
  problems.sort((a, b) => Number(a.file > b.file) - Number(a.file < b.file));
  return { name, task, subtasks: subtasks.sort(bySeq), broken: broken.sort(bySeq), problems };
}

function parseObject(
  file: string,
  text: string | Error,
  problems: FeatureProblem[],
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

export const TASK_FILE = 'task.json';

/** Reads a feature's own file from what it holds, and notes what is wrong with it. */
export function parseTask(
  feature: string,
  data: Readonly<Record<string, unknown>>,
  problems: FeatureProblem[],
): TaskHead {
  const fields = new Fields(data, `${feature}/${TASK_FILE}`, problems);
  const id = fields.text('id');
  if (id !== undefined && id !== feature) {
    fields.note('id', `"id" is ${JSON.stringify(id)}, the folder is ${feature}.`, `Write "${feature}".`);
  }
  return {
    id,
    name: fields.text('name') ?? feature,
    status: fields.word('status', FEATURE_STATUSES, 'active', 'blocked'),
    objective: fields.text('objective'),
    contextFiles: fields.references('context_files'),
    referenceFiles: fields.references('reference_files'),
    exitCriteria: fields.texts('exit_criteria'),
    subtaskCount: fields.count('subtask_count'),
    completedCount: fields.count('completed_count'),
    completedAt: fields.time('completed_at'),
  };
}

/** Reads a subtask from what its file holds, and notes what is wrong with it. */
export function parseSubtask(
  feature: string,
  file: string,
  data: Readonly<Record<string, unknown>>,
  problems: FeatureProblem[],
): Subtask {
  const fields = new Fields(data, `${feature}/${file}`, problems);
  // The name of the file decides: no two files have the same.
  const seq = seqFromFile(file)!;
  const stated = fields.text('seq');
  const id = fields.text('id') ?? `${feature}-${seq}`;
  if (id !== `${feature}-${seq}`)
    fields.note('id', `"id" is ${JSON.stringify(id)}.`, `Write "${feature}-${seq}".`);
  return {
    file,
    seq,
    statedSeq: stated === undefined ? undefined : normalizeSeq(stated),
    id,
    title: fields.text('title') ?? id,
    description: fields.text('description'),
    status: fields.word('status', SUBTASK_STATUSES, 'pending', 'blocked'),
    dependsOn: [...new Set(fields.texts('depends_on').map((one) => seqFromReference(one, feature)))],
    parallel: fields.flag('parallel') ?? false,
    contextFiles: fields.references('context_files'),
    referenceFiles: fields.references('reference_files'),
    suggestedAgent: fields.text('suggested_agent'),
    priority: fields.text('priority'),
    acceptanceCriteria: fields.texts('acceptance_criteria'),
    deliverables: fields.texts('deliverables'),
    verification: parseChecks(fields),
    agentId: fields.text('agent_id'),
    startedAt: fields.time('started_at'),
    completedAt: fields.time('completed_at'),
    completionSummary: fields.text('completion_summary'),
    blockedReason: fields.text('blocked_reason'),
    claim: readClaim(fields),
    marked: readMark(fields.raw('marked')),
  };
}

function readMark(value: unknown): Subtask['marked'] {
  const { summary } = (value ?? {}) as Record<string, unknown>;
  return typeof summary === 'string' ? { summary } : undefined;
}

function readClaim(fields: Fields): Claim | undefined {
  const value = fields.raw('claim');
  if (value === undefined) return undefined;
  const { agent, heartbeat_at, lease_until, process } = value as Record<string, unknown>;
  const [heartbeatAt, leaseUntil] = [heartbeat_at, lease_until].map((time) => Date.parse(String(time)));
  if (typeof agent !== 'string' || Number.isNaN(heartbeatAt) || Number.isNaN(leaseUntil)) {
    fields.note(
      'wrong-type',
      '"claim" lacks an agent or the times of its lease.',
      'Take it out, or release the subtask.',
    );
    return undefined;
  }
  return { agent, heartbeatAt: heartbeatAt!, leaseUntil: leaseUntil!, process: readProcess(process) };
}

function readProcess(value: unknown): ProcessIdentity | undefined {
  const { pid, host, boot, namespace, start } = (value ?? {}) as Record<string, unknown>;
  if (typeof pid !== 'number' || typeof host !== 'string' || typeof boot !== 'string') return undefined;
  const textIfAny = (part: unknown) => (typeof part === 'string' ? part : undefined);
  return { pid, host, boot, namespace: textIfAny(namespace), start: textIfAny(start) };
}

const DEFAULT_TIMEOUT_SECONDS = 300;
const LONGEST_TIMEOUT_SECONDS = 24 * 60 * 60;
const FORMS =
  '{"type":"command","command":"npm test","expect_exit":0,"expect_text":"passed","timeout_seconds":300}, {"type":"file_exists","path":"a.ts"} or {"type":"file_contains","path":"a.ts","text":"export"}';

/** The entries of `verification`. A text alone is a command that must succeed. */
export function parseChecks(fields: Fields): Check[] {
  return fields.items('verification', 'a list of checks').flatMap((item, place) => {
    const check = typeof item === 'string' ? command({ command: item }) : parseCheck(item);
    if (check !== undefined) return [check];
    fields.note('verification', `entry ${place + 1} of "verification" is no check.`, `Valid are ${FORMS}.`);
    return [];
  });
}

function parseCheck(item: unknown): Check | undefined {
  const entry = (typeof item === 'object' && item !== null ? item : {}) as Record<string, unknown>;
  const { type, path, text } = entry;
  if (type === 'command') return command(entry);
  if (typeof path !== 'string' || path === '') return undefined;
  if (type === 'file_exists') return { type, path };
  return type === 'file_contains' && typeof text === 'string' ? { type, path, text } : undefined;
}

function command(entry: Record<string, unknown>): Check | undefined {
  const { command: line, expect_exit: exit = 0, expect_text: text, timeout_seconds: seconds } = entry;
  const timeout = seconds ?? DEFAULT_TIMEOUT_SECONDS;
  const isRight =
    typeof line === 'string' &&
    line.trim() !== '' &&
    Number.isInteger(exit) &&
    (text === undefined || typeof text === 'string') &&
    typeof timeout === 'number' &&
    timeout > 0 &&
    timeout <= LONGEST_TIMEOUT_SECONDS;
  if (!isRight) return undefined;
  return {
    type: 'command',
    command: line,
    expectExit: exit as number,
    expectText: text as string | undefined,
    timeoutMs: timeout * 1000,
  };
}

const LONGEST_SHOWN = 60;

/** Reads the fields of a file that others write: what is missing is left out, what is wrong is noted and left out. */
export class Fields {
  constructor(
    private readonly data: Readonly<Record<string, unknown>>,
    private readonly file: string,
    private readonly problems: FeatureProblem[],
  ) {}

  note(code: ProblemCode, text: string, remedy: string): void {
    this.problems.push({ code, severity: 'error', file: this.file, text, remedy });
  }

  has(key: string): boolean {
    return this.raw(key) !== undefined;
  }

  /** Missing and `null` are the same. */
  raw(key: string): unknown {
    return (Object.hasOwn(this.data, key) ? this.data[key] : undefined) ?? undefined;
  }

  text(key: string): string | undefined {
    const value = this.raw(key);
    if (value === undefined || typeof value === 'string') return value;
    if (typeof value === 'number') return String(value);
    this.wrong(key, 'a text');
    return undefined;
  }

  flag(key: string): boolean | undefined {
    const value = this.raw(key);
    if (value === undefined || typeof value === 'boolean') return value;
    this.wrong(key, 'true or false');
    return undefined;
  }

  count(key: string): number | undefined {
    const value = this.raw(key);
    if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value;
    this.wrong(key, 'a number');
    return undefined;
  }

  time(key: string): number | undefined {
    const value = this.text(key);
    if (value === undefined || value === '') return undefined;
    const ms = Date.parse(value);
    if (!Number.isNaN(ms)) return ms;
    this.wrong(key, 'a time such as "2026-02-03T10:00:00Z"');
    return undefined;
  }

  /** A list of texts; a single text is a list of one. */
  texts(key: string): string[] {
    return this.items(key, 'a list of texts').flatMap((item) => {
      if (typeof item === 'string' || typeof item === 'number') return [String(item)];
      this.wrong(key, 'a list of texts');
      return [];
    });
  }

  items(key: string, what: string): readonly unknown[] {
    const value = this.raw(key);
    if (value === undefined) return [];
    if (Array.isArray(value)) return value;
    if (typeof value === 'string' || typeof value === 'number') return [value];
    this.wrong(key, what);
    return [];
  }

  references(key: string): FileReference[] {
    const what = 'a list of paths, or of objects with "path", "lines" and "reason"';
    return this.items(key, what).flatMap((item) => {
      if (typeof item === 'string') return [{ path: item, lines: undefined, reason: undefined }];
      const { path, lines, reason } = (item ?? {}) as Record<string, unknown>;
      if (typeof path === 'string') return [{ path, lines: textIfAny(lines), reason: textIfAny(reason) }];
      this.wrong(key, what);
      return [];
    });
  }

  /** One of some words; what it counts as if it is another. */
  word<W extends string>(key: string, words: readonly W[], missing: W, wrong: W): W {
    const value = this.text(key);
    if (value === undefined) return missing;
    if ((words as readonly string[]).includes(value)) return value as W;
    const close = nearest(value, words);
    this.note(
      'status',
      `"${key}" is ${shown(value)}, which counts as "${wrong}" until it is mended.`,
      `Write ${close === undefined ? `one of ${words.join(', ')}` : `"${close}" (one of ${words.join(', ')})`}.`,
    );
    return wrong;
  }

  private wrong(key: string, what: string): void {
    const text = `"${key}" is ${shown(this.raw(key))}.`;
    // A list with several wrong items is one problem.
    if (this.problems.some((one) => one.file === this.file && one.text === text)) return;
    this.note('wrong-type', text, `Make it ${what}.`);
  }
}

function textIfAny(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function shown(value: unknown): string {
  return oneLine(JSON.stringify(value) ?? String(value), LONGEST_SHOWN);
}
