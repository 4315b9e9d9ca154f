import { posix } from 'node:path';
import picomatch from 'picomatch';
import { globProblem } from '../../core/glob.ts';

/**
 * Whether a relative path is one of those that paths, folders and globs name. A path stands for all below it, too; what
 * begins with `!` is taken out again.
 */
export function pathMatcher(patterns: readonly string[], isCaseless = false): (path: string) => boolean {
  const wanted = patterns.filter((one) => !isNegative(one)).map((one) => matcherOf(one, isCaseless));
  const unwanted = patterns.filter(isNegative).map((one) => matcherOf(one.slice(1), isCaseless));
  return (path) => wanted.some((matches) => matches(path)) && !unwanted.some((matches) => matches(path));
}

/** `!(a|b)` is a glob of its own. */
function isNegative(pattern: string): boolean {
  return pattern.startsWith('!') && pattern[1] !== '(';
}

function matcherOf(pattern: string, isCaseless: boolean): (path: string) => boolean {
  const cased = (text: string) => (isCaseless ? text.toLowerCase() : text);
  const plain = posix.normalize(pattern.trim().replaceAll('\\', '/')).replace(/(?<=.)\/$/, '');
  if (plain === '.') return () => true;
  const name = cased(plain);
  const isGlob = globProblem(plain) === undefined && picomatch.scan(plain).isGlob;
  const glob = isGlob ? picomatch(plain, { dot: true, nocase: isCaseless }) : undefined;
  // A name may hold what a glob gives a meaning to: `app/[id]/page.tsx`.
  return (path) => cased(path) === name || cased(path).startsWith(`${name}/`) || glob?.(path) === true;
}
