import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ServerSettings, TaskSettings } from '../../../src/config/config.ts';
import type { WorkerDirectory } from '../../../src/coordinator/remote-runner.ts';
import { digestOf, digestText } from '../../../src/server/auth/secrets.ts';
import type { HubOptions } from '../../../src/server/events/event-hub.ts';
import { startServer, type VolleyServer } from '../../../src/server/server.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { openRig, type Rig } from '../../batch/support/rig.ts';

/** The tokens of the configuration of every served rig. */
export const TOKENS = {
  read: 'volley_token_for_tests_that_may_read_only_0000',
  run: 'volley_token_for_tests_that_may_run_as_well_000',
  admin: 'volley_token_for_tests_that_may_do_everything_0',
} as const;

interface LoggedLine {
  readonly level: string;
  readonly event: string;
  readonly [field: string]: unknown;
}

export interface Served extends Rig {
  readonly server: VolleyServer;
  readonly address: string;
  /** Everything that was logged. */
  readonly lines: LoggedLine[];
  /** A request as `admin`, unless it says otherwise. */
  fetch(path: string, options?: FetchOptions): Promise<Response>;
  /** The same, with a body and its answer as JSON. */
  json(method: string, path: string, body?: unknown, options?: FetchOptions): Promise<JsonAnswer>;
}

interface JsonAnswer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of all shapes
  readonly body: any;
}

interface FetchOptions extends RequestInit {
  /** null for none. */
  readonly token?: string | null;
}

export interface ServeOptions {
  readonly tools?: readonly Tool[];
  readonly server?: Partial<ServerSettings>;
  readonly tasks?: Partial<TaskSettings>;
  readonly file?: string;
  readonly webFolder?: string;
  readonly events?: HubOptions;
  readonly workers?: WorkerDirectory;
}

/** A real server on a free port of loopback, on a new store; closed after the test. */
export async function serve({
  tools,
  server: settings,
  tasks,
  file,
  webFolder,
  events,
  workers,
}: ServeOptions = {}): Promise<Served> {
  let config!: Parameters<typeof startServer>[0]['config'];
  const rig = await openRig(
    tools,
    (given) => {
      const store = { ...given.store, file: file ?? join(given.folder, 'volley.db') };
      config = { ...given, store, tasks: { ...given.tasks, ...tasks } };
      return config;
    },
    file,
  );
  const lines: LoggedLine[] = [];
  const server = await startServer({
    config: {
      ...config,
      server: {
        ...config.server,
        port: 0,
        tokens: {
          reader: { hash: digestText(digestOf(TOKENS.read)), scope: 'read' },
          runner: { hash: digestText(digestOf(TOKENS.run)), scope: 'run' },
          boss: { hash: digestText(digestOf(TOKENS.admin)), scope: 'admin' },
        },
        ...settings,
        limits: { ...config.server.limits, requestsPerSecond: 100_000, ...settings?.limits },
      },
    },
    coordinator: rig.coordinator,
    store: rig.store,
    executor: rig.executor,
    version: '0.0.0',
    // As by default.
    log: (level, event, fields) => void (level !== 'debug' && lines.push({ level, event, ...fields })),
    ...(webFolder !== undefined && { webFolder }),
    ...(events !== undefined && { events }),
    ...(workers !== undefined && { workers }),
  });
  onTestFinished(() => server.close({ graceMs: 0 }));
  const { address } = server;
  const send = (path: string, { token = TOKENS.admin, headers, ...options }: FetchOptions = {}) =>
    fetch(`${address}${path}`, {
      ...options,
      headers: { ...(token !== null && { authorization: `Bearer ${token}` }), ...headers },
    });
  return {
    ...rig,
    server,
    address,
    lines,
    fetch: send,
    json: async (method, path, body, options = {}) => {
      const response = await send(path, {
        ...options,
        method,
        ...(body !== undefined && { body: JSON.stringify(body) }),
        headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...options.headers },
      });
      const text = await response.text();
      const { status, headers } = response;
      return { status, headers, body: text === '' ? undefined : JSON.parse(text) };
    },
  };
}

/** Bytes as they are, and all that comes back until the other side closes. */
export async function raw(address: string, text: string): Promise<string> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  let answer = '';
  socket.on('data', (chunk) => {
    answer += chunk;
  });
  socket.on('error', () => undefined);
  socket.write(text);
  await closed(socket);
  return answer;
}

/** Settles when the connection is over, however it ended. */
export function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('close', () => resolve());
  });
}

/** The token that the server left beside its store. */
export function localToken({ recordFile }: VolleyServer): string {
  return (JSON.parse(readFileSync(recordFile, 'utf8')) as { token: string }).token;
}
