import { posix } from 'node:path';
import picomatch from 'picomatch';
import { globProblem } from '../../core/glob.ts';

/** Whether a pattern excludes paths; `!(a|b)` is an ordinary glob. */
export function isNegated(pattern: string): boolean {
  return pattern.startsWith('!') && pattern[1] !== '(';
}

/** Matches relative paths against paths, folders and globs. A path includes everything below it; `!` excludes. */
export function patternMatcher(patterns: readonly string[], ignoreCase = false): (path: string) => boolean {
  const wanted = patterns.filter((one) => !isNegated(one)).map((one) => matcherOf(one, ignoreCase));
  const unwanted = patterns.filter(isNegated).map((one) => matcherOf(one.slice(1), ignoreCase));
  return (path) => wanted.some((matches) => matches(path)) && !unwanted.some((matches) => matches(path));
}

function matcherOf(pattern: string, ignoreCase: boolean): (path: string) => boolean {
  const cased = (text: string) => (ignoreCase ? text.toLowerCase() : text);
  const plain = posix.normalize(pattern.trim().replaceAll('\\', '/')).replace(/(?<=.)\/$/, '');
  if (plain === '.') return () => true;
  const name = cased(plain);
  const isPattern = globProblem(plain) === undefined && isGlob(plain);
  const glob = isPattern ? picomatch(plain, { dot: true, nocase: ignoreCase }) : undefined;
  // The plain name counts too, since names may contain glob characters: `app/[id]/page.tsx`.
  return (path) => cased(path) === name || cased(path).startsWith(`${name}/`) || glob?.(path) === true;
}

export function isGlob(path: string): boolean {
  return picomatch.scan(path).isGlob;
}
