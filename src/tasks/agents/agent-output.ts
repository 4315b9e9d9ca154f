import { printableText } from '../../core/printable-text.ts';
import type { AgentEvent, AgentReader } from './adapter.ts';

/** An object of which nothing is known: other people's programs wrote it. */
export type JsonFields = Readonly<Record<string, unknown>>;

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
  event: (fields: JsonFields) => readonly AgentEvent[],
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

export function asFields(value: unknown): JsonFields {
  return typeof value === 'object' && value !== null ? (value as JsonFields) : {};
}

export function asFieldList(value: unknown): readonly JsonFields[] {
  return Array.isArray(value) ? value.map(asFields) : [];
}

export function asString(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A count of something; what is no count is nothing. */
export function asCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}

/** A word of the agent, unless it is empty. */
export function textEvents(value: unknown): readonly AgentEvent[] {
  const text = shownText(asString(value));
  return text === '' ? [] : [{ type: 'text', text }];
}

/** What went wrong, in words: servers of models answer in JSON, and agents pass it on as it is. */
export function errorText(value: unknown): string {
  const text = asString(value);
  const inner = parsed(text.slice(Math.max(0, text.indexOf('{')), text.lastIndexOf('}') + 1));
  return shownText(asString(asFields(inner?.['error'])['message']) || text);
}

/** The use of a tool, with the parameter that says most. */
export function toolEvent(name: unknown, parameters: unknown): AgentEvent {
  const given = typeof parameters === 'string' ? { command: parameters } : asFields(parameters);
  const detail = shownText(
    asString(TELLING.map((key) => given[key]).find((value) => asString(value) !== '')),
  );
  const tool = { type: 'tool', name: asString(name) || 'tool' } as const;
  return detail === '' ? tool : { ...tool, detail };
}

function parsed(line: string): JsonFields | undefined {
  if (!line.trimStart().startsWith('{')) return undefined;
  try {
    return asFields(JSON.parse(line));
  } catch {
    return undefined;
  }
}

const MAX_LENGTH = 4000;

/** What an agent says, fit to be shown and kept: without the control characters of terminals, and of bounded length. */
export function shownText(text: string): string {
  const plain = printableText(text.slice(0, 4 * MAX_LENGTH)).trim();
  return plain.length > MAX_LENGTH ? `${plain.slice(0, MAX_LENGTH)}…` : plain;
}
