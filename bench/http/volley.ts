import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BatchExecutor, defaultConfig, openStore, ParallelToolCoordinator } from '../../dist/index.js';
import { openLog, startServer } from '../../dist/server/index.js';
import { builtinTools } from '../../dist/tools/builtin/index.js';
import type { HttpServer } from './input.ts';

/** A batch of a hundred tasks, with everything that stands before a route. */
export async function openServer(): Promise<HttpServer> {
  const folder = mkdtempSync(join(tmpdir(), 'volley-bench-'));
  const config = defaultConfig(folder);
  const unlimited = {
    ...config.server,
    port: 0,
    limits: { ...config.server.limits, requestsPerSecond: 1e9 },
  };
  const coordinator = new ParallelToolCoordinator({ config });
  coordinator.register(builtinTools());
  const store = await openStore(join(folder, 'volley.db'));
  const executor = new BatchExecutor({ coordinator, store });
  const tasks = Array.from({ length: 100 }, () => ({ function: 'list_directory', params: { path: '.' } }));
  const { ok, text } = await executor.handle({ action: 'add_batch', batch: 'work', tasks });
  if (!ok) throw new Error(text);
  const server = await startServer({
    config: { ...config, server: unlimited, store: { ...config.store, file: join(folder, 'volley.db') } },
    coordinator,
    store,
    executor,
    log: openLog({ level: 'silent' }),
    version: '0',
  });
  const { token } = JSON.parse(readFileSync(server.recordFile, 'utf8')) as { token: string };
  return {
    port: server.port,
    path: '/v1/batches/work',
    token,
    close: async () => {
      await server.close({ graceMs: 0 });
      await executor.close();
      await store.close();
      await coordinator.close();
      rmSync(folder, { recursive: true });
    },
  };
}
