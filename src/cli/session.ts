import { BatchExecutor } from '../batch/batch-executor.ts';
import type { VolleyConfig } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { ParallelToolCoordinator } from '../coordinator/coordinator.ts';
import { openStore, type SqliteStore } from '../store/sqlite-store.ts';
import { loadToolModules } from '../tools/modules.ts';
import type { CommonOptions } from './command.ts';
import type { Io } from './io.ts';

/** Everything that a command about batches works with. */
export interface Session {
  readonly config: VolleyConfig;
  readonly coordinator: ParallelToolCoordinator;
  readonly executor: BatchExecutor;
  readonly store: SqliteStore;
}

/** Opens what a command needs, and closes it whatever happens. */
export async function withSession<T>(
  { config: file }: CommonOptions,
  { cwd, env }: Io,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const { config } = await loadConfig({ cwd, env, ...(file !== undefined && { file }) });
  const tools = await loadToolModules(config.tools.modules, config.folder);
  const coordinator = new ParallelToolCoordinator({ config });
  try {
    coordinator.register(...tools);
    const store = await openStore(config.store.file);
    const executor = new BatchExecutor({ coordinator, store });
    try {
      return await work({ config, coordinator, executor, store });
    } finally {
      await executor.close();
      await store.close();
    }
  } finally {
    await coordinator.close({ cancel: true });
  }
}
