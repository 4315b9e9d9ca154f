import type { Context } from 'hono';
import type { z } from 'zod';
import { faultText } from '../../batch/input/check.ts';
import { VolleyError } from '../../core/errors.ts';
import type { ProblemBody } from '../wire/problem.ts';
import { headersOf, problemOf } from './problem.ts';

const MAX_ERRORS = 20;

const PLACES: Readonly<Record<string, 'body' | 'query' | 'path'>> = {
  json: 'body',
  query: 'query',
  param: 'path',
};

/** The answer to a request that breaks its schema: every wrong field, with a JSON pointer to it. */
export function schemaProblem(
  { target, data, error }: { target: string; data: unknown; error: z.core.$ZodError },
  context: Context,
): Response {
  const place = PLACES[target] ?? 'body';
  const errors = error.issues.flatMap((issue) => errorsOf(issue, data, place)).slice(0, MAX_ERRORS);
  const [first] = errors;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  const problem = problemOf(
    new VolleyError(
      'INVALID_REQUEST',
      `The ${place} of the request is not valid: ${first!.pointer || 'it'} ${first!.detail}${more}. Nothing was done.`,
    ),
  );
  return context.body(JSON.stringify({ ...problem, errors }), 400, headersOf(problem));
}

function errorsOf(
  issue: z.core.$ZodIssue,
  data: unknown,
  place: 'body' | 'query' | 'path',
): NonNullable<ProblemBody['errors']> {
  const detail = faultText(issue, data).slice(0, 300);
  if (issue.code !== 'unrecognized_keys') return [{ in: place, pointer: pointerTo(issue.path), detail }];
  return issue.keys.map((key) => ({
    in: place,
    pointer: pointerTo([...issue.path, key]),
    detail: 'is no field of it',
  }));
}

/** RFC 6901. */
function pointerTo(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
