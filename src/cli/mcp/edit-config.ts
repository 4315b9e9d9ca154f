import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { parse as parseTomlText, stringify } from 'smol-toml';
import { type AST, parseTOML } from 'toml-eslint-parser';
import { isDeeperThan } from '../../core/depth.ts';
import { VolleyError } from '../../core/errors.ts';
import { isObject } from '../../core/values.ts';
import { reasonText } from '../../core/words.ts';
import { jsonProblem } from '../input/json.ts';
import type { McpClient, StartCommand } from './clients.ts';

/** What would be written. */
export interface InstallPlan {
  readonly file: string;
  /** Undefined if there is no such file. */
  readonly before: string | undefined;
  readonly after: string;
  /** The entry alone, as a whole file. */
  readonly entryText: string;
}

const MAX_DEPTH = 200;
const TOO_DEEP_CONFIG = 'it is nested too deeply';

type Entry = Readonly<Record<string, unknown>>;

/** Plans how the configuration of a client has to change. Writes nothing. */
export async function planInstall(
  client: McpClient,
  file: string,
  start: StartCommand,
): Promise<InstallPlan> {
  const before = await readIfPresent(file);
  try {
    const content = before === undefined ? {} : read(client, before);
    const path = client.path(content);
    const entry = client.entry(start, content);
    const empty = client.format === 'json' ? `${JSON.stringify(client.begin ?? {}, null, 2)}\n` : '';
    const entryText = setEntry(client, empty, path, entry);
    const isNew = before === undefined || before.trim() === '';
    const after = isNew ? entryText : setEntry(client, before, path, entry);
    const expected = withEntry(isNew ? { ...client.begin } : content, path, entry);
    if (!isDeepStrictEqual(plain(read(client, after)), plain(expected)))
      throw new Error('an entry cannot be added without changing the rest');
    return { file, before, after, entryText };
  } catch (error) {
    throw new VolleyError(
      'INVALID_VALUE',
      `Cannot edit ${file}: ${reasonText(error)}. Nothing was written. To add the entry by hand, run: volley mcp install ${client.name} --print`,
      { file },
    );
  }
}

async function readIfPresent(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function read({ format }: McpClient, text: string): unknown {
  if (text.trim() === '') return {};
  const content: unknown = format === 'json' ? readJsonc(text) : parseTomlText(text);
  if (isDeeperThan(content, MAX_DEPTH)) throw new Error(TOO_DEEP_CONFIG);
  return content;
}

/** Keeps fields that a person added to the entry, and touches nothing that is already right. */
function setEntry(client: McpClient, text: string, path: readonly string[], entry: Entry): string {
  const present = path.reduce<unknown>(
    (value, key) => (isObject(value) ? value[key] : undefined),
    read(client, text),
  );
  const fields = Object.entries(entry).filter(
    ([key, value]) => !isObject(present) || !isDeepStrictEqual(present[key], value),
  );
  if (fields.length === 0) return text;
  if (client.format === 'toml') return setInToml(text, path, Object.fromEntries(fields));
  if (!isObject(present)) return setInJsonc(text, path, entry);
  return fields.reduce((edited, [key, value]) => setInJsonc(edited, [...path, key], value), text);
}

function withEntry(content: unknown, [key, ...rest]: readonly string[], entry: Entry): unknown {
  const fields = isObject(content) ? content : {};
  return key === undefined
    ? { ...fields, ...entry }
    : { ...fields, [key]: withEntry(fields[key], rest, entry) };
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** Parses JSON with comments and trailing commas, or throws a SyntaxError that names the line. */
export function readJsonc(text: string): unknown {
  return getNodeValue(parseJsonc(text));
}

function parseJsonc(text: string): Node {
  const errors: ParseError[] = [];
  // A byte order mark counts as a space.
  const source = text.replace(/^\uFEFF/, ' ');
  const tree = parseWithin(() => parseTree(source, errors, { allowTrailingComma: true }));
  const [error] = errors;
  if (error === undefined && tree !== undefined) return tree;
  const { offset, length } = error ?? { offset: 0, length: 0 };
  const problem = jsonProblem(
    error === undefined ? 'ValueExpected' : printParseErrorCode(error.error),
    source.slice(offset, offset + length),
  );
  throw new SyntaxError(`line ${source.slice(0, offset).split('\n').length}: ${problem}`);
}

/** The parser is recursive. */
function parseWithin<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw error instanceof RangeError ? new SyntaxError(TOO_DEEP_CONFIG) : error;
  }
}

/**
 * Sets one value in JSON with comments, and changes nothing else. Not with `modify` of jsonc-parser, which moves a
 * comment at the end of a line to the new entry.
 */
export function setInJsonc(text: string, path: readonly string[], value: unknown): string {
  let node = parseJsonc(text);
  for (const [depth, key] of path.entries()) {
    if (node.type !== 'object') {
      throw new SyntaxError(`${path.slice(0, depth).join('.') || 'the file'} is not an object`);
    }
    const members = node.children ?? [];
    const member = members.findLast(({ children }) => children?.[0]?.value === key);
    if (member === undefined) {
      const rest = path.slice(depth + 1).reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
      return insertMember(text, node, members, key, rest);
    }
    node = member.children![1]!;
  }
  const { offset, length } = node;
  return splice(text, offset, offset + length, formatJson(value, indentAt(text, offset), text));
}

function insertMember(
  text: string,
  object: Node,
  members: readonly Node[],
  key: string,
  value: unknown,
): string {
  const [first, last] = [members[0], members.at(-1)];
  if (first === undefined || last === undefined) return insertIntoEmpty(text, object, key, value);
  const end = last.offset + last.length;
  const comma = commaAfter(text, end);
  const after = comma === undefined ? end : comma + 1;
  if (!text.slice(object.offset, first.offset).includes('\n')) {
    // An object on one line stays on one line.
    const separator = comma === undefined ? ',' : '';
    return splice(text, after, after, `${separator} ${JSON.stringify(key)}: ${JSON.stringify(value)}`);
  }
  const indent = indentAt(text, last.offset);
  const member = `${eolOf(text)}${indent}${JSON.stringify(key)}: ${formatJson(value, indent, text)}`;
  const at = endOfComment(text, after, object.offset + object.length - 1);
  // The last member decides whether there is a trailing comma.
  const withMember = splice(text, at, at, comma === undefined ? member : `${member},`);
  return comma === undefined ? splice(withMember, end, end, ',') : withMember;
}

function insertIntoEmpty(text: string, object: Node, key: string, value: unknown): string {
  const [start, end] = [object.offset + 1, object.offset + object.length - 1];
  const outer = indentAt(text, object.offset);
  const indent = outer + indentUnit(text);
  const eol = eolOf(text);
  const inside = text.slice(start, end).trimEnd();
  const member = `${JSON.stringify(key)}: ${formatJson(value, indent, text)}`;
  return splice(text, start, end, `${inside}${eol}${indent}${member}${eol}${outer}`);
}

function commaAfter(text: string, from: number): number | undefined {
  const pattern = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*,/y;
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex - 1 : undefined;
}

/** The end of a comment on the same line, so that the comment stays where it belongs. */
function endOfComment(text: string, from: number, limit: number): number {
  const [comment = ''] =
    /^[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/[ \t]*(?=\r?\n))/.exec(text.slice(from, limit)) ?? [];
  return from + comment.length;
}

function formatJson(value: unknown, indent: string, text: string): string {
  return JSON.stringify(value, null, indentUnit(text)).replaceAll('\n', `${eolOf(text)}${indent}`);
}

function indentAt(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf('\n', at - 1) + 1, at);
  return /^[ \t]*/.exec(line)![0];
}

function indentUnit(text: string): string {
  return /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
}

function eolOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}

function splice(text: string, start: number, end: number, inserted: string): string {
  return text.slice(0, start) + inserted + text.slice(end);
}

/** Sets values of a TOML table, and changes nothing else. Not with toml-patch, which adds a new table inline. */
export function setInToml(text: string, path: readonly string[], entry: Entry): string {
  const table = tableAt(text, path);
  const eol = eolOf(text);
  if (table === undefined) {
    const gap = text.trim() === '' ? '' : text.endsWith('\n') ? eol : `${eol}${eol}`;
    return `${text}${gap}[${path.join('.')}]${tomlLines(Object.entries(entry), eol)}${eol}`;
  }
  const missing = Object.entries(entry).filter(([key]) => valueAt(table, key) === undefined);
  const last = table.body.at(-1);
  const lineEnd = endOfLine(text, last === undefined ? table.range[1] : last.range[1]);
  const edits: [number, number, string][] =
    missing.length > 0 ? [[lineEnd, lineEnd, tomlLines(missing, eol)]] : [];
  for (const [key, value] of Object.entries(entry)) {
    const place = valueAt(table, key);
    if (place !== undefined) edits.push([place.range[0], place.range[1], tomlValue(value)]);
  }
  return edits
    .sort((a, b) => b[0] - a[0])
    .reduce((edited, [start, end, inserted]) => splice(edited, start, end, inserted), text);
}

function tomlLines(entries: readonly (readonly [string, unknown])[], eol: string): string {
  return entries.map(([key, value]) => `${eol}${key} = ${tomlValue(value)}`).join('');
}

function tomlValue(value: unknown): string {
  return stringify({ v: value }).replace(/^v = /, '').trimEnd();
}

function tableAt(text: string, path: readonly string[]): AST.TOMLTable | undefined {
  const [top] = parseTOML(text).body;
  return top.body.find(
    (item): item is AST.TOMLTable =>
      item.type === 'TOMLTable' &&
      item.resolvedKey.length === path.length &&
      path.every((key, index) => item.resolvedKey[index] === key),
  );
}

function valueAt(table: AST.TOMLTable, key: string): AST.TOMLContentNode | undefined {
  const found = table.body.find(({ key: { keys } }) => {
    const [only, ...more] = keys;
    return (
      more.length === 0 && only !== undefined && (only.type === 'TOMLBare' ? only.name : only.value) === key
    );
  });
  return found?.value;
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  const at = end === -1 ? text.length : end;
  return text[at - 1] === '\r' ? at - 1 : at;
}
