import type { AgentEvent, AgentReader } from './adapter.ts';
import { shownText } from './shown-text.ts';

/** An object of which nothing is known: other people's programs wrote it. */
export type Fields = Readonly<Record<string, unknown>>;

/** Of parameters of tools, those that say best what is done. */
const TELLING = [
  'command',
  'file_path',
  'filePath',
  'absolute_path',
  'path',
  'dir_path',
  'pattern',
  'query',
  'url',
  'description',
];

/** A reader of events that stand on a line each. Anything else on a line is passed over: warnings, banners, noise. */
export function jsonReader(
  event: (fields: Fields) => readonly AgentEvent[],
  end: () => readonly AgentEvent[] = () => [],
): AgentReader {
  return {
    line: (text) => {
      const fields = parsed(text);
      return fields === undefined ? [] : event(fields);
    },
    end,
  };
}

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A count of something; what is no count is nothing. */
export function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}

/** A word of the agent, unless it is empty. */
export function textEvents(value: unknown): readonly AgentEvent[] {
  const text = shownText(textOf(value));
  return text === '' ? [] : [{ type: 'text', text }];
}

/** What went wrong, in words: servers of models answer in JSON, and agents pass it on as it is. */
export function errorText(value: unknown): string {
  const text = textOf(value);
  const inner = parsed(text.slice(Math.max(0, text.indexOf('{')), text.lastIndexOf('}') + 1));
  return shownText(textOf(fieldsOf(inner?.['error'])['message']) || text);
}

/** The use of a tool, with the parameter that says most. */
export function toolEvent(name: unknown, parameters: unknown): AgentEvent {
  const given = typeof parameters === 'string' ? { command: parameters } : fieldsOf(parameters);
  const detail = shownText(textOf(TELLING.map((key) => given[key]).find((value) => textOf(value) !== '')));
  const tool = { type: 'tool', name: textOf(name) || 'tool' } as const;
  return detail === '' ? tool : { ...tool, detail };
}

function parsed(line: string): Fields | undefined {
  if (!line.trimStart().startsWith('{')) return undefined;
  try {
    return fieldsOf(JSON.parse(line));
  } catch {
    return undefined;
  }
}
