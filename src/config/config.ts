import type { SharedLimits } from '../core/catalog.ts';
import type { Priority } from '../core/priority.ts';
import type { ResourceLimits } from '../core/resource-table.ts';
import type { RetryOptions } from '../core/retry.ts';
import type { RunLimits } from '../runners/runner.ts';
import type { FileSettings, HttpSettings, ShellSettings } from '../tools/builtin/environment.ts';
import type { WorkspaceTrust } from './trust.ts';

/** Everything that `volley.toml` can say, checked, with defaults filled in and paths made absolute. */
export interface VolleyConfig {
  /** The folder from which relative paths count, absolute: the file's own, or the working directory without a file. */
  readonly folder: string;
  /** Whether the user trusts the folder, and which settings are off until then. */
  readonly trust: WorkspaceTrust;
  readonly engine: EngineSettings;
  /** Can be changed while everything runs. */
  readonly limits: LimitSettings;
  readonly defaults: CallDefaults;
  readonly tools: ToolSettings;
  readonly files: FileSettings;
  readonly http: HttpSettings;
  readonly shell: Pick<ShellSettings, 'enabled' | 'shell' | 'env'> & { readonly network: boolean };
  readonly threads: ThreadSettings;
  readonly processes: ProcessSettings;
  readonly secrets: SecretSettings;
  readonly store: StoreSettings;
  readonly server: ServerSettings;
  readonly mcp: McpSettings;
  readonly tasks: TaskSettings;
}

/** How the engine behaves. */
export interface EngineSettings {
  readonly ageingMs: number;
  readonly reserveAfterMs: number;
  readonly graceMs: number;
  readonly retainSettled: number;
  readonly eventLogSize: number;
}

/** What may run at once. */
export interface LimitSettings {
  readonly maxConcurrency: number;
  readonly resources: Required<ResourceLimits>;
  readonly tools: Readonly<Record<string, SharedLimits>>;
  readonly groups: Readonly<Record<string, SharedLimits>>;
}

/** For calls whose tool says nothing itself. */
export interface CallDefaults {
  readonly priority: Priority;
  readonly timeoutMs: number;
  readonly retry: Required<RetryOptions>;
}

/** What may be called, and where it may work. */
export interface ToolSettings {
  /** Globs of the names that may be called; what `deny` matches may not. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  /** Globs of modules that bring tools, loaded in order; from {@link VolleyConfig.folder}. */
  readonly modules: readonly string[];
  /** Folders in which file tools and processes may work, absolute. */
  readonly roots: readonly string[];
  /** Globs of paths that no tool may write, in addition to the default ones; relative to {@link VolleyConfig.folder}. */
  readonly protected: readonly string[];
  /** Globs of protected paths that tools may write, unless they are Volley's own. */
  readonly writable: readonly string[];
}

/** The pool of threads. */
export interface ThreadSettings {
  readonly max: number;
}

/** How processes are kept in. */
export interface ProcessSettings {
  readonly sandbox: 'auto' | 'required' | 'off';
  readonly limits: Required<RunLimits>;
}

/** What must not leave the process. */
export interface SecretSettings {
  /** Globs of names of environment variables and fields whose values are never shown. */
  readonly names: readonly string[];
  /** How many characters of a tool's step or error text leave the process. */
  readonly maxTextLength: number;
}

/** Where batches are kept. */
export interface StoreSettings {
  /** Where batches are kept, absolute. */
  readonly file: string;
}

/** How `volley serve` behaves. */
export interface ServerSettings {
  readonly host: string;
  /** Undefined: 7717, or a free one where that is taken. */
  readonly port: number | undefined;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** How long running tasks may go on after the server was told to stop. */
  readonly graceMs: number;
  readonly sessionMs: number;
  /** Less important lines are not logged. */
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  readonly limits: ServerLimits;
  /** Absolute paths of the certificate and its key. */
  readonly tls: { readonly certificate: string; readonly key: string } | undefined;
  readonly tokens: Readonly<Record<string, TokenSettings>>;
}

/** What a client of the server may cost. */
export interface ServerLimits {
  readonly maxBodyBytes: number;
  readonly maxDepth: number;
  readonly maxConnections: number;
  readonly headerTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** Of each token, session and address. */
  readonly requestsPerSecond: number;
  /** Of each token, session and address. */
  readonly streams: number;
}

/** A program that may use the server. */
export interface TokenSettings {
  /** `sha256:` and 64 hexadecimal digits. */
  readonly hash: string;
  readonly scope: 'read' | 'run' | 'admin';
}

/** Other servers of the Model Context Protocol. */
export interface McpSettings {
  /** By the name under which their tools are called. */
  readonly servers: Readonly<Record<string, McpServerSettings>>;
}

/** A server whose tools can be called. */
export interface McpServerSettings {
  readonly connection: McpProgram | McpAddress;
  /** Absolute paths of the folders that it is told to work in; none where it is told nothing. */
  readonly roots: readonly string[];
  readonly maxConcurrent: number;
  readonly ratePerMinute: number | undefined;
  readonly startTimeoutMs: number;
  /** Undefined: as for other calls. */
  readonly callTimeoutMs: number | undefined;
  readonly maxResultBytes: number;
  /** Globs of the server's own names. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  /** Names in full. */
  readonly allowDestructive: readonly string[];
  readonly parallel: 'read-only' | 'all' | 'none';
  /** By the server's own names. */
  readonly tools: Readonly<Record<string, McpToolSettings>>;
}

/** A server that is a program on this machine. */
export interface McpProgram {
  readonly kind: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  /** Values may refer to the environment: `env:NAME`. */
  readonly env: Readonly<Record<string, string>>;
}

/** A server that is reached over HTTP. */
export interface McpAddress {
  readonly kind: 'http';
  readonly url: string;
  /** Values may refer to the environment: `env:NAME`. */
  readonly headers: Readonly<Record<string, string>>;
}

/** How calls of one tool of a server may run next to others. */
export interface McpToolSettings {
  readonly parallel?: boolean | undefined;
  /** The argument by whose value calls exclude each other. */
  readonly lock?: string | undefined;
}

/** How `volley tasks run` delegates subtasks to agents. */
export interface TaskSettings {
  /** The agent of subtasks that suggest none. */
  readonly agent: string | undefined;
  readonly maxConcurrent: number;
  readonly worktrees: boolean;
  /** Of one attempt. */
  readonly timeoutMs: number;
  /** How long an agent may write nothing. */
  readonly stallMs: number;
  readonly maxRetries: number;
  /** Globs, from the folder of the project. */
  readonly deniedPaths: readonly string[];
  /** How allowed shell commands begin; undefined where all are. */
  readonly allowedCommands: readonly string[] | undefined;
  readonly allowedAgents: readonly string[];
  /** A shell command for new worktrees. */
  readonly setup: string | undefined;
  /** The template of the prompt, absolute. */
  readonly promptFile: string | undefined;
  readonly budget: TaskBudget;
  /** By the names under which subtasks suggest them. */
  readonly agents: Readonly<Record<string, AgentSettings>>;
}

/** What one subtask may use, all its attempts together. */
export interface TaskBudget {
  readonly turns?: number | undefined;
  readonly tokens?: number | undefined;
  /** In US dollars. */
  readonly cost?: number | undefined;
}

/** An agent that subtasks can be delegated to. */
export interface AgentSettings {
  readonly adapter?: string | undefined;
  readonly model?: string | undefined;
  readonly command?: readonly string[] | undefined;
  readonly env: Readonly<Record<string, string>>;
}
