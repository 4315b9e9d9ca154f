import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Principal } from '../auth/principal.ts';
import type { Log } from '../log/log.ts';
import type { ServerMetrics } from '../metrics/server-metrics.ts';

const READING = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Refusals that may mean that somebody tries doors. */
const SUSPICIOUS = new Set([401, 403, 421]);

/** What stands for the status of an answer that nobody waited for. */
const CLIENT_GONE = 499;

/** Tells of requests, in names, numbers and ids, never bodies, headers or tokens: all of them to the metrics and, in detail, the log; those that change something or were refused always to the log. */
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

/** What is known of a request besides what it says. */
export interface RequestContext {
  readonly id: number;
  readonly startedAt: number;
  /** By which limits count the client; asked at once, for a connection that is gone has none. */
  readonly address: string;
  principal: Principal | undefined;
  /** The pattern of the path that it was matched with, for metrics; what the client wrote never stands there. */
  route: string;
  /** What it changed, for the audit: names and ids, no contents. */
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
