import type { IncomingMessage } from 'node:http';
import type { Principal } from '../auth/principal.ts';

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
