import type { BatchAnswer } from '../batch/answer.ts';
import { BatchExecutor } from '../batch/executor/batch-executor.ts';
import type { VolleyConfig } from '../config/config.ts';
import { type LoadOptions, loadConfig, loadStoreFile } from '../config/load.ts';
import type { ParallelToolCoordinator } from '../coordinator/coordinator.ts';
import { routeRequests } from '../server/request-routing.ts';
import { lookIntoStore, openStoreLate, type SqliteStore } from '../store/sqlite-store.ts';
import type { CommonOptions } from './command.ts';
import type { Io } from './io.ts';

/** Everything that a command about batches works with. */
export interface Session {
  readonly config: VolleyConfig;
  /** All tools. Loading them takes longer than most commands, so that happens for those that need one. */
  coordinator(): Promise<ParallelToolCoordinator>;
  readonly executor: BatchExecutor;
  readonly store: SqliteStore;
  /** Asks the server that runs on this store, if there is one, and the executor of this process otherwise. */
  handle(request: object): Promise<BatchAnswer>;
}

type Work<T> = (session: Session) => Promise<T>;

/** Opens what a command needs, and closes it whatever happens. Where there is no store, none is made. */
export function withSession<T>(options: CommonOptions, io: Io, work: Work<T>): Promise<T> {
  return inSession(lookIntoStore, options, io, work);
}

/** The same for a command that has something to keep: where there is no store, it is made with the first of it. */
export function withOwnStore<T>(options: CommonOptions, io: Io, work: Work<T>): Promise<T> {
  return inSession(openStoreLate, options, io, work);
}

async function inSession<T>(
  openAt: typeof lookIntoStore,
  options: CommonOptions,
  io: Io,
  work: Work<T>,
): Promise<T> {
  const { config } = await loadConfig(placeOf(options, io));
  const { file } = config.store;
  return withExecutor(
    await openAt(file),
    () => open(config, options, io),
    (parts) => work({ ...parts, config, handle: routeRequests(file, parts.store, parts.executor) }),
  );
}

/** The same for a command that only looks: it waits for no more of the configuration than where the store is. */
export async function withStore<T>(
  options: CommonOptions,
  io: Io,
  work: (session: Pick<Session, 'executor' | 'store'>) => Promise<T>,
): Promise<T> {
  const place = placeOf(options, io);
  const file = await loadStoreFile(place);
  return withExecutor(
    await lookIntoStore(file),
    async () => open((await loadConfig(place)).config, options, io),
    work,
  );
}

function placeOf({ config: file }: CommonOptions, { cwd, env }: Io): LoadOptions {
  return { cwd, env, ...(file !== undefined && { file }) };
}

async function withExecutor<T>(
  store: SqliteStore,
  openCoordinator: Session['coordinator'],
  work: (parts: Pick<Session, 'coordinator' | 'executor' | 'store'>) => Promise<T>,
): Promise<T> {
  let opened: Promise<ParallelToolCoordinator> | undefined;
  const coordinator = () => {
    opened ??= openCoordinator();
    return opened;
  };
  const executor = new BatchExecutor({ coordinator, store });
  try {
    return await work({ coordinator, executor, store });
  } finally {
    try {
      await executor.close();
      await store.close();
    } finally {
      await closeIfOpen(opened);
    }
  }
}

async function open(config: VolleyConfig, options: CommonOptions, io: Io): Promise<ParallelToolCoordinator> {
  const [{ noteTrust }, { createFullCoordinator }] = await Promise.all([
    import('./output/trust-note.ts'),
    import('../mcp/open-coordinator.ts'),
  ]);
  noteTrust(config, options, io);
  return createFullCoordinator(config, io.env);
}

async function closeIfOpen(opened: Promise<ParallelToolCoordinator> | undefined): Promise<void> {
  // Whoever asked for it has heard why it could not be opened.
  const coordinator = await opened?.catch(() => undefined);
  await coordinator?.close({ cancel: true });
}
