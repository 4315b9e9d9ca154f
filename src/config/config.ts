import { resolve } from 'node:path';
import type { SharedLimits } from '../core/catalog.ts';
import type { NamedResources } from '../core/resource-names.ts';
import { RESOURCE_TABLE, type ResourceLimits } from '../core/resource-table.ts';
import { isObject } from '../core/values.ts';
import type { RunLimits } from '../runners/runner.ts';
import type { ShellSettings } from '../tools/builtin/environment.ts';
import { S3_SCHEME } from './s3-address.ts';
import { DEFAULTS, type Settings } from './schema.ts';
import type { WorkspaceTrust } from './trust.ts';

const DAY_MS = 24 * 3_600_000;

type Camel<S extends string> = S extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : S;

/** A table of the file with camelCase keys: `max_bytes` is `maxBytes`. */
type CamelKeys<T> = {
  readonly [K in keyof T as K extends string ? Camel<K> : K]: T[K] extends readonly unknown[]
    ? T[K]
    : T[K] extends object
      ? CamelKeys<T[K]>
      : T[K];
};

/** The validated content of `volley.toml`, with defaults filled in and absolute paths. */
export interface VolleyConfig {
  /** The base folder of relative paths, absolute: the file's folder, or the working directory without a file. */
  readonly folder: string;
  /** Whether the user trusts the folder, and which settings are off until then. */
  readonly trust: WorkspaceTrust;
  readonly engine: EngineSettings;
  /** Can be changed at run time. */
  readonly limits: LimitSettings;
  readonly defaults: CallDefaults;
  readonly tools: ToolSettings;
  readonly files: CamelKeys<Settings['tools']['files']>;
  readonly http: CamelKeys<Settings['tools']['http_request']>;
  readonly shell: Pick<ShellSettings, 'enabled' | 'shell' | 'env'> & { readonly network: boolean };
  readonly threads: ThreadSettings;
  readonly processes: ProcessSettings;
  readonly secrets: SecretSettings;
  readonly store: StoreSettings;
  readonly cache: CacheSettings;
  readonly cluster: ClusterConfig;
  readonly server: ServerSettings;
  readonly mcp: McpSettings;
  readonly mcpServer: McpServeSettings;
  readonly tasks: TaskSettings;
  readonly askAgent: CamelKeys<Settings['tools']['ask_agent']>;
  /** By the names that calls use. */
  readonly models: Readonly<Record<string, ModelSettings>>;
}

/** Engine settings. */
export interface EngineSettings extends CamelKeys<Settings['engine']> {}

/** Concurrency limits. */
export interface LimitSettings {
  readonly maxConcurrency: number;
  /** Of the built-in resources. */
  readonly limits: Required<ResourceLimits>;
  /** How much there is of each named resource. */
  readonly resources: NamedResources;
  readonly tools: Readonly<Record<string, SharedLimits>>;
  readonly groups: Readonly<Record<string, SharedLimits>>;
}

/** Defaults for calls whose tool does not set them. */
export interface CallDefaults extends CamelKeys<Settings['defaults']> {}

/**
 * Which tools may be called and where they may work. Globs are relative to {@link VolleyConfig.folder}; `roots` are
 * absolute.
 */
export interface ToolSettings
  extends Pick<Settings['tools'], 'allow' | 'deny' | 'modules' | 'roots' | 'protected' | 'writable'> {}

/** The thread pool. */
export interface ThreadSettings extends CamelKeys<Settings['threads']> {}

/** How processes are confined. */
export interface ProcessSettings {
  readonly sandbox: Settings['processes']['sandbox'];
  /** Whether unclaimed memory and CPU follow what was measured. */
  readonly learnUsage: boolean;
  readonly limits: Required<RunLimits>;
}

/** What must not leave the process. */
export interface SecretSettings extends CamelKeys<Settings['secrets']> {}

/** Where batches are stored. */
export interface StoreSettings extends Omit<CamelKeys<Settings['store']>, 'file'> {
  /** Absolute. */
  readonly file: string;
}

/** The cache of results. */
export interface CacheSettings extends CamelKeys<Settings['cache']> {}

/** Workers on other machines. */
export interface ClusterConfig extends Omit<Settings['cluster'], 'artifacts'> {
  /** An absolute path, as the repositories, or `s3://bucket/prefix`. */
  readonly artifacts: string | undefined;
}

/** Settings of `volley serve`. */
export interface ServerSettings extends Omit<CamelKeys<Settings['server']>, 'port' | 'tls' | 'tokens'> {
  /** Undefined: 7717, or a free port if that is taken. */
  readonly port: number | undefined;
  /** Absolute paths of the certificate and its key. */
  readonly tls: { readonly certificate: string; readonly key: string } | undefined;
  readonly tokens: Settings['server']['tokens'];
}

/** Limits per client of the server. */
export interface ServerLimits extends CamelKeys<Settings['server']['limits']> {}

/** A client that may use the server. */
export type TokenSettings = Settings['server']['tokens'][string];

/** The MCP server of Volley. */
export interface McpServeSettings extends Pick<Settings['mcp_server'], 'profile'> {
  /** How long batches that nobody named are kept. */
  readonly keepRunsMs: number;
}

/** Other MCP servers. */
export interface McpSettings {
  /** By the name that prefixes their tools. */
  readonly servers: Readonly<Record<string, McpServerSettings>>;
}

type FileServer = Settings['mcp']['servers'][string];

/** An MCP server whose tools can be called. */
export interface McpServerSettings
  extends Pick<
    CamelKeys<FileServer>,
    'maxConcurrent' | 'startTimeoutMs' | 'maxResultBytes' | 'allow' | 'deny' | 'allowDestructive' | 'parallel'
  > {
  readonly connection: McpProgram | McpAddress;
  /** Absolute paths of the folders that it is given to work in, if any. */
  readonly roots: readonly string[];
  readonly ratePerMinute: number | undefined;
  /** Undefined: the default for calls. */
  readonly callTimeoutMs: number | undefined;
  /** By the server's own tool names. */
  readonly tools: Readonly<Record<string, McpToolSettings>>;
}

/** A server that is a local program. */
export interface McpProgram {
  readonly kind: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  /** Values may refer to the environment: `env:NAME`. */
  readonly env: Readonly<Record<string, string>>;
}

/** A server reached over HTTP. */
export interface McpAddress {
  readonly kind: 'http';
  readonly url: string;
  /** Values may refer to the environment: `env:NAME`. */
  readonly headers: Readonly<Record<string, string>>;
}

/** How calls of one of the server's tools may run next to others. */
export type McpToolSettings = FileServer['tools'][string];

/** How `volley tasks run` delegates subtasks to agents. */
export interface TaskSettings
  extends Pick<
    CamelKeys<Settings['tasks']>,
    | 'maxConcurrent'
    | 'worktrees'
    | 'workers'
    | 'review'
    | 'maxUnreviewed'
    | 'maxRetries'
    | 'deniedPaths'
    | 'allowedAgents'
  > {
  /** The agent of subtasks that do not suggest one. */
  readonly agent: string | undefined;
  /** Per attempt. */
  readonly timeoutMs: number;
  /** How long an agent may stay silent. */
  readonly stallMs: number;
  /** Prefixes of allowed shell commands; undefined if all are allowed. */
  readonly allowedCommands: readonly string[] | undefined;
  /** A shell command to set up new worktrees. */
  readonly setup: string | undefined;
  /** The prompt template, as an absolute path. */
  readonly promptFile: string | undefined;
  readonly budget: TaskBudget;
  /** By the names that subtasks use. */
  readonly agents: Readonly<Record<string, AgentSettings>>;
}

/** The budget of one subtask, over all its attempts; the cost is in US dollars. */
export type TaskBudget = Settings['tasks']['budget'];

/** An agent that subtasks can be delegated to. */
export type AgentSettings = Settings['tasks']['agents'][string];

/** A model that `ask_model` can ask. */
export type ModelSettings = CamelKeys<Settings['models'][string]>;

/** The defaults. */
const NOT_NEEDED: WorkspaceTrust = {
  status: 'not-needed',
  command: 'volley trust',
  waiting: [],
  waitingModules: [],
  changed: [],
  problem: undefined,
  files: new Map(),
};

/** The settings without a file: the folder is the only root. */
export function defaultConfig(folder = process.cwd()): VolleyConfig {
  return toConfig(DEFAULTS, folder);
}

/** Converts the file's names to camelCase. */
export function toConfig(
  settings: Settings,
  folder: string,
  trust: WorkspaceTrust = NOT_NEEDED,
): VolleyConfig {
  const { limits, tools, processes, store, cluster, server, tasks } = settings;
  const { files, http_request: http, shell, ask_agent: askAgent, ...toolSettings } = tools;
  const { sandbox, learn_usage: learnUsage, ...processLimits } = processes;
  const { certificate, key } = server.tls;
  const [program, ...programArguments] = shell.program;
  const roots = [...new Set(tools.roots.map((root) => resolve(folder, root)))];
  return {
    folder: resolve(folder),
    trust,
    engine: camelKeys(settings.engine),
    limits: {
      maxConcurrency: limits.max_concurrency,
      limits: Object.fromEntries(
        RESOURCE_TABLE.map(({ name, configKey }) => [name, limits[configKey]]),
      ) as Required<ResourceLimits>,
      resources: limits.resources ?? {},
      tools: toSharedLimits(limits.tools),
      groups: toSharedLimits(limits.groups),
    },
    defaults: camelKeys(settings.defaults),
    tools: { ...toolSettings, roots },
    files: camelKeys(files),
    http: camelKeys(http),
    shell: {
      enabled: shell.enabled,
      shell: [program!, ...programArguments],
      env: shell.env,
      network: shell.network,
    },
    threads: settings.threads,
    processes: { sandbox, learnUsage, limits: camelKeys(processLimits) },
    secrets: camelKeys(settings.secrets),
    store: { ...camelKeys(store), file: resolve(folder, store.file) },
    cache: camelKeys(settings.cache),
    cluster: {
      ...cluster,
      artifacts: cluster.artifacts?.startsWith(S3_SCHEME)
        ? cluster.artifacts
        : cluster.artifacts && resolve(folder, cluster.artifacts),
      repositories: cluster.repositories.map((path) => resolve(folder, path)),
    },
    server: {
      ...camelKeys({ ...server, tls: undefined, tokens: undefined }),
      port: server.port,
      tls:
        certificate === undefined || key === undefined
          ? undefined
          : { certificate: resolve(folder, certificate), key: resolve(folder, key) },
      tokens: server.tokens,
    },
    mcp: {
      servers: Object.fromEntries(
        Object.entries(settings.mcp.servers).map(([name, one]) => [name, toMcpServer(one, folder, roots)]),
      ),
    },
    mcpServer: {
      profile: settings.mcp_server.profile,
      keepRunsMs: settings.mcp_server.forget_runs_after_days * DAY_MS,
    },
    tasks: {
      agent: tasks.agent,
      maxConcurrent: tasks.max_concurrent,
      worktrees: tasks.worktrees,
      workers: tasks.workers,
      review: tasks.review,
      maxUnreviewed: tasks.max_unreviewed,
      timeoutMs: tasks.timeout * 1000,
      stallMs: tasks.stall * 1000,
      maxRetries: tasks.max_retries,
      deniedPaths: tasks.denied_paths,
      allowedCommands: tasks.allowed_commands.length === 0 ? undefined : tasks.allowed_commands,
      allowedAgents: tasks.allowed_agents,
      setup: tasks.setup,
      promptFile: tasks.prompt === undefined ? undefined : resolve(folder, tasks.prompt),
      budget: tasks.budget,
      agents: tasks.agents,
    },
    askAgent,
    models: Object.fromEntries(Object.entries(settings.models).map(([name, one]) => [name, camelKeys(one)])),
  };
}

/** Only for tables whose keys are not chosen by the user. */
function camelKeys<T extends object>(table: T): CamelKeys<T> {
  return Object.fromEntries(
    Object.entries(table).map(([key, value]) => [
      key.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
      isObject(value) ? camelKeys(value) : value,
    ]),
  ) as CamelKeys<T>;
}

function toSharedLimits(byName: Settings['limits']['tools']): Record<string, SharedLimits> {
  return Object.fromEntries(
    Object.entries(byName).map(([name, { max_concurrency: maxConcurrency, rate }]) => [
      name,
      {
        ...(maxConcurrency !== undefined && { maxConcurrency }),
        ...(rate !== undefined && { rate: { count: rate.count, perMs: rate.per_ms } }),
      },
    ]),
  );
}

function toMcpServer(server: FileServer, folder: string, toolRoots: readonly string[]): McpServerSettings {
  const { command, args, env, cwd = '.', url, headers } = server;
  return {
    // The schema requires exactly one of `command` and `url`.
    connection:
      command === undefined
        ? { kind: 'http', url: url!, headers }
        : { kind: 'stdio', command, args, cwd: resolve(folder, cwd), env },
    // A remote server does not get local folders unless configured.
    roots: server.roots?.map((root) => resolve(folder, root)) ?? (url === undefined ? toolRoots : []),
    maxConcurrent: server.max_concurrent,
    ratePerMinute: server.rate_per_minute,
    startTimeoutMs: server.start_timeout_ms,
    callTimeoutMs: server.call_timeout_ms,
    maxResultBytes: server.max_result_bytes,
    allow: server.allow,
    deny: server.deny,
    allowDestructive: server.allow_destructive,
    parallel: server.parallel,
    tools: server.tools,
  };
}
