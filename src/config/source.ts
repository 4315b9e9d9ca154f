import { readFile } from 'node:fs/promises';
import { parse, TomlError } from 'smol-toml';
import { isDeeperThan } from '../core/depth.ts';
import type { TomlTable } from './environment.ts';
import { type ConfigProblem, configError, readingProblem } from './problems.ts';
import { DEFAULTS, SECTIONS } from './schema.ts';

/** A configuration is written by hand; a larger file was named by mistake. */
const MAX_BYTES = 1_048_576;
/** No setting is nested nearly as deep. */
const MAX_DEPTH = 100;

/** Days that only some months or years have. */
const RARE_DAY = /\d{4}-(?:02-(?:29|30)|(?:02|04|06|09|11)-31)/g;

/** A file's content without a byte order mark. */
interface Source {
  readonly bytes: Buffer;
  readonly text: string;
}

export async function readSource(file: string): Promise<Source> {
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (error) {
    throw configError([wholeFile(readingProblem(error))], file, '', error);
  }
  if (bytes.length > MAX_BYTES) throw configError([wholeFile('the file is larger than 1 MB.')], file, '');
  try {
    return { bytes, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch (error) {
    throw configError([wholeFile('the file is not valid UTF-8: save it in that encoding.')], file, '', error);
  }
}

/** The parsed content, or the syntax error. */
export function parseSource(text: string): { data: TomlTable } | { problem: ConfigProblem } {
  try {
    const data = parseToml(text);
    return isDeeperThan(data, MAX_DEPTH)
      ? { problem: wholeFile(`tables and lists are nested deeper than ${MAX_DEPTH} levels.`) }
      : { data };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [what] = error.message.replace(/^Invalid TOML document: /, '').split('\n');
    const { line, column } = error;
    return {
      problem: {
        text: `this is not valid TOML: ${what}.`,
        key: undefined,
        variable: undefined,
        place: { line, column, length: 1 },
      },
    };
  }
}

function wholeFile(text: string): ConfigProblem {
  return { text, key: undefined, variable: undefined, place: undefined };
}

/**
 * Parses TOML. The parser accepts February 30 as March 2, so the text is parsed again with an invalid day in its place,
 * which the parser rejects at the right position and only if it is a value.
 */
export function parseToml(text: string): TomlTable {
  const data = parse(text);
  const checked = text.replace(RARE_DAY, (date) => (isDay(date) ? date : `${date.slice(0, -2)}99`));
  if (checked !== text) parse(checked);
  return data;
}

function isDay(date: string): boolean {
  return new Date(`${date}T00:00:00Z`).toISOString().startsWith(date);
}

/** Longer paths are left to the schema. */
const SURELY_SHORT = 256;

/**
 * Reads the location of the store from a file. Undefined if the schema is needed because of a problem that may affect
 * it, such as an unknown section that could be a misspelling.
 */
export async function storeOfFile(file: string): Promise<string | undefined> {
  const parsed = parseSource((await readSource(file)).text);
  if (!('data' in parsed)) return undefined;
  const { data } = parsed;
  if (Object.keys(data).some((name) => !Object.hasOwn(SECTIONS, name))) return undefined;
  const { store = DEFAULTS.store } = data;
  if (Object.keys(store as object).join() !== 'file') return undefined;
  const { file: path } = store as { readonly file: unknown };
  return typeof path === 'string' && path.length > 0 && path.length < SURELY_SHORT ? path : undefined;
}
