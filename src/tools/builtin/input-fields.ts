import { z } from 'zod';
import { linearGlob } from '../pattern/glob.ts';
import { PatternError } from '../pattern/regex.ts';

/** A caller's path; `Roots` checks whether it may be used. */
export const PATH = z.string().min(1).max(4096);

export const TEXT_ENCODING = z.enum(['utf8', 'base64']).default('utf8');

/** The maximum length of a glob, text or expression to search for. */
export const MAX_PATTERN_LENGTH = 1000;

export const GLOB = z
  .string()
  .min(1)
  .max(MAX_PATTERN_LENGTH)
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
