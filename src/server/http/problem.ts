import type { ServerResponse } from 'node:http';
import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { faultText } from '../../batch/input/check.ts';
import { ERROR_CODES, type ErrorCode, VolleyError } from '../../core/errors.ts';

export const PROBLEM_TYPE = 'application/problem+json';

/** Every other code is an internal error. */
const STATUSES: Partial<Record<ErrorCode, number>> = {
  INVALID_REQUEST: 400,
  INVALID_VALUE: 400,
  INVALID_ID: 400,
  INVALID_CALL: 400,
  INVALID_JSON: 400,
  DUPLICATE_HOST: 400,
  INEXACT_NUMBER: 400,
  BODY_TOO_DEEP: 400,
  UNKNOWN_ACTION: 400,
  UNKNOWN_PRIORITY: 400,
  UNAUTHENTICATED: 401,
  NOT_PERMITTED: 403,
  ORIGIN_NOT_ALLOWED: 403,
  PATH_NOT_ALLOWED: 403,
  PATH_PROTECTED: 403,
  UNKNOWN_ROUTE: 404,
  UNKNOWN_BATCH: 404,
  UNKNOWN_TASK: 404,
  UNKNOWN_BLOB: 404,
  UNKNOWN_EXECUTION: 404,
  UNKNOWN_FEATURE: 404,
  UNKNOWN_SUBTASK: 404,
  CLUSTER_UNKNOWN_WORKER: 404,
  METHOD_NOT_ALLOWED: 405,
  DUPLICATE_ID: 409,
  BATCH_HELD: 409,
  BATCH_RUNNING: 409,
  TASK_SETTLED: 409,
  FEATURE_RUNNING: 409,
  FEATURE_BATCH: 409,
  SUBTASK_REFUSED: 409,
  WORKSPACE_UNAVAILABLE: 409,
  BODY_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RANGE_NOT_SATISFIABLE: 416,
  HOST_NOT_ALLOWED: 421,
  DEPENDENCY_CYCLE: 422,
  UNKNOWN_DEPENDENCY: 422,
  UNRESOLVED_REFERENCE: 422,
  IMPOSSIBLE_DEMAND: 422,
  UNKNOWN_TOOL: 422,
  TOOL_NOT_ALLOWED: 422,
  NOT_TRUSTED: 422,
  INVALID_ARGUMENTS: 422,
  IDEMPOTENCY_CONFLICT: 422,
  INVALID_FEATURE: 422,
  AGENT_NOT_ALLOWED: 422,
  AGENT_NOT_INSTALLED: 422,
  VERIFICATION_FAILED: 422,
  RATE_LIMITED: 429,
  TOO_MANY_STREAMS: 429,
  ENGINE_CLOSED: 503,
  RUNNER_CLOSED: 503,
  STORE_CLOSED: 503,
  STORE_UNAVAILABLE: 503,
  TASKS_LOCKED: 503,
  TASKS_UNAVAILABLE: 503,
  SERVER_CLOSING: 503,
};

function statusOf(code: ErrorCode): number {
  return STATUSES[code] ?? 500;
}

/** Converts an error for the client. Internal errors are logged, not sent. */
export function problemBody(thrown: unknown, status?: number): ProblemBody {
  const error = thrown instanceof VolleyError ? thrown : undefined;
  const code = error?.code ?? 'INTERNAL';
  const isOurs = error === undefined || code === 'INTERNAL';
  return {
    type: `urn:volley:error:${code}`,
    title: ERROR_CODES[code].meaning,
    status: status ?? statusOf(code),
    detail: isOurs ? 'Volley failed to handle this request. See its log.' : error.message,
    code,
    ...(!isOurs && Object.keys(error.details).length > 0 && { facts: error.details }),
  };
}

/** Headers that belong to a status. */
export function problemHeaders(problem: ProblemBody, retryAfter?: number): Record<string, string> {
  return {
    'Content-Type': PROBLEM_TYPE,
    ...(problem.status === 401 && { 'WWW-Authenticate': 'Bearer realm="volley"' }),
    ...(problem.status === 429 && { 'Retry-After': String(retryAfter ?? 1) }),
    ...(problem.status === 503 && { 'Retry-After': '5' }),
  };
}

/** How long a client that is still sending may take to notice the response. */
const NOTICE_MS = 1000;

/** Answers a refused request and discards the rest of its body. */
export function sendProblem(outgoing: ServerResponse, problem: ProblemBody, retryAfter?: number): void {
  if (outgoing.headersSent) {
    outgoing.destroy();
    return;
  }
  const { req } = outgoing;
  const text = JSON.stringify(problem);
  const headers = { ...problemHeaders(problem, retryAfter), 'Content-Length': Buffer.byteLength(text) };
  outgoing.writeHead(problem.status, req.complete ? headers : { ...headers, Connection: 'close' });
  const body = req.method === 'HEAD' ? '' : text;
  if (req.complete) {
    outgoing.end(body);
    return;
  }
  // Closing at once would lose the response while the client is still sending.
  outgoing.write(body);
  const end = () => outgoing.end();
  const timer = setTimeout(end, NOTICE_MS).unref();
  outgoing.once('close', () => clearTimeout(timer));
  req.once('end', end).resume();
}

/** `application/problem+json` (RFC 9457) with Volley's own code. */
export const PROBLEM = z
  .object({
    type: z.string().describe('urn:volley:error: and the code.'),
    title: z.string().describe('What the code means.'),
    status: z.int(),
    detail: z.string().describe('What is wrong, and what to do.'),
    code: z.string().describe('A code of docs/errors.md.'),
    /** The details of the error, such as `nearest`. */
    facts: z.record(z.string(), z.unknown()).optional(),
    errors: z
      .array(
        z.object({
          in: z.enum(['body', 'query', 'path']),
          pointer: z.string().describe('A JSON pointer to the field.'),
          detail: z.string(),
        }),
      )
      .optional()
      .describe('The first 20 invalid fields.'),
  })
  .openapi('Problem');

export type ProblemBody = z.output<typeof PROBLEM>;

const MAX_ERRORS = 20;

const PLACES: Readonly<Record<string, 'body' | 'query' | 'path'>> = {
  json: 'body',
  query: 'query',
  param: 'path',
};

/** The answer to a request that does not match its schema: every invalid field, with a JSON pointer. */
export function sendSchemaProblem(
  { target, data, error }: { target: string; data: unknown; error: z.core.$ZodError },
  context: Context,
): Response {
  const place = PLACES[target] ?? 'body';
  const errors = error.issues.flatMap((issue) => errorsOf(issue, data, place)).slice(0, MAX_ERRORS);
  const [first] = errors;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  const problem = problemBody(
    new VolleyError(
      'INVALID_REQUEST',
      `The ${place} of the request is not valid: ${first!.pointer || 'it'} ${first!.detail}${more}. Nothing was done.`,
    ),
  );
  return context.body(JSON.stringify({ ...problem, errors }), 400, problemHeaders(problem));
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
    detail: 'is not a known field',
  }));
}

/** RFC 6901. */
function pointerTo(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
