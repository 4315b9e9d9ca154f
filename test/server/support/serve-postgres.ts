import { onTestFinished } from 'vitest';
import { BatchExecutor } from '../../../src/batch/executor/batch-executor.ts';
import type { VolleyConfig } from '../../../src/config/config.ts';
import type { ParallelToolCoordinator } from '../../../src/coordinator/coordinator.ts';
import { digestOf, digestText } from '../../../src/server/auth/secrets.ts';
import type { HubOptions } from '../../../src/server/events/event-hub.ts';
import { startServer, type VolleyServer } from '../../../src/server/server.ts';
import { openPostgresStore, type PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { broken, echo, openTestCoordinator } from '../../coordinator/support.ts';
import { SseClient } from '../events/support/sse-client.ts';
import { TOKENS } from './serve.ts';

export interface SharedServer {
  readonly server: VolleyServer;
  readonly store: PostgresStore;
  readonly executor: BatchExecutor;
  readonly coordinator: ParallelToolCoordinator;
  ask(action: string, args?: object): Promise<void>;
  /** A request as `admin`. */
  get(path: string): Promise<unknown>;
  /** A client of its events, which is gone after the test. */
  connect(path: string, lastEventId?: string): SseClient;
}

interface SharedServerOptions {
  readonly tools?: readonly Tool[];
  readonly events?: HubOptions;
}

/** A real server on a store in PostgreSQL, which others may share. */
export async function servePostgres(
  address: string,
  { tools = [], events }: SharedServerOptions = {},
): Promise<SharedServer> {
  let config!: VolleyConfig;
  const { coordinator } = openTestCoordinator((given) => {
    config = given;
    return given;
  });
  coordinator.register(echo, broken, ...tools);
  const store = await openPostgresStore(address);
  const executor = new BatchExecutor({ coordinator, store });
  const server = await startServer({
    config: {
      ...config,
      server: {
        ...config.server,
        port: 0,
        tokens: { boss: { hash: digestText(digestOf(TOKENS.admin)), scope: 'admin' } },
        limits: { ...config.server.limits, requestsPerSecond: 100_000 },
      },
    },
    ...{ coordinator, store, executor, version: '0.0.0', log: () => undefined },
    ...(events !== undefined && { events }),
  });
  const clients: SseClient[] = [];
  onTestFinished(async () => {
    for (const client of clients) client.cut();
    coordinator.engine.cancelAll('the test is over');
    await server.close({ graceMs: 0 });
    await store.close();
  });
  return {
    ...{ server, store, executor, coordinator },
    ask: async (action, args = {}) => {
      const answer = await executor.handle({ action, ...args });
      if (!answer.ok) throw new Error(`${action}: ${answer.error?.code}: ${answer.text}`);
    },
    get: async (path) => {
      const headers = { authorization: `Bearer ${TOKENS.admin}` };
      return (await fetch(`${server.address}${path}`, { headers })).json();
    },
    connect: (path, lastEventId) => {
      const client = new SseClient(server.port, path, { token: TOKENS.admin, lastEventId });
      clients.push(client);
      return client;
    },
  };
}
