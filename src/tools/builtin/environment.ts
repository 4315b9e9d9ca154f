import type { Confinement } from '../../runners/process/confinement.ts';
import type { Launcher } from '../../runners/process/launcher.ts';
import type { RunLimits, SandboxPolicy } from '../../runners/runner.ts';

/** What the built-in tools may touch. The configuration decides it; a caller's arguments never do. */
export interface ToolEnvironment {
  /** Folders in which file tools may work, absolute. A relative path counts from the first. */
  readonly roots: readonly string[];
  /** What inside the roots no tool may write, or not even read. */
  readonly protection?: PathProtection | undefined;
  readonly files: FileSettings;
  readonly http: HttpSettings;
  readonly shell: ShellSettings;
}

/** Answers what is protected. Paths are absolute and real; they need not exist. */
export interface PathProtection {
  /** Why a path may not be written, or undefined if it may. */
  protects(
    path: string,
  ): { readonly pattern: string; readonly why: string; readonly isOwn: boolean } | undefined;
  /** Whether a path may not even be read. */
  hides(path: string): boolean;
}

/** Limits of the file tools. */
export interface FileSettings {
  /** The largest part of a file that `read_file` gives at once, and the largest text that `write_file` takes. */
  readonly maxBytes: number;
  /** How many entries or matches a listing or a search gives at most. */
  readonly maxEntries: number;
}

/** What `http_request` may do. */
export interface HttpSettings {
  readonly enabled: boolean;
  /** Whether addresses of this machine and of private networks may be asked. */
  readonly allowPrivate: boolean;
  /** Globs of host names that may be asked. */
  readonly allowHosts: readonly string[];
  readonly maxBytes: number;
  readonly maxRedirects: number;
  readonly timeoutMs: number;
}

/** What `shell` may do. */
export interface ShellSettings {
  readonly enabled: boolean;
  /** The program and its first arguments; the command is added as the last. */
  readonly shell: readonly [string, ...string[]];
  /** Names of environment variables that commands get. */
  readonly env: readonly string[];
  readonly limits: RunLimits;
  readonly sandbox: SandboxPolicy;
  /** What starts commands outside a sandbox. */
  readonly launcher: () => Launcher;
  /** What starts them in one, with limits on all of their processes together. */
  readonly confinement: () => Confinement;
}
