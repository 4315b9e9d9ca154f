import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  type CallToolResult,
  Client,
  type ClientOptions,
  type Progress,
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  type Tool as ServerTool,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client';
import type { McpServerSettings } from '../../config/config.ts';
import { packageVersion } from '../../config/package-version.ts';
import type { VolleyError } from '../../core/errors.ts';
import { MAX_SPAN_MS } from '../../core/numbers.ts';
import { CallFailure, isLoginNeeded, problemText } from './call-failure.ts';
import { HttpTransport, UNANSWERED } from './http-transport.ts';
import type { ServerLogin } from './logins.ts';
import { type Program, StdioTransport } from './stdio-transport.ts';
import { callAsTask } from './task-call.ts';

/** How long a server elsewhere may take to forget a session. */
const FAREWELL_MS = 1000;
/** How long a server may take to show that it lives. */
const PING_MS = 2000;
/** Changes of the list of tools that come within this time are one. */
const SETTLE_MS = 50;
/** Sessions that a server does not know any more are answered with this. */
const NOT_FOUND = 404;
/** What a server is asked first, where a program may end at a question that it does not know. */
const OLD: VersionNegotiationMode = 'legacy';
const NEW: VersionNegotiationMode = { pin: '2026-07-28' };

/** How a server is reached, with all references resolved. */
export type Target =
  | ({ readonly kind: 'stdio' } & Program)
  | {
      readonly kind: 'http';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      /** Undefined if the headers say who calls. */
      readonly login: ServerLogin | undefined;
    };

/** What hears of a connection. */
export interface ConnectionListener {
  /** The tools, when they are known and whenever they change. */
  tools(tools: readonly ServerTool[], serverName: string): Promise<void>;
  /** Called when the connection ends unexpectedly. `lastWords` is what the program wrote to its error stream. */
  ended(lastWords: string): void;
}

/** What a call is followed with. */
export interface CallFollowing {
  readonly signal: AbortSignal;
  readonly onprogress: (progress: Progress) => void;
  /**
   * Called with what the server logs or prints while the call runs. It does not say for which call, so all calls that run
   * then are told.
   */
  readonly onoutput: (stream: 'stderr' | 'log', chunk: Buffer | string) => void;
}

/** The name that a server gives to a tool, and whether it runs the tool only as a task. */
export interface CalledName {
  readonly name: string;
  readonly isTask: boolean;
}

/** A server that has answered. */
export class Connection {
  private isClosing = false;
  private readonly followers = new Set<CallFollowing>();

  private constructor(
    private readonly client: Client,
    private readonly transport: StdioTransport | HttpTransport,
    private readonly login: ServerLogin | undefined,
  ) {
    if (transport instanceof StdioTransport) transport.onstderr = (chunk) => this.said('stderr', chunk);
    client.setNotificationHandler('notifications/message', ({ params }) => {
      const { level, data, logger } = params;
      const text = typeof data === 'string' ? data : (JSON.stringify(data) ?? '');
      this.said('log', `${level}${logger === undefined ? '' : ` ${logger}`}: ${text}`);
    });
  }

  /** Connects, and asks for the tools. What was begun is ended again if that fails. */
  static async open(
    target: Target,
    roots: McpServerSettings['roots'],
    listener: ConnectionListener,
    signal: AbortSignal,
  ): Promise<Connection> {
    if (target.kind === 'http') return Connection.connect(target, 'auto', roots, listener, signal);
    try {
      return await Connection.connect(target, OLD, roots, listener, signal);
    } catch (error) {
      // It has answered, but speaks only what came after.
      if (!(error instanceof ProtocolError)) throw error;
      return Connection.connect(target, NEW, roots, listener, signal);
    }
  }

  private static async connect(
    target: Target,
    mode: VersionNegotiationMode,
    roots: readonly string[],
    listener: ConnectionListener,
    signal: AbortSignal,
  ): Promise<Connection> {
    const transport =
      target.kind === 'stdio'
        ? new StdioTransport(target)
        : new HttpTransport(target.url, target.headers, target.login);
    const client = new Client(
      { name: 'volley', version: packageVersion() },
      optionsFor(mode, roots, listener),
    );
    if (roots.length > 0) client.setRequestHandler('roots/list', () => ({ roots: roots.map(toRoot) }));
    const connection = new Connection(client, transport, target.kind === 'http' ? target.login : undefined);
    try {
      await client.connect(transport, { signal, timeout: MAX_SPAN_MS });
      const { tools } = await client.listTools(undefined, { signal, timeout: MAX_SPAN_MS });
      client.onclose = () => {
        if (!connection.isClosing) listener.ended(connection.lastWords);
      };
      await listener.tools(tools, client.getServerVersion()?.name ?? '');
      return connection;
    } catch (error) {
      // A server that never started its work has nothing to finish. One that does not read is about to end by itself.
      const isEnding = (error as NodeJS.ErrnoException).code === 'EPIPE';
      if (transport instanceof StdioTransport && !isEnding) transport.kill();
      await connection.close();
      const { lastWords } = connection;
      if (target.kind === 'http' && isRefused(error)) throw target.login?.refused() ?? error;
      // An error of the protocol has said it all.
      if (lastWords === '' || error instanceof ProtocolError || signal.aborted) throw error;
      throw new Error(`${(error as Error).message.replace(/\.$/, '')}. It said: ${lastWords}`, {
        cause: error,
      });
    }
  }

  get pid(): number | undefined {
    return this.transport instanceof StdioTransport ? (this.transport.pid ?? undefined) : undefined;
  }

  call({ name, isTask }: CalledName, input: unknown, following: CallFollowing): Promise<CallToolResult> {
    const { signal, onprogress } = following;
    this.followers.add(following);
    const args = input as Record<string, unknown>;
    const call = isTask
      ? callAsTask(this.client, name, args, following)
      : this.client.callTool({ name, arguments: args }, { signal, onprogress, timeout: MAX_SPAN_MS });
    return call
      .catch((error: unknown) => {
        throw (isRefused(error) ? this.login?.refused() : undefined) ?? toCallFailure(error);
      })
      .finally(() => this.followers.delete(following));
  }

  private said(stream: 'stderr' | 'log', chunk: Buffer | string): void {
    for (const { onoutput } of this.followers) onoutput(stream, chunk);
  }

  /** Whether the server still answers. One that cannot be asked is believed. */
  async isAlive(): Promise<boolean> {
    if (!(this.transport instanceof StdioTransport) || this.client.getProtocolEra() !== 'legacy') return true;
    return this.client.ping({ timeout: PING_MS }).then(
      () => true,
      (error: unknown) => error instanceof ProtocolError,
    );
  }

  /** Nothing of it is left when it returns. */
  async close(): Promise<void> {
    this.isClosing = true;
    const { client, transport } = this;
    if (transport instanceof HttpTransport) await farewell(transport);
    await client.close().catch(() => {});
    // A client that never got an answer does not know of its transport.
    await transport.close().catch(() => {});
  }

  private get lastWords(): string {
    return this.transport instanceof StdioTransport ? this.transport.lastWords : '';
  }
}

function optionsFor(
  mode: VersionNegotiationMode,
  roots: readonly string[],
  listener: ConnectionListener,
): ClientOptions {
  return {
    capabilities: roots.length > 0 ? { roots: {} } : {},
    versionNegotiation: { mode },
    // The SDK would use schemas of the server in this thread: results are checked where they are read.
    jsonSchemaValidator: {
      getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
    },
    listChanged: {
      tools: {
        debounceMs: SETTLE_MS,
        // If the new list cannot be had, the old one holds.
        onChanged: (error, tools) => {
          if (error === null && tools !== null) void listener.tools(tools, '');
        },
      },
    },
  };
}

/** Whether a server refused a token that was just renewed. */
function isRefused(error: unknown): boolean {
  return error instanceof SdkHttpError && error.code === SdkErrorCode.ClientHttpAuthentication;
}

/** What the SDK threw at a call, as one of the few things that matter. */
function toCallFailure(error: unknown): CallFailure | VolleyError {
  if (isLoginNeeded(error) || error instanceof CallFailure) return error;
  const text = problemText(error);
  if (error instanceof ProtocolError) {
    const { code, data } = error;
    if (data === UNANSWERED) return new CallFailure('else', text, false, error);
    if (code === ProtocolErrorCode.ParseError) return new CallFailure('invalid', text, true, error);
    const isPermanent = code === ProtocolErrorCode.InvalidParams || code === ProtocolErrorCode.MethodNotFound;
    return new CallFailure('refused', text, isPermanent, error);
  }
  if (error instanceof SdkHttpError)
    return new CallFailure(error.data.status === NOT_FOUND ? 'lost' : 'else', text, false, error);
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.ConnectionClosed) return new CallFailure('ended', text, false, error);
    if (error.code === SdkErrorCode.InvalidResult) return new CallFailure('invalid', text, true, error);
    return new CallFailure('else', text, false, error);
  }
  // From `fetch` or a pipe: nothing is listening.
  return new CallFailure('lost', text, false, error);
}

/** Lets the server forget the session, if it has one and answers soon. */
async function farewell(transport: HttpTransport): Promise<void> {
  if (transport.sessionId === undefined) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, FAREWELL_MS);
  });
  await Promise.race([transport.terminateSession().catch(() => {}), late]);
  clearTimeout(timer);
}

function toRoot(folder: string): { uri: string; name: string } {
  return { uri: pathToFileURL(folder).href, name: basename(folder) };
}
