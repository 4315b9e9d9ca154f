import type { ServerResponse } from 'node:http';
import { ERROR_CODES, type ErrorCode, VolleyError } from '../../core/errors.ts';
import type { ProblemBody } from '../wire/problem.ts';

export const PROBLEM_TYPE = 'application/problem+json';

/** Everything else is a defect of ours, or of the machine. */
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
  UNKNOWN_EXECUTION: 404,
  UNKNOWN_FEATURE: 404,
  UNKNOWN_SUBTASK: 404,
  METHOD_NOT_ALLOWED: 405,
  DUPLICATE_ID: 409,
  BATCH_HELD: 409,
  BATCH_RUNNING: 409,
  TASK_SETTLED: 409,
  FEATURE_RUNNING: 409,
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

/** An error as the client may see it. What broke inside of us is for the log, not for the client. */
export function problemOf(thrown: unknown, status?: number): ProblemBody {
  const error = thrown instanceof VolleyError ? thrown : undefined;
  const code = error?.code ?? 'INTERNAL';
  const isOurs = error === undefined || code === 'INTERNAL';
  return {
    type: `urn:volley:error:${code}`,
    title: ERROR_CODES[code].meaning,
    status: status ?? statusOf(code),
    detail: isOurs ? 'Volley failed at this request; its log says more.' : error.message,
    code,
    ...(!isOurs && Object.keys(error.details).length > 0 && { facts: error.details }),
  };
}

/** Headers that belong to a status. */
export function headersOf(problem: ProblemBody, retryAfter?: number): Record<string, string> {
  return {
    'Content-Type': PROBLEM_TYPE,
    ...(problem.status === 401 && { 'WWW-Authenticate': 'Bearer realm="volley"' }),
    ...(problem.status === 429 && { 'Retry-After': String(retryAfter ?? 1) }),
    ...(problem.status === 503 && { 'Retry-After': '5' }),
  };
}

/** How long a client that still sends may take to notice that it was answered. */
const NOTICE_MS = 1000;

/** Answers a request that goes no further. What it still sends is thrown away. */
export function sendProblem(outgoing: ServerResponse, problem: ProblemBody, retryAfter?: number): void {
  if (outgoing.headersSent) {
    outgoing.destroy();
    return;
  }
  const { req } = outgoing;
  const text = JSON.stringify(problem);
  const headers = { ...headersOf(problem, retryAfter), 'Content-Length': Buffer.byteLength(text) };
  outgoing.writeHead(problem.status, req.complete ? headers : { ...headers, Connection: 'close' });
  const body = req.method === 'HEAD' ? '' : text;
  if (req.complete) {
    outgoing.end(body);
    return;
  }
  // A connection that is closed at once takes the answer with it, where the client is in the middle of sending.
  outgoing.write(body);
  const end = () => outgoing.end();
  const timer = setTimeout(end, NOTICE_MS).unref();
  outgoing.once('close', () => clearTimeout(timer));
  req.once('end', end).resume();
}
