import { extname } from 'node:path';
import { parseDocument } from 'yaml';
import { nearest } from '../../core/nearest.ts';
import { isObject } from '../../core/values.ts';
import type { FeatureProblem } from '../files/feature.ts';
import { type FeatureDraft, invalidDraft } from './draft.ts';
import { tooDeepAt } from './yaml-depth.ts';

const MAX_ALIASES = 100;
const MAX_DEPTH = 100;

/** Parses the description of a feature: Markdown, YAML or JSON, by the file's extension. */
export function parseDescription(file: string, text: string): FeatureDraft {
  const extension = extname(file).toLowerCase();
  const isMarkdown = extension === '.md' || extension === '.markdown';
  if (!isMarkdown && !['.yaml', '.yml', '.json'].includes(extension))
    throw invalidDraft(`${file}: unknown file type. Use .md, .yaml or .json.`);
  const draft = isMarkdown ? parseMarkdown(file, text) : parseYamlDescription(file, text);
  if (draft.task['name'] === undefined && draft.feature === undefined)
    throw invalidDraft(`${file}: the feature has no name. Add "# Name", or "name:" in YAML.`);
  if (draft.subtasks.length === 0)
    throw invalidDraft(`${file}: no subtasks. Add one as "## Title", or under "subtasks:" in YAML.`);
  return draft;
}

/** The fields of `task.json`, `feature` for the folder's name, and `subtasks`. */
function parseYamlDescription(file: string, text: string): FeatureDraft {
  if (tooDeepAt(text, MAX_DEPTH) !== undefined)
    throw invalidDraft(`${file}: nested deeper than ${MAX_DEPTH} levels.`);
  const document = parseDocument(text);
  const [fault] = document.errors;
  if (fault !== undefined) throw invalidDraft(`${file}: ${fault.message}`);
  const data: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
  if (!isObject(data)) throw invalidDraft(`${file}: must be a map with "name" and "subtasks".`);
  const { feature, subtasks, ...task } = data;
  if (!Array.isArray(subtasks) || !subtasks.every(isObject)) {
    throw invalidDraft(`${file}: "subtasks" must be a list of maps, each with a "title".`);
  }
  if (feature !== undefined && typeof feature !== 'string')
    throw invalidDraft(`${file}: "feature" must be a string.`);
  return { feature, task, subtasks };
}

type Fields = Record<string, unknown>;

/** The field that a line such as `Depends on: 01, 02` sets. */
const KEYS: Readonly<Record<string, (value: string, into: Fields) => void>> = {
  feature: (value, into) => set(into, 'feature', stripBackticks(value)),
  objective: (value, into) => set(into, 'objective', value),
  context: (value, into) => add(into, 'context_files', splitList(value)),
  reference: (value, into) => add(into, 'reference_files', splitList(value)),
  exit: (value, into) => add(into, 'exit_criteria', [value]),
  'depends on': (value, into) =>
    add(into, 'depends_on', /^(none|nothing|-)$/i.test(value) ? [] : splitList(value)),
  parallel: (value, into) => set(into, 'parallel', !/^(no|false|off)$/i.test(value)),
  agent: (value, into) => set(into, 'suggested_agent', stripBackticks(value)),
  priority: (value, into) => set(into, 'priority', value),
  delivers: (value, into) => add(into, 'deliverables', splitList(value)),
  deliverables: (value, into) => add(into, 'deliverables', splitList(value)),
  accept: (value, into) => add(into, 'acceptance_criteria', [value]),
  verify: (value, into) => add(into, 'verification', [checkOf(stripBackticks(value))]),
};

/** A number needs two digits or punctuation after it, so that "2 factor login" is a title. */
const HEADING = /^##\s+(?:(\d{2,9}|\d+(?=[.):]))[.):]?\s*(?:[-–—]\s+)?)?(\S.*)$/;

/**
 * Parses Markdown: `#` is the name, each `##` a subtask. Lines such as `Depends on: 01` set fields, other list items are
 * criteria, and other text is the objective or the description.
 */
function parseMarkdown(file: string, text: string): FeatureDraft {
  const head: Fields = {};
  const warnings: FeatureProblem[] = [];
  const subtasks: Fields[] = [];
  let into = head;
  let isCode = false;
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*```/.test(line)) isCode = !isCode;
    const heading = isCode ? null : HEADING.exec(line);
    const name = isCode ? null : /^#\s+(\S.*)$/.exec(line);
    if (heading !== null) {
      const [, seq, title] = heading;
      into = { ...(seq !== undefined && { seq }), title: title!.trim() };
      subtasks.push(into);
    } else if (name !== null && head['name'] === undefined) head['name'] = name[1]!.trim();
    else {
      const unknown = readLine(line, into, into === head, isCode);
      if (unknown !== undefined) warnings.push(...nearMiss(unknown, `${file}:${index + 1}`));
    }
  }
  for (const fields of [head, ...subtasks]) trimTexts(fields);
  const { feature, ...task } = head;
  return { feature: feature as string | undefined, task, subtasks, warnings };
}

/** Long enough that other words rarely begin alike: `verif`, `depen`, `deliv`. */
const COMMON_START = 5;

/** A label that is probably a misspelled one. */
function nearMiss(label: string, file: string): FeatureProblem[] {
  const plain = label.toLowerCase();
  const known = Object.keys(KEYS);
  const start = plain.slice(0, COMMON_START);
  const similar = (one: string) => start.length === COMMON_START && one.startsWith(start);
  const close = nearest(plain, known) ?? known.find(similar);
  if (close === undefined) return [];
  const meant = `${close[0]!.toUpperCase()}${close.slice(1)}:`;
  const text = `"${label}:" is not a known label, so the line is plain text.`;
  return [{ code: 'label', severity: 'warning', file, text, remedy: `Write "${meant}" if you mean that.` }];
}

/** Returns the label of a line that has an unknown one. */
function readLine(line: string, into: Fields, isHead: boolean, isCode: boolean): string | undefined {
  const item = isCode ? null : /^\s*[-*+]\s+(?:\[[ xX]\]\s+)?(\S.*)$/.exec(line);
  const content = (item?.[1] ?? line).trim();
  const field = isCode ? null : /^\**([A-Za-z][A-Za-z ]{0,20}?)\**\s*:\**\s*(\S.*)$/.exec(content);
  const apply = field === null ? undefined : KEYS[field[1]!.toLowerCase()];
  if (apply !== undefined) apply(field![2]!.trim(), into);
  else if (item !== null) add(into, isHead ? 'exit_criteria' : 'acceptance_criteria', [content]);
  else {
    const key = isHead ? 'objective' : 'description';
    into[key] = `${(into[key] as string | undefined) ?? ''}${line}\n`;
  }
  return apply === undefined ? field?.[1] : undefined;
}

/** `file_exists PATH`, `file_contains PATH TEXT`, or a command. */
function checkOf(value: string): unknown {
  const [, type, path, text] = /^(file_exists|file_contains)\s+(\S+)(?:\s+(.+))?$/.exec(value) ?? [];
  if (type === 'file_exists') return { type, path };
  return type === 'file_contains' ? { type, path, text } : { type: 'command', command: value };
}

function trimTexts(fields: Fields): void {
  for (const key of ['objective', 'description']) {
    const text = (fields[key] as string | undefined)?.trim();
    if (text === undefined || text === '') delete fields[key];
    else fields[key] = text;
  }
}

function set(into: Fields, key: string, value: unknown): void {
  into[key] = value;
}

function add(into: Fields, key: string, values: readonly unknown[]): void {
  into[key] = [...((into[key] as unknown[] | undefined) ?? []), ...values];
}

/** Splits `a, b` at commas outside braces, and strips backticks. */
function splitList(text: string): string[] {
  const items: string[] = [];
  let depth = 0;
  let item = '';
  for (const sign of text) {
    if (sign === '{') depth++;
    if (sign === '}') depth--;
    if (sign === ',' && depth <= 0) {
      items.push(item);
      item = '';
    } else item += sign;
  }
  return [...items, item].map(stripBackticks).filter((one) => one !== '');
}

function stripBackticks(text: string): string {
  return text.trim().replace(/^`([^`]*)`$/, '$1');
}
