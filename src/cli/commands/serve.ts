import { InvalidArgumentError } from 'commander';
import { BatchExecutor } from '../../batch/executor/batch-executor.ts';
import type { ServerGroup, ServerGroupOptions } from '../../batch/servers/server-group.ts';
import type { ClusterCoordinator } from '../../cluster/coordinator.ts';
import type { VolleyConfig } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import { packageVersion } from '../../config/package-version.ts';
import { LOG_LEVELS } from '../../config/schema.ts';
import { createFullCoordinator } from '../../mcp/open-coordinator.ts';
import { isLoopback } from '../../server/http/client-address.ts';
import { isLogLevel, type Log, type LogLevel, openLog } from '../../server/log/log.ts';
import { startServer, type VolleyServer } from '../../server/server.ts';
import { runningServers } from '../../server/server-record.ts';
import { openStoreAt } from '../../store/open/open-store.ts';
import { EXIT, type ExitStatus, type Io } from '../output/io.ts';
import { noteTrust } from '../output/messages.ts';
import { programName, scopeFlags } from '../output/wording.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';
import { onStopSignals } from '../program/stop-signals.ts';
import { joinCluster } from '../session/cluster.ts';

interface ServeOptions extends CommonOptions {
  readonly port?: number;
  readonly host?: string;
  readonly logLevel?: LogLevel;
}

export const serveCommand = defineCommand<ServeOptions>({
  examples: ['volley serve', 'volley serve --port 8080', 'volley serve --json 2>server.log'],
  declare: (program) =>
    program
      .option('--port <number>', 'the port (default: 7717, or a free one if that is taken)', portOption)
      .option('--host <address>', 'the address to listen on (default: 127.0.0.1)')
      .option('--log-level <level>', `${LOG_LEVELS.join(', ')} (default: info)`, levelOption),
  run: async (_, { config: file, port, host, logLevel, json = false }, io) => {
    const { cwd, env } = io;
    const { config: loaded } = await loadConfig({ cwd, env, ...(file !== undefined && { file }) });
    const given = {
      ...(port !== undefined && { port }),
      ...(host !== undefined && { host }),
      ...(logLevel !== undefined && { logLevel }),
    };
    await noteTrust(loaded, { json, ...(file !== undefined && { config: file }) }, io);
    const config = { ...loaded, server: { ...loaded.server, ...given } };
    return serve(config, { json, ...(file !== undefined && { config: file }) }, io);
  },
});

function portOption(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError('Must be an integer from 0 to 65535; 0 takes a free port.');
}

function levelOption(text: string): LogLevel {
  if (isLogLevel(text)) return text;
  throw new InvalidArgumentError(`Must be one of ${LOG_LEVELS.join(', ')}.`);
}

async function serve(config: VolleyConfig, options: CommonOptions, io: Io): Promise<ExitStatus> {
  const coordinator = await createFullCoordinator(config, io.env);
  try {
    const store = await openStoreAt(config.store);
    const executor = new BatchExecutor({ coordinator, store });
    const log = openLog({
      level: config.server.logLevel,
      format: options.json ? 'json' : 'text',
      // Its lines are printable, or JSON.
      write: (line) => void io.stderr.raw.write(line),
      redact: (text) => coordinator.redactor.text(text),
    });
    let cluster: ClusterCoordinator | undefined;
    let group: ServerGroup | undefined;
    try {
      const notify = (text: string) => log('info', 'cluster', { text });
      cluster = await joinCluster(config, coordinator, io, notify, await store.servers?.storeId());
      const { reopened, crashed } = await executor.recover();
      if (reopened.length + crashed.length > 0)
        log('warn', 'recovered', { reopened: reopened.length, crashed: crashed.length });
      const stopped = stopSignals();
      const joining = store.servers === undefined ? undefined : joinLater(executor);
      const server = await startServer({
        config,
        coordinator,
        store,
        executor,
        log,
        version: packageVersion(),
        ...(cluster !== undefined && { workers: cluster }),
      });
      group = await joining?.({ store, executor, workers: cluster, address: server.address, log }, server);
      await announce(server, config, options, io);
      await untilStopped(stopped, server, group, log);
    } finally {
      await executor.close({ graceMs: 0 });
      await group?.leave();
      await cluster?.close();
      await store.close();
    }
  } finally {
    await coordinator.close({ cancel: true });
  }
  return EXIT.ok;
}

/** Requests may come before the server has joined the others. Starts wait for that. */
function joinLater(executor: BatchExecutor) {
  let joined!: (group: ServerGroup) => void;
  const joining = new Promise<ServerGroup>((resolve) => {
    joined = resolve;
  });
  executor.useServers({ start: async (args) => (await joining).start(args) });
  return async (options: ServerGroupOptions, server: VolleyServer): Promise<ServerGroup> => {
    const { ServerGroup } = await import('../../batch/servers/server-group.ts');
    try {
      const group = await ServerGroup.join(options);
      joined(group);
      return group;
    } catch (error) {
      await server.close({ graceMs: 0 });
      throw error;
    }
  };
}

async function announce(
  server: VolleyServer,
  { server: { host, tls }, store }: VolleyConfig,
  { json, config }: CommonOptions,
  io: Io,
): Promise<void> {
  const { address, port, recordFile } = server;
  const url = server.pageAddress();
  if (json) {
    const { pid } = process;
    io.stdout.writeJson({ ok: true, url, address, port, pid, record_file: recordFile });
    return;
  }
  const warning =
    isLoopback(host) || tls !== undefined
      ? ''
      : '\nOther machines can reach this server, and the traffic is not encrypted: configure [server.tls].\n';
  io.stdout.write(
    `Dashboard: ${url}\n\nThe link works once and expires in an hour. ${await moreText(store.file, config, io)}\nPrograms find the address and a token in ${recordFile}.\n${warning}`,
  );
}

/** With several servers on a store, `volley dashboard` asks the first. */
async function moreText(storeFile: string, config: string | undefined, io: Io): Promise<string> {
  const command = `${programName(io)} dashboard${scopeFlags({ config })}`;
  const [first] = await runningServers(storeFile);
  if (first === undefined || first.pid === process.pid) return `For another, run: ${command}`;
  return `\nAnother server is already running here, at ${first.address} (process ${first.pid}), which ${command} uses.`;
}

interface StopSignals {
  /** Calls for each request to stop, including earlier ones. */
  each(listener: () => void): void;
  end(): void;
}

/** Listens from the beginning, so that no signal is lost. */
function stopSignals(): StopSignals {
  let count = 0;
  let listener: (() => void) | undefined;
  const end = onStopSignals(() => {
    if (listener === undefined) count++;
    else listener();
  });
  return {
    each: (given) => {
      listener = given;
      for (; count > 0; count--) given();
    },
    end,
  };
}

/** The first signal drains the server; the second cancels running tasks. */
function untilStopped(
  signals: StopSignals,
  server: VolleyServer,
  group: ServerGroup | undefined,
  log: Log,
): Promise<void> {
  return new Promise((resolve, reject) => {
    signals.each(() => {
      log('info', 'stopping');
      group?.drain();
      server.close().then(() => {
        log('info', 'stopped');
        signals.end();
        resolve();
      }, reject);
    });
  });
}
