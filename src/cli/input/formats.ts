import { extname } from 'node:path';

/** How a file of tasks is written. */
export type TaskFormat = 'json' | 'jsonl' | 'yaml' | 'toml';

export const FORMAT_NAMES: Readonly<Record<TaskFormat, string>> = {
  json: 'JSON',
  jsonl: 'JSON Lines',
  yaml: 'YAML',
  toml: 'TOML',
};

const BY_EXTENSION: Readonly<Record<string, TaskFormat>> = {
  '.json': 'json',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.yaml': 'yaml',
  '.yml': 'yaml',
  '.toml': 'toml',
};

/** What the name of a file says. */
export function formatOfName(path: string): TaskFormat | undefined {
  return BY_EXTENSION[extname(path).toLowerCase()];
}

/** What a text looks like: for standard input, and for files whose name says nothing. */
export function formatOfText(text: string): TaskFormat {
  const start = text.trimStart();
  if (start.startsWith('{')) return isJson(firstLine(start)) && hasSecondLine(start) ? 'jsonl' : 'json';
  if (start.startsWith('[')) return isTableHeader(firstLine(start)) ? 'toml' : 'json';
  for (const line of start.split('\n', 100)) {
    const words = line.trim();
    if (words === '' || words.startsWith('#')) continue;
    return isTableHeader(words) || /^[\w."'-]+\s*=/.test(words) ? 'toml' : 'yaml';
  }
  return 'yaml';
}

function firstLine(text: string): string {
  const end = text.indexOf('\n');
  return (end < 0 ? text : text.slice(0, end)).trim();
}

function hasSecondLine(text: string): boolean {
  const end = text.indexOf('\n');
  return end >= 0 && text.slice(end).trim() !== '';
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** `[[tasks]]` or `[settings]`, with nothing but a comment behind it. A list of JSON holds something else. */
function isTableHeader(line: string): boolean {
  return /^(?:\[\[\s*[\w."'-]+\s*\]\]|\[\s*[A-Za-z_][\w.-]*\s*\])\s*(?:#.*)?$/.test(line);
}
