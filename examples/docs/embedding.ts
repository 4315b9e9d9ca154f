import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BatchExecutor, defaultConfig, openStore, ParallelToolCoordinator } from 'volley';
import { openLog, startServer } from 'volley/server';
import { builtinTools } from 'volley/tools';

const folder = await mkdtemp(join(tmpdir(), 'volley-example-'));
const defaults = defaultConfig(folder);
const config = { ...defaults, server: { ...defaults.server, port: 0 } };

// #region serve
const coordinator = new ParallelToolCoordinator({ config });
coordinator.register(builtinTools()); // And your own tools.
const store = await openStore(config.store.file);
const executor = new BatchExecutor({ coordinator, store });
const log = openLog({ level: 'warn' });
const server = await startServer({ config, coordinator, store, executor, log, version: '1.0.0' });

console.log((await fetch(`${server.address}/healthz`)).status);

await server.close(); // Closes the executor, too. The others may serve other purposes, and stay open.
await coordinator.close();
await store.close();
// #endregion serve

await rm(folder, { recursive: true });
