import type { CallResult } from '../../../../src/coordinator/call.ts';

const BASE = { name: 'files.read', attempts: 1, waitedMs: 0, durationMs: 5 };

export function completed(id: string, value: unknown): CallResult {
  return { ...BASE, id, status: 'completed', value };
}

function failed(id: string, message = 'The host did not answer'): CallResult {
  return { ...BASE, id, attempts: 3, status: 'failed', reason: 'timeout', error: { name: 'Error', message } };
}

/** One of each kind, with the ids `a` to `h`. */
export const RESULTS: readonly CallResult[] = [
  completed('a', 'a text'),
  completed('b', { rows: [1, 2], when: new Date(0), none: undefined }),
  completed('c', [true, null, 10n]),
  completed('d', undefined),
  failed('e'),
  {
    ...BASE,
    id: 'f',
    attempts: 0,
    status: 'failed',
    reason: 'error',
    error: { name: 'VolleyError', code: 'INVALID_ARGUMENTS', message: '/path must be a string' },
  },
  { ...BASE, id: 'g', status: 'cancelled', reason: 'the user left' },
  { ...BASE, id: 'h', status: 'skipped', cause: 'e' },
];

/** What a model reads of each. */
export const TEXTS: readonly string[] = [
  'a text',
  '{"rows":[1,2],"when":"1970-01-01T00:00:00.000Z"}',
  '[true,null,"10"]',
  '(no result)',
  'failed (timeout) after 3 attempts: The host did not answer',
  'failed (INVALID_ARGUMENTS): /path must be a string',
  'cancelled: the user left',
  'skipped: it depends on call e, which did not end as required',
];
