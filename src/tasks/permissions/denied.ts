import { pathMatcher } from './path-matcher.ts';

/**
 * Those of the paths that no agent may touch. Upper and lower case are the same here, for on many systems they name the
 * same file, and a path above the project counts as if it stood in it.
 */
export function deniedAmong(paths: readonly string[], patterns: readonly string[]): string[] {
  const isDenied = pathMatcher(patterns, true);
  return paths.filter((path) => isDenied(path.replace(/^(\.\.\/)+/, '')));
}
