import { LOG_LEVELS } from '../../config/schema.ts';
import { printableJson } from '../../core/printable-text.ts';

/** How important a line is. */
export type LogLevel = (typeof LOG_LEVELS)[number];

export function isLogLevel(text: string): text is LogLevel {
  return (LOG_LEVELS as readonly string[]).includes(text);
}

/** Writes a line: what happened, in few words, and the facts. */
export type Log = (
  level: Exclude<LogLevel, 'silent'>,
  event: string,
  fields?: Readonly<Record<string, unknown>>,
) => void;

/** How lines are written. */
export interface LogOptions {
  /** Less important lines are not written. Default `info`. */
  readonly level?: LogLevel;
  /** A JSON object in each line, or a text for people. Default `text`. */
  readonly format?: 'json' | 'text';
  /** Where lines go, with their end. Default: standard error. */
  readonly write?: (line: string) => void;
  /** Takes secrets out of a text. */
  readonly redact?: (text: string) => string;
}

const MAX_VALUE_LENGTH = 2000;
/** Values that go by such names are never written, whatever they are. */
const SECRET = /authorization|cookie|password|passwd|secret|token|api_?key/i;

/** Structured lines with levels: one line for each call, whatever is in the values. */
export function openLog(options: LogOptions = {}): Log {
  const { level = 'info', format = 'text', write = writeToStderr, redact = (text) => text } = options;
  const min = LOG_LEVELS.indexOf(level);
  return (lineLevel, event, fields = {}) => {
    if (LOG_LEVELS.indexOf(lineLevel) < min) return;
    const facts = Object.entries(fields).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, safe(name, value, redact)] as const],
    );
    const time = new Date().toISOString();
    if (format === 'json') {
      const line = JSON.stringify({ ...Object.fromEntries(facts), time, level: lineLevel, event });
      write(`${printableJson(line)}\n`);
      return;
    }
    const pairs = facts.map(([name, value]) => ` ${name}=${plain(value)}`).join('');
    write(`${time} ${lineLevel.toUpperCase().padEnd(5)} ${event}${pairs}\n`);
  };
}

function safe(name: string, value: unknown, redact: (text: string) => string): unknown {
  if (SECRET.test(name)) return '***';
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
  const text = typeof value === 'string' ? value : value instanceof Error ? value.message : jsonOf(value);
  return redact(text).slice(0, MAX_VALUE_LENGTH);
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

/** As it is where that is clear; otherwise in quotes, so that nothing can begin a line or a field of its own. */
function plain(value: unknown): string {
  const text = String(value);
  return /^[\w.,:/@+*-]+$/.test(text) ? text : printableJson(JSON.stringify(text));
}

function writeToStderr(line: string): void {
  process.stderr.write(line);
}
