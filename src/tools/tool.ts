import type { ResourceRequirements } from '../core/demand.ts';
import type { Priority } from '../core/priority.ts';
import type { RetryOptions } from '../core/retry.ts';
import type { RunLimits, ToolCode, ToolContext, ToolRun } from '../runners/runner.ts';
import type { CompiledSchema, ToolSchema } from './schema.ts';

/** Where a tool runs, and thereby which of its faults stay its own; `docs/tools.md` has the table. */
export type Isolation = 'inline' | 'thread' | 'process';

/** Needs that are always the same, or that follow from the input: a file's lock, for example. */
export type ResourceNeeds<I> = ResourceRequirements | NeedsMethod<I>['needs'];

/** Typed as methods are, so that a tool of some input is also a tool: its schema stands between them. */
interface NeedsMethod<I> {
  needs(input: I): ResourceRequirements;
}

/** What is said of every tool, however its work is given. */
export interface ToolProperties<I> {
  /** 1 to 128 letters, digits, `_`, `-` and `.`; the first is a letter or `_`. */
  readonly name: string;
  /** For a model or a person who chooses between tools. */
  readonly description?: string;
  /** What it needs while it runs. Default: cpu 0.1, 100 MB, low I/O, no network. */
  readonly resources?: ResourceNeeds<I>;
  /** Default `normal`. */
  readonly priority?: Priority;
  /** Names of tools that may not run at the same time. */
  readonly conflictsWith?: readonly string[];
  /** Whether doing it twice is the same as doing it once: then it may be retried after a crash. Default `readOnly`. */
  readonly idempotent?: boolean;
  /** Whether it changes nothing. Default false. */
  readonly readOnly?: boolean;
  /** Whether identical calls of one group run once. Default `readOnly`. */
  readonly dedupe?: boolean;
  /** Default `inline`. */
  readonly isolation?: Isolation;
  /** How long an attempt may run. Default 300000. */
  readonly timeoutMs?: number;
  /** How long an attempt may go without reporting progress. */
  readonly stallMs?: number;
  readonly retry?: RetryOptions;
  /** Whether it is never tried again, whatever a call says of retries. Default false. */
  readonly unrepeatable?: boolean;
  /** What is enforced while it runs; `memoryMb`, `cpuMs`, `openFiles`, `processes` and `outputBytes` need `process`. */
  readonly limits?: RunLimits;
  /** The environment variables that its process gets, by name. */
  readonly env?: readonly string[];
  /** The name under which its calls are limited and rated, together with those of other tools. Default: its own. */
  readonly limitedAs?: string;
}

/** What {@link defineTool} takes: a function, or a module that exports one. */
export type ToolDefinition<I, O> = ToolProperties<I> & {
  /** Any Standard Schema (zod, valibot, …) or a JSON Schema. Without one, any input is taken. */
  readonly input?: ToolSchema<I>;
  /** What it promises to return; a result that differs fails the call. */
  readonly output?: ToolSchema<O>;
} & (
    | {
        /**
         * The work. In a thread or a process it is sent as text, so it must import what it uses; give `module` where
         * that is too narrow.
         */
        readonly run: ToolRun<I, O>;
      }
    | {
        /** The address of a module, such as `new URL('./resize.mjs', import.meta.url)`. */
        readonly module: string | URL;
        /** The export that does the work. Default `default`. */
        readonly exportName?: string;
      }
  );

/** A tool whose definition was checked. Made by {@link defineTool}. */
export interface Tool<I = unknown, O = unknown> {
  readonly name: string;
  readonly description: string;
  readonly input: CompiledSchema<I>;
  readonly output: CompiledSchema<O> | undefined;
  readonly resources: ResourceNeeds<I> | undefined;
  readonly priority: Priority | undefined;
  readonly conflictsWith: readonly string[];
  readonly idempotent: boolean;
  readonly readOnly: boolean;
  readonly dedupe: boolean;
  readonly isolation: Isolation;
  readonly timeoutMs: number | undefined;
  readonly stallMs: number | undefined;
  readonly retry: RetryOptions | undefined;
  readonly unrepeatable: boolean;
  readonly limits: RunLimits;
  readonly env: readonly string[];
  readonly limitedAs: string | undefined;
  readonly code: ToolCode;
  /**
   * Of a stand-in: the tool itself, when its source has told of it. Fails where there is no such tool.
   *
   * @internal
   */
  later?(): Promise<Tool>;
  /** The work itself, for whoever wants to call it directly; missing where it is given by a module. */
  run?(input: I, context: ToolContext): O | PromiseLike<O>;
}
