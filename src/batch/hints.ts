/**
 * What to do next, in the words of a request: models read them in answers. The command line replaces each of them by
 * a command or an option. `{value}` stands for a number or an id.
 */
export const HINTS = {
  nextPage: 'For the next page, pass "cursor": {value}.',
  nextPart: 'The next part starts at "offset": {value}.',
  oneResult:
    'For one full result, pass its "id". For a part of it, add "range": { "offset": 0, "length": 10000 }, in bytes.',
  itemsOf: 'For the items of a group, pass its id as "group".',
  moreResults: 'For a paged list, pass "format": "detailed". For one full result, pass its "id".',
  retryFailed: 'See "results" for the reasons. "retry" reopens these tasks.',
  retryCause: '"retry" of {value} reopens both.',
  retry: '"retry" reopens it.',
  logs: 'For what it printed, ask for "logs" of {value}.',
  startOpen: 'Open tasks run on the next "start".',
  start: 'Run it with "start".',
  recover: 'Recover it with "start".',
} as const;

export type HintName = keyof typeof HINTS;

/** Finds each hint at the end of a line. What comes from tools stays as it is unless it ends like one. */
const PATTERNS = Object.entries(HINTS).map(([name, hint]) => {
  const escaped = hint.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replace('\\{value\\}', '(\\S+)');
  return { name: name as HintName, pattern: new RegExp(`(?<=^|\\s)${escaped}$`) };
});

/** The hint that a line ends with. */
export function findHint(line: string): { readonly name: HintName; readonly pattern: RegExp } | undefined {
  return PATTERNS.find(({ pattern }) => pattern.test(line));
}

/** The hints in an answer, for clients that pass on only its data. */
export function hintsIn(text: string): string[] {
  return text.split('\n').flatMap((line) => findHint(line)?.pattern.exec(line)?.[0] ?? []);
}

/** A hint as a sentence for a model. */
export function hintText(name: HintName, value: number | string = ''): string {
  return HINTS[name].replace('{value}', () => String(value));
}
