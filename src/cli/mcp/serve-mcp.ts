import type { Writable } from 'node:stream';
import type { ClusterCoordinator } from '../../cluster/coordinator.ts';
import { packageVersion } from '../../config/package-version.ts';
import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import { VolleyError } from '../../core/errors.ts';
import { reasonText } from '../../core/words.ts';
import { serveMcpStdio } from '../../mcp/server/serve-stdio.ts';
import type { Offer } from '../../mcp/server/serve-tools.ts';
import type { McpBackend, McpProfile } from '../../mcp/server/tool.ts';
import type { RunSetting } from '../../tasks/run/feature-run.ts';
import type { FeatureService } from '../../tasks/run/feature-service.ts';
import { EXIT, type ExitStatus, type Io } from '../output/io.ts';
import { programName } from '../output/wording.ts';
import type { CommonOptions } from '../program/command.ts';
import { onStopSignals } from '../program/stop-signals.ts';
import { endWithClient } from './client-watch.ts';

export interface McpServeOptions extends CommonOptions {
  /** Overrides that of the configuration. */
  readonly profile?: McpProfile;
}

/** Serves the client that started this process until it closes our standard input. */
export async function serveMcp(options: McpServeOptions, io: Io): Promise<ExitStatus> {
  const log = (text: string) => void io.stderr.write(`volley mcp: ${text}\n`);
  const output = reserveOutput(io);
  if (io.stdin.isTTY)
    log(
      `waiting for a client on standard input. To set one up, run "${programName(io)} mcp install". Press Ctrl-C to stop.`,
    );
  const stopping = new AbortController();
  const ignoreSignals = onStopSignals((request) => {
    if (request === 'now') process.exit(EXIT.interrupted);
    stopping.abort();
  });
  let opened: Promise<OpenedBackend> | undefined;
  const open = () => {
    opened ??= openBackend(options, io, log).catch((error: unknown) => {
      // The next call tries again: the user may have fixed the configuration.
      opened = undefined;
      log(reasonText(error));
      throw error;
    });
    return opened;
  };
  try {
    await serveMcpStdio({
      open,
      offer: offerOf(options, io),
      version: packageVersion(),
      input: io.stdin,
      output,
      signal: stopping.signal,
      log,
    });
  } finally {
    ignoreSignals();
    await (await opened?.catch(() => undefined))?.close();
    output.release();
  }
  return EXIT.ok;
}

/** Which tools the client sees. The file is read once, like the rest of the configuration. */
function offerOf({ config: file, profile: chosen }: McpServeOptions, { cwd, env }: Io): Offer {
  let profile: Promise<McpProfile> | undefined;
  const fromFile = async (): Promise<McpProfile> => {
    const { loadConfig } = await import('../../config/load.ts');
    const { config } = await loadConfig({ cwd, env, ...(file !== undefined && { file }) });
    return config.mcpServer.profile;
  };
  return {
    // What is wrong with the file is reported by every call.
    profile: () =>
      (profile ??= chosen === undefined ? fromFile().catch(() => 'default') : Promise.resolve(chosen)),
    hasFeatures: async () => {
      const { locateTasks } = await import('../../tasks/files/task-folder.ts');
      const names = await locateTasks(cwd, env)
        .folder.names()
        .catch(() => []);
      return names.length > 0;
    },
  };
}

interface OpenedBackend extends McpBackend {
  /** Cancels running tasks, then saves and closes everything. */
  close(): Promise<void>;
}

/** Loads what takes time, with the first call that needs it. */
async function openBackend(
  { config: file }: CommonOptions,
  { cwd, env, stdin }: Io,
  log: (text: string) => void,
): Promise<OpenedBackend> {
  // From here on, untrusted code may be loaded.
  if (stdin === process.stdin) endWithClient(stdin);
  const [
    { loadConfig },
    { createFullCoordinator, discoveredTools },
    { openStoreAt },
    { BatchExecutor },
    { StoreWatch },
    { trustText },
  ] = await Promise.all([
    import('../../config/load.ts'),
    import('../../mcp/open-coordinator.ts'),
    import('../../store/open/open-store.ts'),
    import('../../batch/executor/batch-executor.ts'),
    import('../../store/store-watch.ts'),
    import('../../config/trust.ts'),
  ]);
  const { config } = await loadConfig({ cwd, env, ...(file !== undefined && { file }) });
  if (config.trust.waiting.length > 0) log(trustText(config.trust));
  const coordinator = await createFullCoordinator(config, env);
  let cluster: ClusterCoordinator | undefined;
  try {
    if (config.cluster.url !== undefined) {
      const { joinCluster } = await import('../session/cluster.ts');
      cluster = await joinCluster(config, coordinator, { env }, log).catch((error: unknown) => {
        // Several clients have a server each, and only one of them can have the workers.
        if (!(error instanceof VolleyError) || error.code !== 'CLUSTER_BUSY') throw error;
        log(`${error.message} Until then, calls run on this machine.`);
        return undefined;
      });
    }
    const store = await openStoreAt(config.store);
    const executor = new BatchExecutor({ coordinator, store });
    let service: Promise<FeatureService> | undefined;
    const features = () => {
      service ??= openFeatureService(cwd, {
        ...{ config, executor, store, env },
        coordinator: async () => coordinator,
      });
      return service;
    };
    return {
      executor,
      store,
      watch: new StoreWatch(store),
      keepRunsMs: config.mcpServer.keepRunsMs,
      functions: (names) => discoveredTools(coordinator, names),
      features,
      close: async () => {
        try {
          await executor.close({ graceMs: 0 });
          await (await service)?.close();
          await cluster?.close();
          await store.close();
        } finally {
          await coordinator.close({ cancel: true });
        }
      },
    };
  } catch (error) {
    await cluster?.close();
    await closeQuietly(coordinator);
    throw error;
  }
}

async function openFeatureService(cwd: string, setting: Omit<RunSetting, 'folder'>): Promise<FeatureService> {
  const [{ FeatureService }, { locateTasks }] = await Promise.all([
    import('../../tasks/run/feature-service.ts'),
    import('../../tasks/files/task-folder.ts'),
  ]);
  return new FeatureService(locateTasks(cwd, setting.env), setting);
}

async function closeQuietly(coordinator: ParallelToolCoordinator): Promise<void> {
  await coordinator.close({ cancel: true }).catch(() => undefined);
}

interface ReservedOutput extends Pick<Writable, 'write'> {
  release(): void;
}

/** Reserves standard output for the protocol: what tools print goes to standard error. Ignores a client that is gone. */
function reserveOutput({ stdout: { raw: stdout }, stderr: { raw: stderr } }: Io): ReservedOutput {
  const { write } = stdout;
  const listeners = stdout.rawListeners('error') as ((error: Error) => void)[];
  const ignore = () => undefined;
  stdout.removeAllListeners('error').on('error', ignore);
  stderr.on('error', ignore);
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  return {
    write: write.bind(stdout) as Writable['write'],
    release: () => {
      stdout.write = write;
      stdout.off('error', ignore);
      for (const listener of listeners) stdout.on('error', listener);
    },
  };
}
