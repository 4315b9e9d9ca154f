import type { ToolAnnotations } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Scope } from '../../batch/actions/define-action.ts';
import type { BatchExecutor } from '../../batch/executor/batch-executor.ts';
import { BATCH } from '../../batch/input/fields.ts';
import type { Store } from '../../store/store.ts';
import type { StoreWatch } from '../../store/store-watch.ts';
import type { FeatureService } from '../../tasks/run/feature-service.ts';
import type { DiscoveredTools } from '../open-coordinator.ts';

/** What the tools and resources of the MCP server work with. Whoever made it closes it. */
export interface McpBackend {
  readonly executor: BatchExecutor;
  readonly store: Store;
  readonly watch: StoreWatch;
  /** What a batch may call: everything, or what is needed to find these names. */
  functions(names?: readonly string[]): Promise<DiscoveredTools>;
  /** Of the project; loaded on demand. */
  features(): Promise<FeatureService>;
}

/** Opens the backend with the first call, so that a client gets its first answer before anything is loaded. */
export type OpenBackend = () => Promise<McpBackend>;

/** One call of a tool by a client. */
export interface McpCall {
  readonly backend: McpBackend;
  /** Aborted when the client cancels the call or disconnects. */
  readonly signal: AbortSignal;
  /** Reports progress to the client; undefined if it did not ask for that. */
  readonly report: ((progress: number, total: number, message: string) => Promise<void>) | undefined;
  /** The client takes a task instead of a result, after waiting for so long. */
  readonly taskAfterSeconds?: number | undefined;
  /** Sends a line to the client's log. */
  log(level: 'info' | 'warning', data: object): void;
}

/** The same for a model, as `text`, and for a program, as `data`. */
export interface ToolAnswer {
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** What was asked for could not be done. */
  readonly isError?: boolean;
  /** It goes on as a task of this name; only if the call takes one. */
  readonly task?: string;
}

/** A tool that clients see. */
export interface ServedTool<S extends z.ZodType = z.ZodType> {
  readonly name: string;
  readonly title: string;
  /** For a model. */
  readonly description: string;
  /** Describes the arguments to clients, and checks them. */
  readonly input: S;
  readonly output: z.ZodType;
  /** docs/security.md has the same table. */
  readonly annotations: Required<Omit<ToolAnnotations, 'title'>>;
  /** Whether its work can go on as a task. */
  readonly asTask?: boolean;
  /** What the caller needs; of arguments as they came where it depends on them. */
  readonly scope: Scope | ((given: unknown) => Scope);
  run(args: z.output<S>, call: McpCall): Promise<ToolAnswer>;
}

/** Ties the type of the arguments to the schema. */
export function defineServedTool<S extends z.ZodType>(tool: ServedTool<S>): ServedTool<S> {
  return tool;
}

export const READS = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;

/** Whatever the functions of a batch do. */
export const RUNS = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
} as const;

/** Tasks that one call may add. */
export const MAX_TASKS_PER_CALL = 10_000;

/** The longest time that a batch may run. */
export const MAX_BATCH_SECONDS = 86_400;

/** The longest time that one call may wait; what runs then goes on. */
export const MAX_WAIT_SECONDS = 1800;

/** Most clients give up after 60 s: an answer that says "it still runs" comes before that. */
export const DEFAULT_WAIT_SECONDS = 50;

export const BATCH_NAME = BATCH.unwrap();

export const WAIT_SECONDS = z.number().min(0).max(MAX_WAIT_SECONDS);

export const DEFAULT_CHARS = 40_000;

export const MAX_CHARS = z
  .number()
  .int()
  .min(1000)
  .max(1_000_000)
  .default(DEFAULT_CHARS)
  .describe(`Characters of results to show in all; longer ones are cut. Default ${DEFAULT_CHARS}.`);

export const COUNTS = z.record(z.string(), z.number());
