import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { oneLine } from '../../batch/text.ts';
import { readRegularFile } from '../../config/regular-file.ts';
import { isDeeperThan } from '../../core/depth.ts';
import { VolleyError } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { isObject } from '../../core/values.ts';
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
  type Rejection,
  type Review,
  SUBTASK_STATUSES,
  type Subtask,
  type TaskHead,
} from './feature.ts';
import { compareSeqs, normalizeSeq, seqFromFile, seqFromReference } from './subtask-reference.ts';

export const TASK_FILE = 'task.json';

/** Links are followed: people may share task files that way. */
const LIMITS = { maxBytes: 1024 * 1024, followLinks: true };
const MAX_SUBTASKS = 10_000;
const MAX_DEPTH = 100;
const MAX_OPEN_FILES = 64;
const MAX_SHOWN_LENGTH = 60;
const DEFAULT_TIMEOUT_SECONDS = 300;
const MAX_TIMEOUT_SECONDS = 24 * 60 * 60;
const CHECK_FORMS =
  '{"type":"command","command":"npm test","expect_exit":0,"expect_text":"passed","timeout_seconds":300}, {"type":"file_exists","path":"a.ts"} or {"type":"file_contains","path":"a.ts","text":"export"}';

type JsonObject = Readonly<Record<string, unknown>>;

/** The texts of a feature's files by name; an error where a file cannot be read. */
export type FeatureTexts = ReadonlyMap<string, string | Error>;

/** Reads all files of a feature's folder. An unreadable file does not affect the others. */
export async function readTexts(folder: string): Promise<FeatureTexts> {
  const names = (await readdir(folder)).filter(isTaskFile);
  if (names.length > MAX_SUBTASKS) {
    const message = `${folder} has ${names.length} files; the maximum is ${MAX_SUBTASKS}. Split it into several features.`;
    throw new VolleyError('INVALID_FEATURE', message, { folder });
  }
  const read = (name: string) => readFeatureFile(join(folder, name));
  const texts = new Map<string, string | Error>();
  for (let from = 0; from < names.length; from += MAX_OPEN_FILES) {
    const some = names.slice(from, from + MAX_OPEN_FILES);
    const found = await Promise.all(some.map(read));
    for (const [index, name] of some.entries()) texts.set(name, found[index]!);
  }
  return texts;
}

export function isTaskFile(name: string): boolean {
  return name === TASK_FILE || seqFromFile(name) !== undefined;
}

export async function readFeatureFile(path: string): Promise<string | Error> {
  return readRegularFile(path, LIMITS).catch((error) =>
    error instanceof Error ? error : new Error(String(error)),
  );
}

export function parseFeature(name: string, texts: FeatureTexts): Feature {
  return new FeatureParser(name).parse(texts);
}

/** A parsed file. */
interface ParsedFile {
  readonly text: string | Error;
  readonly task?: TaskHead;
  readonly subtask?: Subtask;
  readonly broken?: BrokenFile;
  readonly problems: readonly FeatureProblem[];
}

/** Parses a feature repeatedly. Only files whose text changed are parsed again. */
export class FeatureParser {
  private readonly parsed = new Map<string, ParsedFile>();
  private last: Feature | undefined;

  constructor(private readonly name: string) {}

  parse(texts: FeatureTexts): Feature {
    const changed: [before: ParsedFile | undefined, now: ParsedFile][] = [];
    for (const [file, text] of texts) {
      const before = this.parsed.get(file);
      if (before?.text === text) continue;
      const now = parseFile(this.name, file, text);
      this.parsed.set(file, now);
      changed.push([before, now]);
    }
    if (this.parsed.size > texts.size)
      for (const file of [...this.parsed.keys()]) if (!texts.has(file)) this.parsed.delete(file);
    const count = (this.last?.subtasks.length ?? 0) + Number(this.last?.task !== undefined);
    // The usual case: some subtasks changed, and nothing else.
    const isSimple = this.last?.problems.length === 0 && count === texts.size && changed.every(isPlainChange);
    this.last = isSimple ? this.updated(this.last!, changed) : this.assembled();
    return this.last;
  }

  private updated(last: Feature, changed: readonly [unknown, ParsedFile][]): Feature {
    if (changed.length === 0) return last;
    const subtasks = [...last.subtasks];
    let { task } = last;
    for (const [, now] of changed) {
      task = now.task ?? task;
      const index = subtasks.findIndex(({ file }) => file === now.subtask?.file);
      if (now.subtask !== undefined) subtasks[index] = now.subtask;
    }
    return { ...last, task, subtasks };
  }

  private assembled(): Feature {
    const files = [...this.parsed.keys()].sort(compareFiles);
    const found = files.map((file) => this.parsed.get(file)!);
    const problems = found.flatMap((one) => one.problems);
    return {
      name: this.name,
      task: found.find(({ task }) => task !== undefined)?.task,
      subtasks: found.flatMap(({ subtask }) => subtask ?? []),
      broken: found.flatMap(({ broken }) => broken ?? []),
      problems: problems.sort((a, b) => Number(a.file > b.file) - Number(a.file < b.file)),
    };
  }
}

/** Whether a file was and is right, so that it has the same place. */
function isPlainChange([before, now]: readonly [ParsedFile | undefined, ParsedFile]): boolean {
  const kind = (one: ParsedFile | undefined) => (one?.task && 'task') ?? (one?.subtask && 'subtask');
  return now.problems.length === 0 && kind(now) !== undefined && kind(now) === kind(before);
}

function parseFile(feature: string, file: string, text: string | Error): ParsedFile {
  const problems: FeatureProblem[] = [];
  const data = parseObject(`${feature}/${file}`, text, problems);
  if (file === TASK_FILE) {
    const task = data && parseTask(feature, data, problems);
    return { text, problems, ...(task && { task }) };
  }
  if (data === undefined) return { text, problems, broken: { file, seq: seqFromFile(file)! } };
  return { text, problems, subtask: parseSubtask(feature, file, data, problems) };
}

/** By number; `task.json` has none and comes first. */
function compareFiles(a: string, b: string): number {
  const [first, second] = [a, b].map((file) => seqFromFile(file));
  if (first === undefined || second === undefined)
    return Number(first !== undefined) - Number(second !== undefined);
  return compareSeqs(first, second) || (a < b ? -1 : 1);
}

function parseObject(file: string, text: string | Error, problems: FeatureProblem[]): JsonObject | undefined {
  const note = (what: string, remedy: string) => {
    problems.push({ code: 'unreadable', severity: 'error', file, text: what, remedy });
    return undefined;
  };
  if (text instanceof Error)
    return note(`cannot be read (${codeOf(text) ?? text.message}).`, 'Check the file and its permissions.');
  try {
    // Some editors write a byte order mark.
    const data: unknown = JSON.parse(text.replace(/^\ufeff/, ''));
    if (isDeeperThan(data, MAX_DEPTH))
      return note(`is nested deeper than ${MAX_DEPTH} levels.`, 'Make it flatter.');
    if (isObject(data)) return data as JsonObject;
    return note('is not a JSON object.', 'Write one: { … }.');
  } catch (error) {
    return note(`is not valid JSON (${(error as Error).message}).`, 'Fix the syntax.');
  }
}

function parseTask(feature: string, data: JsonObject, problems: FeatureProblem[]): TaskHead {
  const fields = new Fields(data, `${feature}/${TASK_FILE}`, problems);
  const id = fields.string('id');
  if (id !== undefined && id !== feature)
    fields.note(
      'id',
      `"id" is ${JSON.stringify(id)}, but the folder is ${feature}.`,
      `Set it to "${feature}".`,
    );
  return {
    id,
    name: fields.string('name') ?? feature,
    status: fields.word('status', FEATURE_STATUSES, 'active', 'blocked'),
    objective: fields.string('objective'),
    contextFiles: fields.references('context_files'),
    referenceFiles: fields.references('reference_files'),
    exitCriteria: fields.strings('exit_criteria'),
    subtaskCount: fields.number('subtask_count'),
    completedCount: fields.number('completed_count'),
    completedAt: fields.time('completed_at'),
  };
}

function parseSubtask(feature: string, file: string, data: JsonObject, problems: FeatureProblem[]): Subtask {
  const fields = new Fields(data, `${feature}/${file}`, problems);
  // The file name decides, since no two files can share one.
  const seq = seqFromFile(file)!;
  const stated = fields.string('seq');
  const id = fields.string('id') ?? `${feature}-${seq}`;
  if (id !== `${feature}-${seq}`)
    fields.note('id', `"id" is ${JSON.stringify(id)}.`, `Set it to "${feature}-${seq}".`);
  return {
    file,
    seq,
    statedSeq: stated === undefined ? undefined : normalizeSeq(stated),
    id,
    title: fields.string('title') ?? id,
    description: fields.string('description'),
    status: fields.word('status', SUBTASK_STATUSES, 'pending', 'blocked'),
    unknownStatus: unknownStatusIn(fields),
    dependsOn: [...new Set(fields.strings('depends_on').map((one) => seqFromReference(one, feature)))],
    parallel: fields.boolean('parallel') ?? false,
    contextFiles: fields.references('context_files'),
    referenceFiles: fields.references('reference_files'),
    suggestedAgent: fields.string('suggested_agent'),
    priority: fields.string('priority'),
    acceptanceCriteria: fields.strings('acceptance_criteria'),
    deliverables: fields.strings('deliverables'),
    verification: parseChecks(fields),
    agentId: fields.string('agent_id'),
    startedAt: fields.time('started_at'),
    completedAt: fields.time('completed_at'),
    completionSummary: fields.string('completion_summary'),
    blockedReason: fields.string('blocked_reason'),
    claim: parseClaim(fields),
    marked: parseMark(fields.raw('marked')),
    // Anything else ends the review.
    review: fields.raw('status') === 'in_progress' ? parseReview(fields) : undefined,
    rejection: parseRejection(fields),
    forced: parseForced(fields.raw('forced')),
  };
}

function unknownStatusIn(fields: Fields): string | undefined {
  const status = fields.string('status');
  return status === undefined || (SUBTASK_STATUSES as readonly string[]).includes(status)
    ? undefined
    : status;
}

function parseForced(value: unknown): Subtask['forced'] {
  if (value === undefined) return undefined;
  const { in_spite_of: problems } = value as JsonObject;
  return Array.isArray(problems) ? problems.filter((one) => typeof one === 'string') : [];
}

function parseMark(value: unknown): Subtask['marked'] {
  const { summary } = (value ?? {}) as JsonObject;
  return typeof summary === 'string' ? { summary } : undefined;
}

const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

/** Undefined if it is not as Volley wrote it. */
function parseUnmerged({ at, commit, base, branch }: JsonObject) {
  const time = Date.parse(String(at));
  const isCommit = (one: unknown): one is string => typeof one === 'string' && COMMIT.test(one);
  if (Number.isNaN(time) || !isCommit(commit) || !isCommit(base) || typeof branch !== 'string')
    return undefined;
  return { at: time, commit, base, branch };
}

function parseReview(fields: Fields): Review | undefined {
  const value = (fields.raw('review') ?? {}) as JsonObject;
  const work = parseUnmerged(value);
  const { agent, attempt, summary, passed, into, approved_at: approved } = value;
  if (work === undefined || typeof agent !== 'string' || typeof summary !== 'string') return undefined;
  return {
    ...work,
    agent,
    attempt: typeof attempt === 'number' ? attempt : 0,
    summary,
    passed: typeof passed === 'number' ? passed : 0,
    into: typeof into === 'string' ? into : undefined,
    approvedAt: typeof approved === 'string' ? Date.parse(approved) || undefined : undefined,
  };
}

function parseRejection(fields: Fields): Rejection | undefined {
  const value = (fields.raw('rejected') ?? {}) as JsonObject;
  const work = parseUnmerged(value);
  const { why, by } = value;
  if (work === undefined || typeof why !== 'string') return undefined;
  return { ...work, why, by: by === 'merge' ? 'merge' : 'person' };
}

function parseClaim(fields: Fields): Claim | undefined {
  const value = fields.raw('claim');
  if (value === undefined) return undefined;
  const { agent, heartbeat_at, lease_until, process } = value as JsonObject;
  const [heartbeatAt, leaseUntil] = [heartbeat_at, lease_until].map((time) => Date.parse(String(time)));
  if (typeof agent !== 'string' || Number.isNaN(heartbeatAt) || Number.isNaN(leaseUntil)) {
    const remedy = 'Remove it, or release the subtask.';
    fields.note('wrong-type', '"claim" lacks an agent or the times of its lease.', remedy);
    return undefined;
  }
  return { agent, heartbeatAt: heartbeatAt!, leaseUntil: leaseUntil!, process: parseProcess(process) };
}

function parseProcess(value: unknown): ProcessIdentity | undefined {
  const { pid, host, boot, namespace, start } = (value ?? {}) as JsonObject;
  if (typeof pid !== 'number' || typeof host !== 'string' || typeof boot !== 'string') return undefined;
  const stringIfAny = (part: unknown) => (typeof part === 'string' ? part : undefined);
  return { pid, host, boot, namespace: stringIfAny(namespace), start: stringIfAny(start) };
}

/** The entries of `verification`. A string is a command that must succeed. */
function parseChecks(fields: Fields): Check[] {
  return fields.items('verification', 'a list of checks').flatMap((item, index) => {
    const check = typeof item === 'string' ? parseCommand({ command: item }) : parseCheck(item);
    if (check !== undefined) return [check];
    fields.note('verification', `entry ${index + 1} of "verification" is invalid.`, `Use ${CHECK_FORMS}.`);
    return [];
  });
}

function parseCheck(item: unknown): Check | undefined {
  const entry = (typeof item === 'object' && item !== null ? item : {}) as JsonObject;
  const { type, path, text } = entry;
  if (type === 'command') return parseCommand(entry);
  if (typeof path !== 'string' || path === '') return undefined;
  if (type === 'file_exists') return { type, path };
  return type === 'file_contains' && typeof text === 'string' ? { type, path, text } : undefined;
}

function parseCommand(entry: JsonObject): Check | undefined {
  const { command, expect_exit: expectExit = 0, expect_text: expectText } = entry;
  const timeout = entry['timeout_seconds'] ?? DEFAULT_TIMEOUT_SECONDS;
  if (typeof command !== 'string' || command.trim() === '') return undefined;
  if (typeof expectExit !== 'number' || !Number.isInteger(expectExit)) return undefined;
  if (expectText !== undefined && typeof expectText !== 'string') return undefined;
  if (typeof timeout !== 'number' || !(timeout > 0 && timeout <= MAX_TIMEOUT_SECONDS)) return undefined;
  return { type: 'command', command, expectExit, expectText, timeoutMs: timeout * 1000 };
}

/** Reads the fields of a hand-written file. Missing values are undefined; wrong ones are noted and left out. */
class Fields {
  constructor(
    private readonly data: JsonObject,
    private readonly file: string,
    private readonly problems: FeatureProblem[],
  ) {}

  note(code: ProblemCode, text: string, remedy: string): void {
    this.problems.push({ code, severity: 'error', file: this.file, text, remedy });
  }

  /** `null` counts as missing. */
  raw(key: string): unknown {
    return (Object.hasOwn(this.data, key) ? this.data[key] : undefined) ?? undefined;
  }

  string(key: string): string | undefined {
    const value = this.raw(key);
    if (value === undefined || typeof value === 'string') return value;
    return typeof value === 'number' ? String(value) : this.wrong(key, 'a string');
  }

  boolean(key: string): boolean | undefined {
    const value = this.raw(key);
    return value === undefined || typeof value === 'boolean' ? value : this.wrong(key, 'true or false');
  }

  number(key: string): number | undefined {
    const value = this.raw(key);
    if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value;
    return this.wrong(key, 'a number');
  }

  time(key: string): number | undefined {
    const value = this.string(key);
    if (value === undefined || value === '') return undefined;
    const ms = Date.parse(value);
    return Number.isNaN(ms) ? this.wrong(key, 'a time such as "2026-02-03T10:00:00Z"') : ms;
  }

  /** A list of strings; a single string is a list of one. */
  strings(key: string): string[] {
    const what = 'a list of strings';
    return this.items(key, what).flatMap(
      (item) => stringOrNumber(item) ?? this.wrong(key, what) ?? ([] as string[]),
    );
  }

  items(key: string, what: string): readonly unknown[] {
    const value = this.raw(key);
    if (Array.isArray(value)) return value;
    if (typeof value === 'string' || typeof value === 'number') return [value];
    if (value !== undefined) this.wrong(key, what);
    return [];
  }

  references(key: string): FileReference[] {
    const what = 'a list of paths, or of objects with "path", "lines" and "reason"';
    return this.items(key, what).flatMap((item) => {
      if (typeof item === 'string') return [{ path: item, lines: undefined, reason: undefined }];
      const { path, lines, reason } = (item ?? {}) as JsonObject;
      if (typeof path === 'string')
        return [{ path, lines: stringOrNumber(lines), reason: stringOrNumber(reason) }];
      this.wrong(key, what);
      return [];
    });
  }

  /** One of some words; `wrong` stands in for any other. */
  word<W extends string>(key: string, words: readonly W[], missing: W, wrong: W): W {
    const value = this.string(key);
    if (value === undefined) return missing;
    if ((words as readonly string[]).includes(value)) return value as W;
    const close = nearest(value, words);
    const choices = `one of ${words.join(', ')}`;
    this.note(
      'status',
      `"${key}" is ${shown(value)}, which is treated as "${wrong}".`,
      `Use ${close === undefined ? choices : `"${close}" (${choices})`}.`,
    );
    return wrong;
  }

  private wrong(key: string, what: string): undefined {
    const text = `"${key}" is ${shown(this.raw(key))}.`;
    // Several wrong items of one list are one problem.
    if (this.problems.some((one) => one.file === this.file && one.text === text)) return;
    this.note('wrong-type', text, `It must be ${what}.`);
  }
}

function stringOrNumber(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function shown(value: unknown): string {
  return oneLine(JSON.stringify(value) ?? String(value), MAX_SHOWN_LENGTH);
}
