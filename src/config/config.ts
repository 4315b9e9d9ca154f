import type { SharedLimits } from '../core/catalog.ts';
import type { Priority } from '../core/priority.ts';
import type { ResourceLimits } from '../core/resources.ts';
import type { RetryOptions } from '../core/retry.ts';
import type { RunLimits } from '../runners/runner.ts';
import type { FileSettings, HttpSettings, ShellSettings } from '../tools/builtin/environment.ts';

/** Everything that `volley.toml` can say, checked, with defaults filled in and paths made absolute. */
export interface VolleyConfig {
  /** The folder from which relative paths count, absolute: the file's own, or the working directory without a file. */
  readonly folder: string;
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
