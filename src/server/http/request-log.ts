import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Principal } from '../auth/principal.ts';
import type { Log } from '../log/log.ts';
import type { ServerMetrics } from '../metrics/server-metrics.ts';

const READING = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Refusals that may indicate an attack. */
const SUSPICIOUS = new Set([401, 403, 421]);

/** The logged status when the client disconnected before the response. */
const CLIENT_GONE = 499;

/** Records requests in the metrics and the log. Writes and refusals are always logged, other requests only at level debug. Never records bodies, headers or tokens. */
export class RequestLog {
  constructor(
    private readonly metrics: Pick<ServerMetrics, 'request'>,
    private readonly line: Log,
  ) {}

  ended(incoming: IncomingMessage, outgoing: ServerResponse, context: RequestContext): void {
    const { method = '' } = incoming;
    const status = outgoing.headersSent ? outgoing.statusCode : CLIENT_GONE;
    const ms = performance.now() - context.startedAt;
    this.metrics.request(context.route, method, status, ms);
    const isSuspicious = SUSPICIOUS.has(status);
    const isAudited = isSuspicious || (!READING.has(method) && context.principal !== undefined);
    const level = isSuspicious ? 'warn' : isAudited ? 'info' : 'debug';
    this.line(level, isAudited ? 'audit' : 'request', {
      request: context.id,
      who: context.principal?.name ?? null,
      address: context.address,
      method,
      route: context.route,
      ...(context.subject !== undefined && { subject: context.subject }),
      status,
      ms: Math.round(ms),
    });
  }

  failed({ method }: IncomingMessage, error: unknown): void {
    const { stack, message } = error instanceof Error ? error : { stack: undefined, message: String(error) };
    this.line('error', 'request failed', { method, error: stack ?? message });
  }
}

/** What the server knows about a request. */
export interface RequestContext {
  readonly id: number;
  readonly startedAt: number;
  /** The client's address for limits. Read at once, because a closed connection has none. */
  readonly address: string;
  principal: Principal | undefined;
  /** The matched route pattern, for metrics. Never contains text from the client. */
  route: string;
  /** What it changed, for the audit log: names and ids only. */
  subject: string | undefined;
  /** Whether nothing was done, though the status of the answer is that of success. */
  isRefused: boolean;
}

const CONTEXT = Symbol('context of a request');

interface WithContext {
  [CONTEXT]?: RequestContext;
}

export function setContext(incoming: IncomingMessage, context: RequestContext): void {
  (incoming as WithContext)[CONTEXT] = context;
}

export function contextOf(incoming: IncomingMessage): RequestContext {
  return (incoming as WithContext)[CONTEXT]!;
}
