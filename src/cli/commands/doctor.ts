import type { VolleyConfig } from '../../config/config.ts';
import { type LoadedConfig, type LoadOptions, loadConfig } from '../../config/load.ts';
import { trustText } from '../../config/trust.ts';
import { VolleyError } from '../../core/errors.ts';
import { printableLine, printableText } from '../../core/printable-text.ts';
import { RESOURCE_TABLE } from '../../core/resource-table.ts';
import { countText, reasonText } from '../../core/words.ts';
import { diagnose, type Layer } from '../../runners/process/diagnose.ts';
import { createColors, wantsColors } from '../output/colors.ts';
import { EXIT, type Io } from '../output/io.ts';
import { rewriteCommands } from '../output/wording.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';

export const doctorCommand = defineCommand<CommonOptions>({
  examples: ['volley doctor', 'volley doctor --json'],
  declare: () => undefined,
  run: async (_, { json, config: file }, io) => {
    const loaded = await tryConfig({ cwd: io.cwd, env: io.env, ...(file !== undefined && { file }) });
    const { layers } = await diagnose();
    const { error } = loaded;
    const { status: trusted, waiting } = loaded.config?.trust ?? { status: 'untrusted', waiting: [] };
    const servers = loaded.config === undefined ? [] : await remoteServers(loaded.config, io);
    const cluster =
      loaded.config?.cluster.url === undefined ? undefined : await clusterState(loaded.config, io);
    const store =
      loaded.config?.store.url === undefined ? undefined : await storeState(loaded.config.store.url);
    const open = openAttacks(loaded.config?.processes.sandbox ?? 'auto', layers);
    const status = error === undefined ? EXIT.ok : EXIT.usage;
    if (json) {
      const found = {
        node: process.version,
        config: loaded.file ?? null,
        trust: { status: trusted, waiting },
        ...(loaded.config !== undefined && { resources: capacities(loaded.config) }),
        layers,
        open_attacks: open,
        ...(servers.length > 0 && { mcp_servers: servers }),
        ...(cluster !== undefined && { cluster }),
        ...(store !== undefined && { store }),
      };
      const fault = error && {
        code: error.code,
        message: error.message,
        problems: error.details['problems'],
      };
      io.stdout.writeJson({ ok: error === undefined, ...found, error: fault });
      return status;
    }
    const { green, yellow, red, dim } = createColors(wantsColors(io.stdout, io.env));
    const line = (mark: string, name: string, text: string) =>
      io.stdout.writeStyled(`${mark} ${name.padEnd(14)} ${printableText(text)}\n`);
    line(green('✓'), 'node', process.version);
    if (error !== undefined) line(red('✗'), 'configuration', error.message.replace(/\n(?=.)/g, '\n  '));
    else line(green('✓'), 'configuration', loaded.file ?? 'no volley.toml here or above; using the defaults');
    if (loaded.config !== undefined && waiting.length > 0)
      line(
        yellow('–'),
        'trust',
        printableLine(rewriteCommands(trustText(loaded.config.trust), { config: file }, io)),
      );
    else if (trusted === 'trusted') line(green('✓'), 'trust', 'you approved what volley.toml can run');
    if (loaded.config !== undefined) {
      const amounts = Object.entries(capacities(loaded.config)).map(([name, limit]) => `${name} ${limit}`);
      line(green('✓'), 'resources', amounts.join(', '));
    }
    for (const { name, state, problem } of servers) {
      const mark = {
        logged_in: green('✓'),
        login_needed: yellow('–'),
        no_login: green('✓'),
        unreachable: red('✗'),
      };
      const text = rewriteCommands(printableLine(serverText({ name, state, problem })), { config: file }, io);
      line(mark[state], 'MCP server', text);
    }
    if (cluster !== undefined) {
      const { problem, warnings, workers } = cluster;
      const hasArtifacts = loaded.config?.cluster.artifacts !== undefined;
      if (problem !== undefined) line(red('✗'), 'cluster', problem);
      else
        line(
          green('✓'),
          'cluster',
          `the Redis server ${hasArtifacts ? 'and cluster.artifacts are' : 'is'} usable; ${workers.length === 0 ? 'there are no workers' : countText(workers.length, 'worker')}`,
        );
      for (const warning of warnings) line(yellow('–'), 'cluster', warning);
    }
    if (store !== undefined) {
      const { problem, server, warnings } = store;
      if (problem !== undefined) line(red('✗'), 'store', problem);
      else line(green('✓'), 'store', server);
      for (const warning of warnings) line(yellow('–'), 'store', warning);
    }
    for (const { name, active, detail, remedy } of layers) {
      line(active ? green('✓') : yellow('–'), name, detail);
      if (remedy !== undefined) io.stdout.writeStyled(dim(`${' '.repeat(17)}${remedy}\n`));
    }
    for (const attack of open) line(red('✗'), 'risk', attack);
    return status;
  },
});

/** How much there is of each resource, by the names in `volley.toml`. */
function capacities({ limits: { limits, resources } }: VolleyConfig): Record<string, number> {
  const builtIn = RESOURCE_TABLE.map(({ name, configKey }) => [configKey, limits[name]]);
  return { ...Object.fromEntries(builtIn), ...resources };
}

interface StoreState {
  readonly problem: string | undefined;
  /** The server and where it is. */
  readonly server: string;
  readonly warnings: readonly string[];
}

/** Whether the PostgreSQL server of the store can be used. */
async function storeState(url: string): Promise<StoreState> {
  const { checkPostgres } = await import('../../store/postgres/check.ts');
  try {
    return { problem: undefined, ...(await checkPostgres(url)) };
  } catch (error) {
    return { problem: reasonText(error), server: '', warnings: [] };
  }
}

/** Whether the Redis server of the cluster can be used. */
async function clusterState(
  config: VolleyConfig,
  io: Io,
): Promise<{
  readonly problem: string | undefined;
  readonly warnings: readonly string[];
  readonly workers: readonly string[];
}> {
  const { checkCluster, listWorkers } = await import('../../cluster/list-workers.ts');
  const { clusterSettings } = await import('../session/cluster.ts');
  const { strangersText } = await import('./workers.ts');
  try {
    const settings = clusterSettings(config, undefined, io);
    const warnings = await checkCluster(settings);
    const { workers, strangers } = await listWorkers(settings);
    if (strangers.length > 0) warnings.push(printableLine(strangersText(strangers)));
    return { problem: undefined, warnings, workers: workers.map(({ name }) => name) };
  } catch (error) {
    return { problem: reasonText(error), warnings: [], workers: [] };
  }
}

interface RemoteServer {
  readonly name: string;
  readonly state: 'logged_in' | 'login_needed' | 'no_login' | 'unreachable';
  readonly problem: string | undefined;
}

/** How long a server may take to say whether it wants a login. */
const ANSWER_MS = 5000;

/** Whether the user is logged in at the servers that may ask for it: those without a token in their headers. */
async function remoteServers(config: VolleyConfig, { env }: Io): Promise<RemoteServer[]> {
  const remote = Object.entries(config.mcp.servers).filter(
    ([, { connection }]) => connection.kind === 'http',
  );
  if (remote.length === 0) return [];
  const { canLogIn } = await import('../../mcp/client/login-fetch.ts');
  const { LoginStore } = await import('../../mcp/client/logins.ts');
  const { loginDemand } = await import('../../mcp/client/login-flow.ts');
  const { namesCaller, resolveValues } = await import('../../mcp/client/server-source.ts');
  const logins = new LoginStore(env);
  const states = remote.map(async ([name, { connection }]): Promise<RemoteServer[]> => {
    if (connection.kind !== 'http' || namesCaller(connection.headers)) return [];
    const { url } = connection;
    if (!canLogIn(url)) return [];
    if (logins.read(url) !== undefined) return [{ name, state: 'logged_in', problem: undefined }];
    try {
      const { values: headers } = resolveValues(connection.headers, env, `mcp.servers.${name}.headers`);
      const { isNeeded } = await loginDemand({ name, url, headers }, AbortSignal.timeout(ANSWER_MS));
      return [{ name, state: isNeeded ? 'login_needed' : 'no_login', problem: undefined }];
    } catch (error) {
      return [{ name, state: 'unreachable', problem: reasonText(error) }];
    }
  });
  return (await Promise.all(states)).flat();
}

function serverText({ name, state, problem }: RemoteServer): string {
  switch (state) {
    case 'logged_in':
      return `${name}: you are logged in`;
    case 'login_needed':
      return `${name} needs a login. Run: volley mcp login ${name}`;
    case 'no_login':
      return `${name} needs no login`;
    case 'unreachable':
      return `${name} cannot be reached: ${problem}`;
  }
}

const READS = 'commands and process tools can read all your files, including the tokens in .volley';
const WRITES = 'they can write to your files outside the roots, and Volley does not detect it';
const NETWORK = 'they can use the network, whatever the settings say';

/** What is possible without a sandbox. */
function openAttacks(mode: VolleyConfig['processes']['sandbox'], layers: readonly Layer[]): string[] {
  if (mode === 'off')
    return [
      READS,
      'they can change protected paths such as .git/hooks, and Volley does not detect it',
      WRITES,
      NETWORK,
    ];
  const isActive = layers.some(({ name, active }) => name === 'namespaces' && active);
  // With "required", nothing runs without a sandbox.
  if (isActive || mode === 'required') return [];
  return [
    READS,
    'they can change protected paths such as .git/hooks; Volley detects this when the call ends, fails the call and quarantines new files',
    WRITES,
    NETWORK,
  ];
}

/** Loads the configuration, or returns what is wrong with it. */
async function tryConfig(
  options: LoadOptions,
): Promise<Partial<Pick<LoadedConfig, 'file' | 'config'>> & { readonly error?: VolleyError }> {
  try {
    return await loadConfig(options);
  } catch (error) {
    if (!(error instanceof VolleyError && error.code === 'INVALID_CONFIG')) throw error;
    return { file: error.details['file'] as string | undefined, error };
  }
}
