import { printableText } from '../core/printable-text.ts';
import type { AgentEvent, AgentReader } from './adapter.ts';

/** An untrusted JSON object. */
export type JsonFields = Readonly<Record<string, unknown>>;

/** The tool parameters that best describe an action, best first. */
const DESCRIPTIVE = [
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

/** Reads one JSON event per line. Other lines, such as warnings and banners, are ignored. */
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

/** Anything that is not a positive number is 0. */
export function asCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}

/** A text event, unless the text is empty. */
export function textEvents(value: unknown): readonly AgentEvent[] {
  const text = shownText(asString(value));
  return text === '' ? [] : [{ type: 'text', text }];
}

/** What a tool returned: a string, or parts with text. */
export function outputEvent(value: unknown, ok: boolean): AgentEvent {
  const parts = typeof value === 'string' ? [value] : asFieldList(value).map(({ text }) => asString(text));
  return { type: 'output', ok, text: shownText(parts.filter((part) => part !== '').join('\n')) };
}

/** An error message, extracted from a model server's JSON answer if the agent passes that on. */
export function errorText(value: unknown): string {
  const text = asString(value);
  const inner = parsed(text.slice(Math.max(0, text.indexOf('{')), text.lastIndexOf('}') + 1));
  return shownText(asString(asFields(inner?.['error'])['message']) || text);
}

/** A tool call with its most descriptive parameter. */
export function toolEvent(name: unknown, parameters: unknown): AgentEvent {
  const given = typeof parameters === 'string' ? { command: parameters } : asFields(parameters);
  const detail = shownText(
    asString(DESCRIPTIVE.map((key) => given[key]).find((value) => asString(value) !== '')),
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

const MAX_LENGTH = 16_000;
/** An answer may be data. */
const MAX_ANSWER_LENGTH = 256 * 1024;

/** An agent's text without control characters and of limited length, safe to show and store. */
export function shownText(text: string): string {
  return limitedText(text, MAX_LENGTH);
}

/** The same for its last message, which may be longer. */
export function answerText(text: string): string {
  return limitedText(text, MAX_ANSWER_LENGTH);
}

function limitedText(text: string, length: number): string {
  const plain = printableText(text.slice(0, 4 * length)).trim();
  return plain.length > length ? `${plain.slice(0, length)}…` : plain;
}
