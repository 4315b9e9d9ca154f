import type { BatchAnswer } from '../../batch/answer.ts';
import { findBatch } from '../../batch/context.ts';
import { BatchExecutor } from '../../batch/executor/batch-executor.ts';
import type { BatchView } from '../../batch/view.ts';
import type { VolleyConfig } from '../../config/config.ts';
import { type LoadOptions, loadConfig, loadStorePlace } from '../../config/load.ts';
import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import { routeRequests } from '../../server/request-routing.ts';
import { lookIntoStoreAt, openStoreLateAt } from '../../store/open/open-store.ts';
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
  readonly store: Store;
  /** Sends a request to the server that runs on this store, if any, and to our own executor otherwise. */
  handle(request: object): Promise<BatchAnswer>;
}

type Work<T> = (session: Session) => Promise<T>;

/** Opens what a command needs, and closes it in any case. Never creates a store. */
export function withSession<T>(options: CommonOptions, io: Io, work: Work<T>): Promise<T> {
  return openSession(lookIntoStoreAt, options, io, work);
}

/** The same for a command that adds something: the first write creates a missing store. */
export function withOwnStore<T>(options: CommonOptions, io: Io, work: Work<T>): Promise<T> {
  return openSession(openStoreLateAt, options, io, work);
}

async function openSession<T>(
  openAt: typeof lookIntoStoreAt,
  options: CommonOptions,
  io: Io,
  work: Work<T>,
): Promise<T> {
  const { config } = await loadConfig(locateConfig(options, io));
  const { file } = config.store;
  return withExecutor(
    await openAt(config.store),
    async () => config,
    options,
    io,
    (parts) => work({ ...parts, config, handle: routeRequests(file, parts.store, parts.executor) }),
  );
}

/** The same for a command that only reads: of the configuration it needs only the path of the store. */
export async function withStore<T>(
  options: CommonOptions,
  io: Io,
  work: (session: Pick<Session, 'executor' | 'store'> & { readonly storeFile: string }) => Promise<T>,
): Promise<T> {
  const place = locateConfig(options, io);
  const settings = await loadStorePlace(place);
  const load = async () => (await loadConfig(place)).config;
  const store = await lookIntoStoreAt(settings);
  return withExecutor(store, load, options, io, (parts) => work({ ...parts, storeFile: settings.file }));
}

function locateConfig({ config: file }: CommonOptions, { cwd, env }: Io): LoadOptions {
  return { cwd, env, ...(file !== undefined && { file }) };
}

async function withExecutor<T>(
  store: Store,
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
      // If it could not be opened, the caller that asked for it has reported that.
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
  await findBatch({ store }, batch);
  return (await executor.view(batch))!;
}
