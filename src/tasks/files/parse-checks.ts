import type { Check } from '../feature.ts';
import type { Fields } from './fields.ts';

const DEFAULT_TIMEOUT_SECONDS = 300;
const LONGEST_TIMEOUT_SECONDS = 24 * 60 * 60;
const FORMS =
  '{"type":"command","command":"npm test","expect_exit":0,"expect_text":"passed","timeout_seconds":300}, {"type":"file_exists","path":"a.ts"} or {"type":"file_contains","path":"a.ts","text":"export"}';

/** The entries of `verification`. A text alone is a command that must succeed. */
export function parseChecks(fields: Fields): Check[] {
  return fields.items('verification', 'a list of checks').flatMap((item, place) => {
    const check = typeof item === 'string' ? command({ command: item }) : parseCheck(item);
    if (check !== undefined) return [check];
    fields.note('verification', `entry ${place + 1} of "verification" is no check.`, `Valid are ${FORMS}.`);
    return [];
  });
}

function parseCheck(item: unknown): Check | undefined {
  const entry = (typeof item === 'object' && item !== null ? item : {}) as Record<string, unknown>;
  const { type, path, text } = entry;
  if (type === 'command') return command(entry);
  if (typeof path !== 'string' || path === '') return undefined;
  if (type === 'file_exists') return { type, path };
  return type === 'file_contains' && typeof text === 'string' ? { type, path, text } : undefined;
}

function command(entry: Record<string, unknown>): Check | undefined {
  const { command: line, expect_exit: exit = 0, expect_text: text, timeout_seconds: seconds } = entry;
  const timeout = seconds ?? DEFAULT_TIMEOUT_SECONDS;
  const isRight =
    typeof line === 'string' &&
    line.trim() !== '' &&
    Number.isInteger(exit) &&
    (text === undefined || typeof text === 'string') &&
    typeof timeout === 'number' &&
    timeout > 0 &&
    timeout <= LONGEST_TIMEOUT_SECONDS;
  if (!isRight) return undefined;
  return {
    type: 'command',
    command: line,
    expectExit: exit as number,
    expectText: text as string | undefined,
    timeoutMs: timeout * 1000,
  };
}
