import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'smol-toml';
import { isDeeperThan } from '../../../core/depth.ts';
import { VolleyError } from '../../../core/errors.ts';
import { reasonText } from '../../../core/words.ts';
import type { McpClient, StartCommand } from './clients.ts';
import { setInJsonc } from './edit-jsonc.ts';
import { setInToml } from './edit-toml.ts';
import { parseJsonc } from './jsonc-tree.ts';

/** What would be written. */
export interface InstallPlan {
  readonly file: string;
  /** Undefined if there is no such file. */
  readonly before: string | undefined;
  readonly after: string;
  /** The entry alone, as a file that has nothing else. */
  readonly entryText: string;
}

const DEEPEST = 200;

type Fields = Readonly<Record<string, unknown>>;

/** Works out how the file of a client has to change. Nothing is written. */
export async function planInstall(
  client: McpClient,
  file: string,
  start: StartCommand,
): Promise<InstallPlan> {
  const before = await readIfThere(file);
  try {
    const content = before === undefined ? {} : read(client, before);
    const path = client.path(content);
    const entry = client.entry(start, content);
    const entryText = setAll(client, begin(client), path, entry);
    const isEmpty = before === undefined || before.trim() === '';
    const after = isEmpty ? entryText : setAll(client, before, path, entry);
    check(client, content, after, path, entry, isEmpty);
    return { file, before, after, entryText };
  } catch (error) {
    throw new VolleyError(
      'INVALID_VALUE',
      `${file} cannot be changed: ${reasonText(error)}. Nothing was written; "volley mcp install ${client.name} --print" shows what belongs there.`,
      { file },
    );
  }
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function read({ format }: McpClient, text: string): unknown {
  if (text.trim() === '') return {};
  const content = format === 'json' ? parseJsonc(text).value : parse(text);
  if (isDeeperThan(content, DEEPEST)) throw new Error('it is nested too deeply');
  return content;
}

function begin({ format, begin: fields = {} }: McpClient): string {
  return format === 'json' ? `${JSON.stringify(fields, null, 2)}\n` : '';
}

/** Fields that a person added to the entry stay, and what is right already is not touched. */
function setAll(client: McpClient, text: string, path: readonly string[], entry: Fields): string {
  const present = valueAt(read(client, text), path);
  const fields = Object.entries(entry).filter(
    ([key, value]) => !isObject(present) || !isDeepStrictEqual(present[key], value),
  );
  if (fields.length === 0) return text;
  if (client.format === 'toml') return setInToml(text, path, Object.fromEntries(fields));
  if (!isObject(present)) return setInJsonc(text, path, entry);
  return fields.reduce((edited, [key, value]) => setInJsonc(edited, [...path, key], value), text);
}

/** Whatever the editing did: the file must say what it said, and our entry. */
function check(
  client: McpClient,
  content: unknown,
  after: string,
  path: readonly string[],
  entry: Fields,
  isNew: boolean,
): void {
  const expected = withEntry(isNew ? { ...client.begin } : content, path, entry);
  const found: unknown = JSON.parse(JSON.stringify(read(client, after)));
  if (!isDeepStrictEqual(found, JSON.parse(JSON.stringify(expected)))) {
    throw new Error('its form is one that cannot be added to without changing the rest');
  }
}

function withEntry(content: unknown, [key, ...rest]: readonly string[], entry: Fields): unknown {
  if (key === undefined) return { ...(isObject(content) ? content : {}), ...entry };
  const fields = isObject(content) ? content : {};
  return { ...fields, [key]: withEntry(fields[key], rest, entry) };
}

function valueAt(content: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (isObject(value) ? value[key] : undefined), content);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
