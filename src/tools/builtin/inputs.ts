import { z } from 'zod';
import { linearGlob } from '../pattern/glob.ts';
import { PatternError } from '../pattern/regex.ts';

/** A path of the caller's; whether it may be used is asked by `Roots`. */
export const PATH = z.string().min(1).max(4096);

export const TEXT_ENCODING = z.enum(['utf8', 'base64']).default('utf8');

/** The longest glob, text or expression that is searched for. */
export const LONGEST_PATTERN = 1000;

export const GLOB = z
  .string()
  .min(1)
  .max(LONGEST_PATTERN)
  .superRefine((glob, check) => {
    const problem = patternProblem(() => linearGlob(glob));
    if (problem !== undefined) check.addIssue(problem);
  });

/** What is wrong with a pattern, if anything. */
export function patternProblem(compile: () => unknown): string | undefined {
  try {
    compile();
    return undefined;
  } catch (error) {
    if (error instanceof PatternError) return error.message;
    throw error;
  }
}

/** A glob with a slash is asked of the whole path, one without of the name alone, at any depth. */
export function pathMatcher(glob: string): (path: string, name: string) => boolean {
  const matcher = linearGlob(glob);
  return glob.includes('/') ? (path) => matcher.test(path) : (_, name) => matcher.test(name);
}
