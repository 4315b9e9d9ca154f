import { type FileHandle, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type FilePlace, readingProblem } from '../../config/problems.ts';
import type { VolleyError } from '../../core/errors.ts';
import { show } from '../../core/numbers.ts';
import { JSON_FORMAT, JSON_LINES, parseTaskSource, taskFormatOf } from './parse.ts';
import type { DataPath, Parsed } from './plain-data.ts';
import { placeInSource, type TaskSource, taskFileError } from './source.ts';
import { Collector, type PlainObject, type TaskFile } from './task-file.ts';

/** Some tasks of a large file, in its order. */
export interface TaskPart {
  readonly tasks: readonly PlainObject[];
  readonly file: Pick<TaskFile, 'name' | 'placeOf'>;
}

const PART_TASKS = 10_000;
/** So that a part fits into a request to a server. */
const PART_CHARACTERS = 8 * 2 ** 20;
/** Of a task, or of a value next to the list. Params may have 10 MB. */
const MAX_CHARACTERS = 16 * 2 ** 20;
const HEAD_BYTES = 64 * 1024;
const CHUNK_BYTES = 256 * 1024;
const RETURN_KEY = 'return';
/** A list, or an object with a list of tasks. */
const JSON_LIST = /^\s*(\[|\{[\s\S]*"tasks"\s*:\s*\[)/;
const FIRST: FilePlace = { line: 1, column: 1, length: 1 };

/** A JSON or JSON Lines file that is read in parts, as often as needed. */
export class LargeTaskFile {
  /** `batch`, `max_concurrent`, `timeout` and `fail_fast`, unchecked. Complete when all parts were read. */
  settings: PlainObject = {};

  private constructor(
    readonly name: string,
    readonly bytes: number,
    private readonly path: string,
    private readonly isLines: boolean,
  ) {}

  /** Opens a file. Undefined if it has fewer bytes, is no regular file, or is no list in JSON. */
  static async open(name: string, cwd: string, minBytes: number): Promise<LargeTaskFile | undefined> {
    const path = resolve(cwd, name);
    let file: FileHandle;
    try {
      file = await open(path);
    } catch {
      // Reading it whole reports the problem.
      return undefined;
    }
    try {
      const stats = await file.stat();
      if (!stats.isFile() || stats.size < minBytes) return undefined;
      const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
      const text = buffer.toString('utf8', 0, bytesRead);
      const format = taskFormatOf({ name, text });
      const isList = format === JSON_LINES || (format === JSON_FORMAT && JSON_LIST.test(text));
      return isList ? new LargeTaskFile(name, stats.size, path, format === JSON_LINES) : undefined;
    } finally {
      await file.close();
    }
  }

  /** Reads the settings, which may be after the tasks. */
  async readSettings(): Promise<void> {
    // Lines have none.
    if (!this.isLines) for await (const _ of this.parts());
  }

  /** The number of tasks. */
  async count(): Promise<number> {
    let count = 0;
    for await (const { tasks } of this.parts()) count += tasks.length;
    return count;
  }

  /** All tasks, a part at a time. */
  async *parts(): AsyncGenerator<TaskPart, void, undefined> {
    const source = this.isLines ? lines(this) : elements(this);
    let part = new PartBuilder(this.name);
    let returned: TaskPart | undefined;
    let count = 0;
    const build = () => {
      const built = part.build();
      this.settings = { ...this.settings, ...built.settings };
      if (built.returned !== undefined && returned !== undefined)
        throw part.errorAt(`a file can have only one "${RETURN_KEY}".`, built.returned.path);
      if (built.returned !== undefined)
        returned = { tasks: [built.returned.task], file: part.fileAt(built.returned.path) };
      count += built.part.tasks.length;
      part = new PartBuilder(this.name);
      return built.part;
    };
    for await (const text of source) {
      part.add(text, this.isLines);
      if (part.isFull) yield build();
    }
    if (!part.isEmpty) yield build();
    if (count === 0) throw taskFileError({ name: this.name }, 'the file has no tasks.');
    if (returned !== undefined) yield returned;
  }

  async *chunks(): AsyncGenerator<string, void, undefined> {
    const decoder = new TextDecoder('utf-8', { fatal: true });
    const file = await open(this.path);
    try {
      const stream = file.createReadStream({ autoClose: false, highWaterMark: CHUNK_BYTES });
      for await (const chunk of stream) yield decoder.decode(chunk as Uint8Array, { stream: true });
      yield decoder.decode();
    } catch (error) {
      const isText = (error as NodeJS.ErrnoException).code === 'ERR_ENCODING_INVALID_ENCODED_DATA';
      const problem = isText ? 'the file is not valid UTF-8.' : readingProblem(error);
      throw taskFileError({ name: this.name }, problem, undefined, error);
    } finally {
      await file.close();
    }
  }
}

/** A value of a file: a line or an element of the list, or a value next to the list. */
type SourceText = TaskSource & { readonly key?: string };

class PartBuilder {
  private readonly sources: { readonly source: SourceText; readonly parsed: Parsed }[] = [];
  private characters = 0;
  private readonly collector = new Collector((problem, path) => this.errorAt(problem, path));
  /** The values next to the list, and where they are. */
  private readonly settings: Record<string, unknown> = {};
  private readonly settingPlaces = new Map<string, SourceText>();

  constructor(private readonly name: string) {}

  get isFull(): boolean {
    return this.collector.tasks.length >= PART_TASKS || this.characters >= PART_CHARACTERS;
  }

  get isEmpty(): boolean {
    return this.sources.length + this.settingPlaces.size === 0;
  }

  add(source: SourceText, isLine: boolean): void {
    const parsed = parseTaskSource(source, isLine ? JSON_LINES : JSON_FORMAT);
    const { key } = source;
    if (key !== undefined) {
      this.settings[key] = parsed.data;
      this.settingPlaces.set(key, source);
      return;
    }
    this.characters += source.text.length;
    // A line is parsed as a list of one.
    const placeOf = isLine ? (path: DataPath) => parsed.placeOf([0, ...path]) : parsed.placeOf;
    const data = isLine ? (parsed.data as unknown[])[0] : parsed.data;
    this.sources.push({ source, parsed: { data, placeOf } });
    this.collector.addItem(data, [this.sources.length - 1]);
  }

  build() {
    const { collector } = this;
    if (this.settingPlaces.size > 0) collector.addItem({ ...this.settings, tasks: [] }, []);
    const { tasks, settings, paths } = collector;
    const placeOf = (index: number, path: DataPath = []) => this.placeAt([...(paths[index] ?? []), ...path]);
    const part: TaskPart = { tasks, file: { name: this.name, placeOf } };
    return { part, settings, returned: collector.takeReturn() };
  }

  /** A file whose only task is at a path. */
  fileAt(path: DataPath): TaskPart['file'] {
    const place = this.placeAt(path);
    return { name: this.name, placeOf: () => place };
  }

  errorAt(problem: string, path: DataPath): VolleyError {
    const { source, place } = this.find(path);
    return taskFileError(source ?? { name: this.name }, problem, place);
  }

  private placeAt(path: DataPath): FilePlace | undefined {
    const { source, place } = this.find(path);
    return source && place && placeInSource(source, place);
  }

  /** The text that a path leads into, and the place in that text. */
  private find([first, ...rest]: DataPath): { readonly source?: SourceText; readonly place?: FilePlace } {
    if (typeof first === 'number') {
      const { source, parsed } = this.sources[first]!;
      return { source, place: parsed.placeOf(rest) ?? FIRST };
    }
    const source = first === undefined ? undefined : this.settingPlaces.get(first);
    return source === undefined ? {} : { source, place: FIRST };
  }
}

/** The lines that are not empty. */
async function* lines(file: LargeTaskFile): AsyncGenerator<SourceText, void, undefined> {
  const { name } = file;
  let rest = '';
  let line = 1;
  for await (const chunk of file.chunks()) {
    const text = rest + chunk;
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      const own = text.slice(start, end);
      if (own.trim() !== '') yield { name, text: own, origin: { line, column: 1 } };
      line++;
      start = end + 1;
    }
    rest = text.slice(start);
    if (rest.length > MAX_CHARACTERS) throw tooLong({ name, text: '', origin: { line, column: 1 } });
  }
  if (rest.trim() !== '') yield { name, text: rest, origin: { line, column: 1 } };
}

/** The elements of the list that a JSON file consists of, or has as "tasks", and the other values of that object. */
async function* elements(file: LargeTaskFile): AsyncGenerator<SourceText, void, undefined> {
  const chunks = file.chunks();
  const json = new JsonReader(file.name, chunks);
  try {
    await json.skipSpace();
    if (json.peek() === '[') yield* json.list();
    else {
      for await (const key of json.keys()) {
        if (key === 'tasks' && json.peek() === '[') yield* json.list();
        else yield { ...(await json.value()), key };
      }
    }
    await json.skipSpace();
    if (json.peek() !== undefined) throw json.unexpected('the end');
  } finally {
    await chunks.return();
  }
}

/** Finds the parts of a JSON text without holding all of it. The parts are parsed elsewhere. */
class JsonReader {
  private text = '';
  private at = 0;
  private line = 1;
  private column = 1;

  constructor(
    private readonly name: string,
    private readonly chunks: AsyncGenerator<string, void, undefined>,
  ) {}

  /** The next character; undefined at the end. Valid after `skipSpace`. */
  peek(): string | undefined {
    return this.text[this.at];
  }

  unexpected(expected: string): VolleyError {
    const { line, column, name } = this;
    const next = this.peek();
    const found = next === undefined ? 'unexpected end' : `unexpected ${show(next)}`;
    const source = { name, text: this.text.slice(this.at, this.at + 80), origin: { line, column } };
    return taskFileError(source, `invalid JSON: ${found}; expected ${expected}.`, FIRST);
  }

  async skipSpace(): Promise<void> {
    for (;;) {
      let end = this.at;
      while (isSpace(this.text.charCodeAt(end))) end++;
      this.moveTo(end);
      if (end < this.text.length || !(await this.more())) return;
    }
  }

  /** The names of an object's members. After each, the caller reads its value. */
  async *keys(): AsyncGenerator<string, void, undefined> {
    this.take('{');
    for (await this.skipSpace(); this.peek() !== '}'; ) {
      if (this.peek() !== '"') throw this.unexpected('a name in double quotes');
      const { text } = await this.value();
      await this.skipSpace();
      this.take(':');
      await this.skipSpace();
      yield JSON.parse(text) as string;
      await this.skipSpace();
      if (this.peek() === '}') break;
      this.take(',');
      await this.skipSpace();
    }
    this.take('}');
  }

  async *list(): AsyncGenerator<SourceText, void, undefined> {
    this.take('[');
    for (await this.skipSpace(); this.peek() !== ']'; ) {
      // Most elements are in memory: then there is nothing to await.
      yield this.wholeValue() ?? (await this.value());
      await this.skipSpace();
      if (this.peek() === ']') break;
      this.take(',');
      await this.skipSpace();
      if (this.peek() === ']') throw this.unexpected('a task after the comma');
    }
    this.take(']');
  }

  /** The text of the next value. */
  async value(): Promise<SourceText> {
    for (;;) {
      const whole = this.wholeValue();
      if (whole !== undefined) return whole;
      if (this.text.length - this.at > MAX_CHARACTERS)
        throw tooLong({ name: this.name, text: '', origin: { line: this.line, column: this.column } });
      if (!(await this.more())) {
        this.moveTo(this.text.length);
        throw this.unexpected('the end of a value');
      }
    }
  }

  /** The next value, if all of it is in memory. */
  private wholeValue(): SourceText | undefined {
    const { text, at, name, line, column } = this;
    const end = endOfValue(text, at);
    if (end === undefined) return undefined;
    if (end === at) throw this.unexpected('a value');
    this.moveTo(end);
    return { name, text: text.slice(at, end), origin: { line, column } };
  }

  private take(character: string): void {
    if (this.peek() !== character) throw this.unexpected(show(character));
    this.moveTo(this.at + 1);
  }

  private moveTo(end: number): void {
    // Not in the whole text, which may have no line breaks at all.
    const passed = this.text.slice(this.at, end);
    let start = 0;
    for (let newline = passed.indexOf('\n'); newline >= 0; newline = passed.indexOf('\n', start)) {
      this.line++;
      this.column = 1;
      start = newline + 1;
    }
    this.column += passed.length - start;
    this.at = end;
  }

  private async more(): Promise<boolean> {
    const { value, done = false } = await this.chunks.next();
    if (done) return false;
    this.text = this.text.slice(this.at) + value;
    this.at = 0;
    return true;
  }
}

/** The end of the JSON value that starts at an offset; undefined if it may continue after the text. */
function endOfValue(text: string, start: number): number | undefined {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 34: {
        at = endOfString(text, at);
        if (at < 0) return undefined;
        if (depth === 0) return at + 1;
        break;
      }
      case 91:
      case 123:
        depth++;
        break;
      case 93:
      case 125:
        if (depth === 0) return at;
        if (--depth === 0) return at + 1;
        break;
      case 44:
        if (depth === 0) return at;
        break;
      case 9:
      case 10:
      case 13:
      case 32:
        if (depth === 0) return at;
        break;
      default:
    }
  }
  return undefined;
}

/** The closing quote; -1 if it is not in the text. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 34) return at;
    if (code === 92) at++;
  }
  return -1;
}

function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}

function tooLong(source: TaskSource): VolleyError {
  return taskFileError(
    source,
    'a task is longer than 16 MB. Write large data to a file and pass its path.',
    FIRST,
  );
}
