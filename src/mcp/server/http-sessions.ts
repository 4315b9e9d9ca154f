import { randomUUID } from 'node:crypto';
import {
  type AuthInfo,
  isInitializeRequest,
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { CallCount } from './call-count.ts';
import { jsonRpcError } from './mcp-http.ts';

export interface SessionLimits {
  /** How many there are at once. */
  readonly maxSessions: number;
  /** How long one may do nothing. */
  readonly idleMs: number;
}

interface Session {
  readonly server: McpServer;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly calls: CallCount;
  /** The name of the token. Other tokens cannot use the session. */
  readonly owner: string;
  usedAt: number;
}

const SESSION_NOT_FOUND = -32001;
const BAD_REQUEST = -32000;
const MAX_CHECK_MS = 60_000;

/** Connections of 2025-era clients, which have a state: a cancelling message finds the call that it means. */
export class McpSessions {
  private readonly sessions = new Map<string, Session>();
  /** How many are just being opened: each has its place already. */
  private opening = 0;
  private readonly timer: NodeJS.Timeout;
  private isClosed = false;

  constructor(
    private readonly limits: SessionLimits,
    private readonly create: (calls: CallCount) => McpServer,
  ) {
    this.timer = setInterval(() => this.endIdle(), Math.min(limits.idleMs, MAX_CHECK_MS)).unref();
  }

  get count(): number {
    return this.sessions.size;
  }

  async handle(request: Request, body: unknown, caller: AuthInfo): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    if (id === null) return this.begin(request, body, caller);
    const session = this.sessions.get(id);
    // Of somebody else's session one does not even learn that there is one.
    if (session === undefined || session.owner !== caller.clientId) {
      return jsonRpcError(404, SESSION_NOT_FOUND, 'Unknown or expired session. Initialize again.');
    }
    session.usedAt = Date.now();
    return session.transport.handleRequest(request, { authInfo: caller, parsedBody: body });
  }

  /** Until no call is in progress, or for so long. */
  async idle(longestMs: number): Promise<void> {
    await Promise.all([...this.sessions.values()].map(({ calls }) => calls.idle(longestMs)));
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.timer);
    await Promise.all([...this.sessions.keys()].map((id) => this.end(id)));
  }

  private async begin(request: Request, body: unknown, caller: AuthInfo): Promise<Response> {
    if (request.method !== 'POST' || !isInitializeRequest(body)) {
      return jsonRpcError(
        400,
        BAD_REQUEST,
        'Begin with "initialize", then send the Mcp-Session-Id of its answer',
      );
    }
    if (this.isClosed || !this.makeRoom()) {
      return jsonRpcError(503, BAD_REQUEST, `There are ${this.taken} sessions already: try again later`);
    }
    this.opening++;
    try {
      return await this.open(request, body, caller);
    } finally {
      this.opening--;
    }
  }

  private async open(request: Request, body: unknown, caller: AuthInfo): Promise<Response> {
    const calls = new CallCount();
    const server = this.create(calls);
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
    await server.connect(transport);
    const response = await transport.handleRequest(request, { authInfo: caller, parsedBody: body });
    const { sessionId } = transport;
    if (sessionId === undefined || this.isClosed) {
      await server.close();
      return response;
    }
    this.sessions.set(sessionId, { server, transport, calls, owner: caller.clientId, usedAt: Date.now() });
    const ended = server.server.onclose;
    server.server.onclose = () => {
      ended?.();
      this.sessions.delete(sessionId);
    };
    return response;
  }

  private get taken(): number {
    return this.sessions.size + this.opening;
  }

  /** The one that did nothing for the longest time gives way. */
  private makeRoom(): boolean {
    if (this.taken < this.limits.maxSessions) return true;
    let longest: [string, Session] | undefined;
    for (const entry of this.sessions) {
      if (entry[1].calls.isIdle && (longest === undefined || entry[1].usedAt < longest[1].usedAt))
        longest = entry;
    }
    if (longest === undefined) return false;
    void this.end(longest[0]);
    return true;
  }

  private endIdle(): void {
    const oldest = Date.now() - this.limits.idleMs;
    for (const [id, { usedAt, calls }] of this.sessions) {
      if (usedAt < oldest && calls.isIdle) void this.end(id);
    }
  }

  private async end(id: string): Promise<void> {
    const session = this.sessions.get(id);
    this.sessions.delete(id);
    // It is gone for us whatever closing it says.
    await session?.server.close().catch(() => undefined);
  }
}
