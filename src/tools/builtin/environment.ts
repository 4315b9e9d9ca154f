import type { Confinement } from '../../runners/process/confinement.ts';
import type { Launcher } from '../../runners/process/launcher.ts';
import type { RunLimits, SandboxPolicy } from '../../runners/runner.ts';
import type { Tool } from '../tool.ts';

/** What the built-in tools may access. Set by the configuration, never by a caller's arguments. */
export interface ToolEnvironment {
  /** Absolute paths of the folders in which file tools may work. Relative paths start at the first. */
  readonly roots: readonly string[];
  /** What no tool may write, or even read, inside the roots. */
  readonly protection?: PathProtection | undefined;
  readonly files: FileSettings;
  readonly http: HttpSettings;
  readonly shell: ShellSettings;
}

/** Tools that are made for the coordinator that registers them. Created by `builtinTools`. */
export interface ToolSet {
  /**
   * Makes the tools, and says why others are missing, by name.
   *
   * @internal
   */
  readonly toolsFor: (environment: ToolEnvironment) => {
    readonly tools: readonly Tool[];
    readonly absent: ReadonlyMap<string, string>;
  };
}

/** Decides what is protected. Paths are absolute and real; they need not exist. */
export interface PathProtection {
  /** Why a path may not be written; undefined if it may. */
  protects(
    path: string,
  ): { readonly pattern: string; readonly why: string; readonly isOwn: boolean } | undefined;
  /** Whether a path may not even be read. */
  hides(path: string): boolean;
}

/** Limits of the file tools. */
export interface FileSettings {
  /** The most bytes that `read_file` returns at once and that `write_file` accepts. */
  readonly maxBytes: number;
  /** The most entries of a listing, or matches of a search. */
  readonly maxEntries: number;
}

/** The settings of `http_request`. */
export interface HttpSettings {
  readonly enabled: boolean;
  /** Whether requests to this machine and to private networks are allowed. */
  readonly allowPrivate: boolean;
  /** Globs of the host names that requests may go to. */
  readonly allowHosts: readonly string[];
  readonly maxBytes: number;
  readonly maxRedirects: number;
  readonly timeoutMs: number;
}

/** The settings of `shell`. */
export interface ShellSettings {
  readonly enabled: boolean;
  /** The program and its first arguments; the command is appended as the last one. */
  readonly shell: readonly [string, ...string[]];
  /** Names of the environment variables that commands get. */
  readonly env: readonly string[];
  readonly limits: RunLimits;
  readonly sandbox: SandboxPolicy;
  /** Starts commands outside a sandbox. */
  readonly launcher: () => Launcher;
  /** Starts them in a sandbox, with limits on all of their processes together. */
  readonly confinement: () => Confinement;
}
