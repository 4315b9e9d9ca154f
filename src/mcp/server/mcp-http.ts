import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type AuthInfo,
  createMcpHandler,
  isLegacyRequest,
  type McpHttpHandler,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';
import type { Scope } from '../../batch/actions/define-action.ts';
import { CallCount } from './call-count.ts';
import { createServer } from './create-server.ts';
import { McpSessions, type SessionLimits } from './http-sessions.ts';
import type { Offer } from './serve-tools.ts';
import type { McpBackend } from './tool.ts';
import { changeBus } from './updates.ts';

interface McpHttpOptions extends Partial<SessionLimits> {
  readonly backend: McpBackend;
  readonly offer: Offer;
  /** Of Volley. */
  readonly version: string;
  onError(error: unknown): void;
}

/** Who sends a request, as the server that lets it in found out. */
interface McpCaller {
  readonly name: string;
  readonly scopes: readonly Scope[];
}

const MAX_SESSIONS = 256;
const IDLE_MS = 24 * 3600 * 1000;
/** How long calls may take to stop what they started, when everything is closed. */
const LAST_CALLS_MS = 5000;
/** How long a call may take to answer once nothing runs any more. */
const LAST_ANSWERS_MS = 500;

/**
 * MCP over streamable HTTP. Who may call is decided before a request comes here, and so is the name by which the server
 * is called: this is for a route behind authentication.
 */
export class McpHttp {
  private readonly modern: McpHttpHandler;
  private readonly sessions: McpSessions;
  private readonly calls = new CallCount();

  constructor({
    backend,
    offer,
    version,
    onError,
    maxSessions = MAX_SESSIONS,
    idleMs = IDLE_MS,
  }: McpHttpOptions) {
    const open = async () => backend;
    const shared = { open, offer, version, onError };
    this.modern = createMcpHandler(
      () => createServer({ ...shared, era: 'modern', calls: this.calls, updates: 'none' }),
      {
        legacy: 'reject',
        bus: changeBus(backend.watch),
      },
    );
    this.sessions = new McpSessions({ maxSessions, idleMs }, (calls) =>
      createServer({ ...shared, era: 'legacy', calls, updates: 'subscribed' }),
    );
  }

  /** How many 2025-era clients are connected. */
  get sessionCount(): number {
    return this.sessions.count;
  }

  /** Answers a request. Its body, if any, is already parsed; undefined if it is not JSON. */
  async handle(request: Request, body: unknown, { name, scopes }: McpCaller): Promise<Response> {
    if (request.method === 'POST' && body === undefined)
      return jsonRpcError(400, ProtocolErrorCode.ParseError, 'The message is not valid JSON');
    const authInfo: AuthInfo = { token: '', clientId: name, scopes: [...scopes] };
    if (await isLegacyRequest(request, body)) return this.sessions.handle(request, body, authInfo);
    return this.modern.fetch(request, { authInfo, parsedBody: body });
  }

  /** Lets calls that have just got what they waited for answer; then ends all connections, and cancels the others. */
  async close(): Promise<void> {
    await Promise.all([this.calls.idle(LAST_ANSWERS_MS), this.sessions.idle(LAST_ANSWERS_MS)]);
    // An answer is on its way when its call has ended.
    await nextTurn();
    await Promise.all([this.modern.close(), this.sessions.close()]);
    await this.calls.idle(LAST_CALLS_MS);
  }
}

/** A refusal of a whole request, as JSON-RPC has it. */
export function jsonRpcError(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status });
}
