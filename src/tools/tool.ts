import type { ResourceRequirements } from '../core/demand.ts';
import type { Priority } from '../core/priority.ts';
import type { RetryOptions } from '../core/retry.ts';
import type { RunLimits, ToolCode, ToolContext, ToolRun } from '../runners/runner.ts';
import type { CompiledSchema, ToolSchema } from './schema.ts';

/** Where a tool runs, and so which of its faults are contained; see the table in `docs/tools.md`. */
export type Isolation = 'inline' | 'thread' | 'process';

/** Needs that are constant, or computed from the input: a file's lock, for example. */
export type ResourceNeeds<I> = ResourceRequirements | NeedsMethod<I>['needs'];

/**
 * Typed like a method (bivariant), so that a tool with a specific input is also a `Tool`: its schema validates the
 * input.
 */
interface NeedsMethod<I> {
  needs(input: I): ResourceRequirements;
}

/** The quotas that a tool uses: names, or a function that names them by the input. */
export type QuotaNeeds<I> = string | readonly string[] | QuotaMethod<I>['quota'];

/** As a method, so that a tool of any input is a `Tool<unknown>`. */
export interface QuotaMethod<I> {
  /** The quotas of a call with this input. */
  quota(input: I): string | readonly string[] | undefined;
}

/**
 * What a result depends on besides the arguments. Paths are absolute or relative to the first root, and inside the
 * roots. What does not exist is an input too: its appearance changes the result.
 */
export interface CacheInputs {
  /** Files whose content it reads. */
  readonly files?: readonly string[];
  /** Folders that it walks. */
  readonly folders?: readonly FolderInput[];
  /** Change it when results change for a reason that the code of the tool does not show, such as a new package. */
  readonly version?: string;
}

/** A folder that a tool walks. Symbolic links in it are not followed. */
export interface FolderInput {
  readonly path: string;
  /** Only entries that match: by name at any depth, or with a slash by the path from the folder. Default: all. */
  readonly glob?: string;
  /** How many levels deep; 1 is only the folder itself. Default 32, the maximum. */
  readonly depth?: number;
  /** Names of folders inside that it does not enter. */
  readonly skip?: readonly string[];
  /** What it reads of the files there. Default `contents`. */
  readonly reads?: 'names' | 'sizes' | 'contents';
}

/** The inputs of a tool: constant, or computed from the checked input. Undefined: this call is not cached. */
export type CacheDeclaration<I> = CacheInputs | CacheMethod<I>['inputs'];

/** Bivariant, like {@link NeedsMethod}. */
interface CacheMethod<I> {
  inputs(input: I): CacheInputs | undefined;
}

/** The files of a call, as paths relative to the first root. */
export interface FileUse {
  /** What it reads, as in `cache`. */
  readonly inputs?: Omit<CacheInputs, 'version'>;
  /** The files and folders that it writes. */
  readonly outputs?: readonly string[];
}

/** The files of a tool's calls: constant, or computed from the checked input. Undefined: of this call nothing is known. */
export type FileDeclaration<I> = FileUse | FilesMethod<I>['files'];

/** Bivariant, like {@link NeedsMethod}. */
interface FilesMethod<I> {
  files(input: I): FileUse | undefined;
}

/** The settings of every tool, however its code is given. */
export interface ToolProperties<I> {
  /** 1 to 128 letters, digits, `_`, `-` and `.`; the first is a letter or `_`. */
  readonly name: string;
  /** For a model or a person who chooses between tools. */
  readonly description?: string;
  /** The resources it needs while it runs. Default: cpu 0.1, 100 MB, low I/O, no network. */
  readonly resources?: ResourceNeeds<I>;
  /** Default `normal`. */
  readonly priority?: Priority;
  /** Names of tools that may not run at the same time. */
  readonly conflictsWith?: readonly string[];
  /** Whether running it twice has the same effect as once: then it may be retried after a crash. Default `readOnly`. */
  readonly idempotent?: boolean;
  /** Whether it changes nothing. Default false. */
  readonly readOnly?: boolean;
  /** Whether identical calls of one group run once. Default `readOnly`. */
  readonly dedupe?: boolean;
  /**
   * What its result depends on. Results are then cached, and a call with the same arguments and inputs is answered from
   * the cache. Only for calls that change nothing and depend on nothing else: no clock, network or database. A tool that is
   * not `readOnly` needs a function, which returns undefined for calls that change something.
   */
  readonly cache?: CacheDeclaration<I>;
  /**
   * What it reads and writes, so that a worker of a cluster can run it without sharing the folder: the inputs are sent
   * to a private folder there, and the outputs come back. A process has that folder as its working directory; a tool that
   * runs inline finds it in `context.folder`. A tool with `cache` that runs in a process needs no declaration.
   */
  readonly files?: FileDeclaration<I>;
  /** Default `inline`. */
  readonly isolation?: Isolation;
  /** How long an attempt may run. Default 300000. */
  readonly timeoutMs?: number;
  /** How long an attempt may go without reporting progress. */
  readonly stallMs?: number;
  readonly retry?: RetryOptions;
  /** Whether it is never retried, whatever a call's retry options. Default false. */
  readonly unrepeatable?: boolean;
  /** Limits enforced while it runs; `memoryMb`, `cpuMs`, `openFiles`, `processes` and `outputBytes` need `process`. */
  readonly limits?: RunLimits;
  /** The environment variables of its process, by name. */
  readonly env?: readonly string[];
  /** The name under which its calls share limits and rates with those of other tools. Default: its own. */
  readonly limitedAs?: string;
  /**
   * The quota of an outside service that it uses, constant or computed from the input, such as `host:api.example.com`.
   * While it is used up, calls with the same quota wait. With several, one that is open is enough, and `context.quota`
   * says which; each failed attempt prefers the next. Default: its own name, or `limitedAs`.
   */
  readonly quota?: QuotaNeeds<I>;
}

/** The schemas of a tool. */
interface ToolSchemas<In, Out> {
  /** Any Standard Schema (zod, valibot, …) or a JSON Schema. Without one, any input is accepted. */
  readonly input?: In;
  /** The schema of its result; a result that does not match fails the call. */
  readonly output?: Out;
}

/** The code of a tool. */
type ToolBody<I, R> =
  | {
      /**
       * The function. For a thread or process its source code is sent, so it must import everything it uses; set
       * `module` if that is too limiting.
       */
      readonly run: ToolRun<I, R>;
    }
  | {
      /** The URL of a module, such as `new URL('./resize.mjs', import.meta.url)`. */
      readonly module: string | URL;
      /** The export to call. Default `default`. */
      readonly exportName?: string;
    };

/** The argument of {@link defineTool}: a function, or a module that exports one. */
export type ToolDefinition<I, O> = ToolProperties<I> &
  ToolSchemas<ToolSchema<I>, ToolSchema<O>> &
  ToolBody<I, O>;

/** The same with the types of its schemas. The function takes `I` and returns `R`. */
export type InferredToolDefinition<I, In, Out, R> = ToolProperties<I> & ToolSchemas<In, Out> & ToolBody<I, R>;

/**
 * A tool with a validated definition. Created by {@link defineTool}. Its function takes `I` and returns `O`; callers
 * give `A`, from which the input schema makes `I`.
 */
export interface Tool<I = unknown, O = unknown, A = I> {
  readonly name: string;
  readonly description: string;
  readonly input: CompiledSchema<I, A>;
  readonly output: CompiledSchema<O> | undefined;
  readonly resources: ResourceNeeds<I> | undefined;
  readonly priority: Priority | undefined;
  readonly conflictsWith: readonly string[];
  readonly idempotent: boolean;
  readonly readOnly: boolean;
  readonly dedupe: boolean;
  readonly cache: CacheDeclaration<I> | undefined;
  readonly files: FileDeclaration<I> | undefined;
  readonly isolation: Isolation;
  readonly timeoutMs: number | undefined;
  readonly stallMs: number | undefined;
  readonly retry: RetryOptions | undefined;
  readonly unrepeatable: boolean;
  readonly limits: RunLimits;
  readonly env: readonly string[];
  readonly limitedAs: string | undefined;
  readonly quota: QuotaNeeds<I> | undefined;
  readonly code: ToolCode;
  /**
   * The URL of the module in which it was found.
   *
   * @internal
   */
  readonly source?: string;
  /**
   * For a placeholder: loads the tool itself. Rejects if there is no such tool.
   *
   * @internal
   */
  later?(): Promise<Tool>;
  /** The function, for direct calls; undefined if the tool is given by a module. */
  run?(input: I, context: ToolContext): O | PromiseLike<O>;
}
