import { extname } from 'node:path';
import { TomlError } from 'smol-toml';
import { programTask } from '../../batch/input/fields.ts';
import { parseToml } from '../../config/source.ts';
import { TomlPlaces } from '../../config/toml-places.ts';
import { isDeeperThan } from '../../core/depth.ts';
import { parseJsonLinesSource, parseJsonSource } from './json.ts';
import { DataProblem, MAX_NESTING, type Parsed, TOO_NESTED, toPlainData } from './plain-data.ts';
import { type TaskSource, taskFileError } from './source.ts';
import { parseYamlSource } from './yaml.ts';

interface TaskFormat {
  readonly name: string;
  readonly extensions: readonly string[];
  parse(source: TaskSource): Parsed;
}

export const JSON_FORMAT: TaskFormat = { name: 'JSON', extensions: ['.json'], parse: parseJsonSource };
export const JSON_LINES: TaskFormat = {
  name: 'JSON Lines',
  extensions: ['.jsonl', '.ndjson'],
  parse: parseJsonLinesSource,
};
const YAML: TaskFormat = { name: 'YAML', extensions: ['.yaml', '.yml'], parse: parseYamlSource };
/** A program is a batch with one task. */
const PROGRAM: TaskFormat = {
  name: 'JavaScript',
  extensions: ['.js', '.mjs'],
  parse: ({ text }) => ({ data: { tasks: [programTask(text)] }, placeOf: () => undefined }),
};
const TOML: TaskFormat = { name: 'TOML', extensions: ['.toml'], parse: parseTomlSource };

/** Chosen by the extension, or by what the text looks like. */
export function taskFormatOf({ name, text }: TaskSource): TaskFormat {
  const extension = extname(name).toLowerCase();
  return (
    [JSON_FORMAT, JSON_LINES, YAML, TOML, PROGRAM].find(({ extensions }) => extensions.includes(extension)) ??
    guessFormat(text)
  );
}

/** Parses a string to plain data. */
export function parseTaskSource(source: TaskSource, format: TaskFormat): Parsed {
  const parsed = format.parse(source);
  try {
    return { ...parsed, data: toPlainData(parsed.data, source.text.length) };
  } catch (error) {
    if (!(error instanceof DataProblem)) throw error;
    throw taskFileError(source, error.message, parsed.placeOf(error.path), error);
  }
}

function guessFormat(text: string): TaskFormat {
  const start = text.trimStart();
  const end = start.indexOf('\n');
  const firstLine = (end < 0 ? start : start.slice(0, end)).trim();
  const hasMoreLines = end >= 0 && start.slice(end).trim() !== '';
  if (start.startsWith('{')) return isJson(firstLine) && hasMoreLines ? JSON_LINES : JSON_FORMAT;
  if (start.startsWith('[')) return isTableHeader(firstLine) ? TOML : JSON_FORMAT;
  for (const line of start.split('\n', 100)) {
    const words = line.trim();
    if (words === '' || words.startsWith('#')) continue;
    return isTableHeader(words) || /^[\w."'-]+\s*=/.test(words) ? TOML : YAML;
  }
  return YAML;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** `[[tasks]]` or `[settings]`, which is no JSON list. */
function isTableHeader(line: string): boolean {
  return /^(?:\[\[\s*[\w."'-]+\s*\]\]|\[\s*[A-Za-z_][\w.-]*\s*\])\s*(?:#.*)?$/.test(line);
}

function parseTomlSource(source: TaskSource): Parsed {
  try {
    const data = parseToml(source.text);
    // Finding the places of an endless dotted key would take forever.
    if (isDeeperThan(data, MAX_NESTING)) throw taskFileError(source, `${TOO_NESTED}.`);
    let places: TomlPlaces | undefined;
    return {
      data,
      placeOf: (path) => {
        places ??= new TomlPlaces(source.text);
        return places.find(path, 'value');
      },
    };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [problem] = error.message.replace(/^Invalid TOML document: /, '').split('\n');
    const { line, column } = error;
    throw taskFileError(source, `invalid TOML: ${problem}.`, { line, column, length: 1 }, error);
  }
}
