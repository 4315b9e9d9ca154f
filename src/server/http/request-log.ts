import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../log/log.ts';
import type { ServerMetrics } from '../metrics/server-metrics.ts';
import type { RequestContext } from './request-context.ts';

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
