import { packageVersion } from '../../config/package-version.ts';
import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import { reasonText } from '../../core/words.ts';
import type { McpBackend } from '../../mcp/server/backend.ts';
import { serveMcpStdio } from '../../mcp/server/serve-stdio.ts';
import type { FeatureService } from '../../tasks/run/feature-service.ts';
import type { RunSetting } from '../../tasks/run/feature-run.ts';
import type { CommonOptions } from '../command.ts';
import { EXIT, type ExitStatus, type Io } from '../io.ts';
import { ownName } from '../output/own-name.ts';
import { onStopSignals } from '../stop-signals.ts';
import { endWithClient } from './client-watch.ts';
import { ownOutput } from './own-output.ts';

/** Serves the client that started this process, until it closes our standard input. */
export async function serveMcp(options: CommonOptions, io: Io): Promise<ExitStatus> {
  const log = (text: string) => void io.stderr.write(`volley mcp: ${text}\n`);
  const output = ownOutput(io);
  if (io.stdin.isTTY)
    log(
      `waits for a client on its standard input; "${ownName(io)} mcp install" sets one up, Ctrl-C ends this.`,
    );
  const stopping = new AbortController();
  const ignoreSignals = onStopSignals((request) => {
    if (request === 'now') process.exit(EXIT.interrupted);
    stopping.abort();
  });
  let opened: Promise<OpenedBackend> | undefined;
  const open = () => {
    opened ??= openBackend(options, io, log).catch((error: unknown) => {
      // The next call tries again: a person may have mended the configuration.
      opened = undefined;
      log(reasonText(error));
      throw error;
    });
    return opened;
  };
  try {
    await serveMcpStdio({
      open,
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

interface OpenedBackend extends McpBackend {
  /** Ends what runs, writes everything down and closes all of it. */
  close(): Promise<void>;
}

/** All that takes time to load, with the first call that needs it. */
async function openBackend(
  { config: file }: CommonOptions,
  { cwd, env, stdin }: Io,
  log: (text: string) => void,
): Promise<OpenedBackend> {
  // Untrusted code may be loaded from here on.
  if (stdin === process.stdin) endWithClient(stdin);
  const [
    { loadConfig },
    { createFullCoordinator, discoveredTools },
    { openStore },
    { BatchExecutor },
    { BatchNews },
    { trustText },
  ] = await Promise.all([
    import('../../config/load.ts'),
    import('../../mcp/open-coordinator.ts'),
    import('../../store/sqlite-store.ts'),
    import('../../batch/batch-executor.ts'),
    import('../../mcp/server/batch-news.ts'),
    import('../../config/trust.ts'),
  ]);
  const { config } = await loadConfig({ cwd, env, ...(file !== undefined && { file }) });
  if (config.trust.waiting.length > 0) log(trustText(config.trust));
  const coordinator = await createFullCoordinator(config, env);
  try {
    const store = await openStore(config.store.file);
    const executor = new BatchExecutor({ coordinator, store });
    let desk: Promise<FeatureService> | undefined;
    const features = () => {
      desk ??= openDesk(cwd, {
        ...{ config, executor, store, env },
        coordinator: async () => coordinator,
      });
      return desk;
    };
    return {
      executor,
      store,
      news: new BatchNews(store),
      functions: (names) => discoveredTools(coordinator, names),
      features,
      close: async () => {
        try {
          await executor.close({ graceMs: 0 });
          await (await desk)?.close();
          await store.close();
        } finally {
          await coordinator.close({ cancel: true });
        }
      },
    };
  } catch (error) {
    await closeQuietly(coordinator);
    throw error;
  }
}

async function openDesk(cwd: string, setting: Omit<RunSetting, 'folder'>): Promise<FeatureService> {
  const [{ FeatureService }, { locateTasks }] = await Promise.all([
    import('../../tasks/run/feature-service.ts'),
    import('../../tasks/files/task-folder.ts'),
  ]);
  return new FeatureService(locateTasks(cwd, setting.env), setting);
}

async function closeQuietly(coordinator: ParallelToolCoordinator): Promise<void> {
  await coordinator.close({ cancel: true }).catch(() => undefined);
}
