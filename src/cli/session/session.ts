import type { BatchAnswer } from '../../batch/answer.ts';
import { BatchExecutor } from '../../batch/batch-executor.ts';
import { unknownBatch } from '../../batch/context.ts';
import type { BatchView } from '../../batch/view.ts';
import type { VolleyConfig } from '../../config/config.ts';
import { type LoadOptions, loadConfig, loadStoreFile } from '../../config/load.ts';
import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import { VolleyError } from '../../core/errors.ts';
import { runningServers, type ServerRecord } from '../../server/server-record.ts';
import type { SqliteStore } from '../../store/sqlite-store.ts';
import { lookIntoStore, openStoreLate } from '../../store/sqlite-store.ts';
import type { Store } from '../../store/store.ts';
import { EXIT, type Io } from '../output/io.ts';
import { noteTrust } from '../output/messages.ts';
import type { CommonOptions } from '../program/command.ts';

/** Everything that a command about batches works with. */
export interface Session {
  readonly config: VolleyConfig;
  /** Loads all tools on the first call, which takes longer than most commands. */
  coordinator(): Promise<ParallelToolCoordinator>;
  readonly executor: BatchExecutor;
  readonly store: SqliteStore;
  /** Sends a request to the server that runs on this store, if any, and to our own executor otherwise. */
  handle(request: object): Promise<BatchAnswer>;
}

type Work<T> = (session: Session) => Promise<T>;

/** Opens what a command needs, and closes it in any case. Never creates a store. */
export function withSession<T>(options: CommonOptions, io: Io, work: Work<T>): Promise<T> {
  return openSession(lookIntoStore, options, io, work);
}

/** The same for a command that adds something: the first write creates a missing store. */
export function withOwnStore<T>(options: CommonOptions, io: Io, work: Work<T>): Promise<T> {
  return openSession(openStoreLate, options, io, work);
}

async function openSession<T>(
  openAt: typeof lookIntoStore,
  options: CommonOptions,
  io: Io,
  work: Work<T>,
): Promise<T> {
  const { config } = await loadConfig(locateConfig(options, io));
  const { file } = config.store;
  return withExecutor(
    await openAt(file),
    async () => config,
    options,
    io,
    (parts) => work({ ...parts, config, handle: preferServer(file, parts.store, parts.executor) }),
  );
}

/** The same for a command that only reads: of the configuration it needs only the path of the store. */
export async function withStore<T>(
  options: CommonOptions,
  io: Io,
  work: (session: Pick<Session, 'executor' | 'store'>) => Promise<T>,
): Promise<T> {
  const place = locateConfig(options, io);
  const store = await lookIntoStore(await loadStoreFile(place));
  return withExecutor(store, async () => (await loadConfig(place)).config, options, io, work);
}

function locateConfig({ config: file }: CommonOptions, { cwd, env }: Io): LoadOptions {
  return { cwd, env, ...(file !== undefined && { file }) };
}

async function withExecutor<T>(
  store: SqliteStore,
  load: () => Promise<VolleyConfig>,
  options: CommonOptions,
  io: Io,
  work: (parts: Pick<Session, 'coordinator' | 'executor' | 'store'>) => Promise<T>,
): Promise<T> {
  let config: VolleyConfig | undefined;
  let opened: Promise<ParallelToolCoordinator> | undefined;
  const open = async () => {
    config = await load();
    const { createFullCoordinator } = await import('../../mcp/open-coordinator.ts');
    return createFullCoordinator(config, io.env);
  };
  const coordinator = () => {
    opened ??= open();
    return opened;
  };
  const executor = new BatchExecutor({ coordinator, store });
  try {
    const result = await work({ coordinator, executor, store });
    // A refusal has already said that approval is missing.
    if (config !== undefined && result !== EXIT.usage) await noteTrust(config, options, io);
    return result;
  } finally {
    try {
      await executor.close();
      await store.close();
    } finally {
      // If it could not be opened, whoever asked for it has reported that.
      const tools = await opened?.catch(() => undefined);
      await tools?.close({ cancel: true });
    }
  }
}

/** Throws if there is no such batch. */
export async function viewBatch(
  { executor, store }: Pick<Session, 'executor' | 'store'>,
  batch: string,
): Promise<BatchView> {
  const view = await executor.view(batch);
  if (view === undefined) throw await unknownBatch(store, batch);
  return view;
}

/** The server is gone, hangs, is stopping, or refuses a body of this size: this process can do the work as well. */
const FALL_BACK = new Set<unknown>(['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 503, 413]);
/** If the connection breaks, the server may have done these: they must not be repeated. */
const NOT_REPEATABLE = new Set<unknown>(['add', 'add_batch']);

/** Handles requests in the server that runs on this store, if any, and in this process otherwise. */
export function preferServer(
  file: string,
  store: Pick<Store, 'batch'>,
  executor: Pick<BatchExecutor, 'handle'>,
): (request: object) => Promise<BatchAnswer> {
  return async (request) => {
    const server = await findServer(file, store, request);
    if (server === undefined) return executor.handle(request);
    const { callServer } = await import('../../server/call-server.ts');
    try {
      return await callServer<BatchAnswer>(server, '/v1/actions', ['action', 'text', 'data'], request);
    } catch (error) {
      const { code, status } = error instanceof VolleyError ? error.details : {};
      if (code === 'ECONNRESET' && NOT_REPEATABLE.has((request as { action?: unknown }).action))
        throw connectionLost(server);
      if (FALL_BACK.has(code) || FALL_BACK.has(status)) return executor.handle(request);
      throw error;
    }
  };
}

function connectionLost({ address, pid }: ServerRecord): VolleyError {
  return new VolleyError(
    'SERVER_UNREACHABLE',
    `The server at ${address} (process ${pid}) closed the connection before it answered. It may have added the tasks: check with volley status before you add them again.`,
    { address, pid },
  );
}

/** The server that runs the batch, or else any. */
async function findServer(
  file: string,
  store: Pick<Store, 'batch'>,
  request: object,
): Promise<ServerRecord | undefined> {
  const servers = await runningServers(file);
  if (servers.length === 0) return undefined;
  const { batch = 'default' } = request as { batch?: unknown };
  const holder = typeof batch === 'string' ? (await store.batch(batch))?.holder : undefined;
  return servers.find(({ pid }) => pid === holder?.pid) ?? servers[0];
}
