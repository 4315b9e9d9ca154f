import type { FeatureDraft } from './draft.ts';
import { splitList, withoutTicks } from './list.ts';

type Fields = Record<string, unknown>;

/** What a line such as `Depends on: 01, 02` sets. */
const KEYS: Readonly<Record<string, (value: string, into: Fields) => void>> = {
  feature: (value, into) => set(into, 'feature', withoutTicks(value)),
  objective: (value, into) => set(into, 'objective', value),
  context: (value, into) => add(into, 'context_files', splitList(value)),
  reference: (value, into) => add(into, 'reference_files', splitList(value)),
  exit: (value, into) => add(into, 'exit_criteria', [value]),
  'depends on': (value, into) =>
    add(into, 'depends_on', /^(none|nothing|-)$/i.test(value) ? [] : splitList(value)),
  parallel: (value, into) => set(into, 'parallel', !/^(no|false|off)$/i.test(value)),
  agent: (value, into) => set(into, 'suggested_agent', withoutTicks(value)),
  priority: (value, into) => set(into, 'priority', value),
  delivers: (value, into) => add(into, 'deliverables', splitList(value)),
  deliverables: (value, into) => add(into, 'deliverables', splitList(value)),
  accept: (value, into) => add(into, 'acceptance_criteria', [value]),
  verify: (value, into) => add(into, 'verification', [checkOf(withoutTicks(value))]),
};

/** A number needs two digits, or a sign behind it, so that "2 factor login" is a title. */
const HEADING = /^##\s+(?:(\d{2,9}|\d+(?=[.):]))[.):]?\s*(?:[-–—]\s+)?)?(\S.*)$/;

/**
 * Reads a feature from Markdown: `#` is its name, each `##` a subtask. Lines such as `Depends on: 01` set fields, other
 * items of lists are criteria, and other text is the objective or the description.
 */
export function parseMarkdown(text: string): FeatureDraft {
  const head: Fields = {};
  const subtasks: Fields[] = [];
  let into = head;
  let isCode = false;
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*```/.test(line)) isCode = !isCode;
    const heading = isCode ? null : HEADING.exec(line);
    const name = isCode ? null : /^#\s+(\S.*)$/.exec(line);
    if (heading !== null) {
      const [, seq, title] = heading;
      into = { ...(seq !== undefined && { seq }), title: title!.trim() };
      subtasks.push(into);
    } else if (name !== null && head['name'] === undefined) head['name'] = name[1]!.trim();
    else readLine(line, into, into === head, isCode);
  }
  for (const fields of [head, ...subtasks]) trimTexts(fields);
  const { feature, ...task } = head;
  return { feature: feature as string | undefined, task, subtasks };
}

function readLine(line: string, into: Fields, isHead: boolean, isCode: boolean): void {
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
