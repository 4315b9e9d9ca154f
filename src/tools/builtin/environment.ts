import type { Confinement } from '../../runners/process/confinement.ts';
import type { Launcher } from '../../runners/process/launcher.ts';
import type { RunLimits, SandboxPolicy } from '../../runners/runner.ts';

/** What the built-in tools may touch. The configuration decides it; a caller's arguments never do. */
export interface ToolEnvironment {
  /** Folders in which file tools may work, absolute. A relative path counts from the first. */
  readonly roots: readonly string[];
  /** What no file tool writes to although it is inside the roots: what the host itself reads and runs. */
  readonly protectedPaths: readonly ProtectedPath[];
  readonly files: FileSettings;
  readonly http: HttpSettings;
  readonly shell: ShellSettings;
}

export interface ProtectedPath {
  /** A file, or a folder with everything below it; absolute. It need not exist. */
  readonly path: string;
  /** Of a folder only what matches, from the folder. */
  readonly glob?: string;
  /** Whether no file tool reads it either. */
  readonly isSecret?: boolean;
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
