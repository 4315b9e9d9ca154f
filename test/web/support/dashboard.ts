import { onTestFinished } from 'vitest';
import { buildDashboard } from '../../../scripts/build-dashboard.ts';
import { BatchExecutor } from '../../../src/batch/batch-executor.ts';
import { defaultConfig } from '../../../src/config/config.ts';
import { startServer, type VolleyServer } from '../../../src/server/server.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { openRig, type Rig } from '../../batch/support/rig.ts';
import { freePort } from '../../server/support/free-port.ts';

export interface Dashboard {
  readonly rig: Rig;
  /** With a key that is good once. */
  pageAddress(): string;
  /** Stops the server, as a signal does. */
  stop(): Promise<void>;
  /** Starts it again at the same address, with all that is in the store. */
  startAgain(): Promise<void>;
}

/** A real server on a free port with a store of its own, as `volley serve` has it; stopped after the test. */
export async function serveDashboard(...tools: readonly Tool[]): Promise<Dashboard> {
  const rig = await openRig(tools);
  const port = await freePort();
  let server = await serve(rig, rig.executor, port);
  const stop = () => server.close({ graceMs: 0 });
  onTestFinished(stop);
  return {
    rig,
    pageAddress: () => server.pageAddress(),
    stop,
    startAgain: async () => {
      const executor = new BatchExecutor({ coordinator: rig.coordinator, store: rig.store });
      server = await serve(rig, executor, port);
    },
  };
}

async function serve(
  { coordinator, store, folder }: Rig,
  executor: BatchExecutor,
  port: number,
): Promise<VolleyServer> {
  const config = defaultConfig(folder);
  return startServer({
    config: { ...config, server: { ...config.server, port } },
    coordinator,
    store,
    executor,
    log: () => undefined,
    version: 'test',
    webFolder: await buildDashboard(),
  });
}
