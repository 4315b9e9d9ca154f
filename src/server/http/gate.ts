import type { IncomingMessage, ServerResponse } from 'node:http';
import { VolleyError } from '../../core/errors.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import type { Principal } from '../auth/principal.ts';
import type { BatchReads } from './batch-reads.ts';
import { checkJson, hasBody, readRequestBody } from './body.ts';
import { clientAddress } from './client-address.ts';
import type { RequestLimits } from './limits.ts';
import type { HostRule, OriginRule } from './origin.ts';
import { problemBody, sendProblem } from './problem.ts';
import type { RequestLog } from './request-log.ts';
import { type RequestContext, setContext } from './request-log.ts';
import { setSecurityHeaders } from './security-headers.ts';

interface GateParts {
  readonly hosts: HostRule;
  readonly origins: OriginRule;
  readonly authenticator: Authenticator;
  readonly limits: RequestLimits;
  readonly log: RequestLog;
  readonly reads: BatchReads;
  readonly maxBodyBytes: number;
  readonly maxDepth: number;
  /** Handles accepted requests. */
  readonly next: (incoming: IncomingMessage, outgoing: ServerResponse) => void;
}

/** Without a token, a request only needs to carry a key. */
const MAX_BYTES_OF_STRANGERS = 4096;

/**
 * Checks every request before routing, so that no route can forget it: Host header, origin, rate limits, authentication,
 * and the form of the body.
 */
export class Gate {
  private count = 0;
  private isClosing = false;

  constructor(private readonly parts: GateParts) {}

  readonly listener = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const now = Date.now();
    const context: RequestContext = {
      id: ++this.count,
      startedAt: performance.now(),
      address: clientAddress(incoming.socket.remoteAddress),
      principal: undefined,
      route: 'none',
      subject: undefined,
      isRefused: false,
    };
    setContext(incoming, context);
    outgoing.on('close', () => this.parts.log.ended(incoming, outgoing, context));
    try {
      if (!this.admit(incoming, outgoing, context, now)) return;
      const answered = !hasBody(incoming) && this.parts.reads.answer(incoming, outgoing, context);
      if (answered === true) return;
      if (answered !== false) {
        answered
          .then((isDone) => isDone || this.pass(incoming, outgoing, context))
          .catch((error: unknown) => this.refuse(outgoing, error));
        return;
      }
    } catch (error) {
      this.refuse(outgoing, error);
      return;
    }
    this.pass(incoming, outgoing, context);
  };

  /** From now on, only reads are accepted. */
  close(): void {
    this.isClosing = true;
  }

  private pass(incoming: IncomingMessage, outgoing: ServerResponse, context: RequestContext): void {
    setSecurityHeaders(outgoing);
    if (hasBody(incoming)) void this.withBody(incoming, outgoing, context);
    else this.parts.next(incoming, outgoing);
  }

  /** Returns whether the request continues. Throws if it is refused. */
  private admit(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    context: RequestContext,
    now: number,
  ): boolean {
    const { hosts, origins, authenticator, limits } = this.parts;
    let principal: Principal | undefined;
    try {
      hosts.check(hostOf(incoming));
      origins.check(incoming, outgoing);
      principal = authenticator.identify(incoming.headers, now);
      if (principal !== undefined) origins.checkCookieRequest(incoming, principal);
    } catch (error) {
      limits.takeStranger(context.address, now);
      throw error;
    }
    if (principal === undefined) limits.takeStranger(context.address, now);
    else limits.take(principal, context.address, now);
    context.principal = principal;
    if (this.isClosing && incoming.method !== 'GET' && incoming.method !== 'HEAD')
      throw new VolleyError('SERVER_CLOSING', 'The server is stopping and accepts no new work.');
    if (incoming.method === 'OPTIONS' && incoming.headers['access-control-request-method'] !== undefined) {
      setSecurityHeaders(outgoing);
      origins.preflight(outgoing);
      outgoing.writeHead(204).end();
      return false;
    }
    return true;
  }

  private async withBody(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    { principal }: RequestContext,
  ): Promise<void> {
    const { maxBodyBytes, maxDepth, next } = this.parts;
    try {
      const max = principal === undefined ? Math.min(maxBodyBytes, MAX_BYTES_OF_STRANGERS) : maxBodyBytes;
      const body = await readRequestBody(incoming, max);
      checkJson(body, incoming.headers['content-type'], maxDepth);
      // Hono's adapter looks here for a body that is already read.
      Object.assign(incoming, { rawBody: body });
    } catch (error) {
      this.refuse(outgoing, error);
      return;
    }
    next(incoming, outgoing);
  }

  private refuse(outgoing: ServerResponse, error: unknown): void {
    if (outgoing.destroyed) return;
    const problem = problemBody(error);
    const { retry_after: retryAfter } = (problem.facts ?? {}) as { retry_after?: number };
    if (problem.code === 'INTERNAL') this.parts.log.failed(outgoing.req, error);
    if (!outgoing.headersSent) setSecurityHeaders(outgoing);
    sendProblem(outgoing, problem, retryAfter);
  }
}

/** Node keeps the first of several Host headers, but a proxy in front may have checked another one. */
function hostOf({ headers, rawHeaders }: IncomingMessage): string | undefined {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]!.toLowerCase() === 'host') count++;
  if (count > 1) throw new VolleyError('DUPLICATE_HOST', `The request has ${count} Host headers. Send one.`);
  return headers.host;
}
