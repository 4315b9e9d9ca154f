import type { ToolAnnotations } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Scope } from '../../batch/actions/define-action.ts';
import type { BatchExecutor } from '../../batch/executor/batch-executor.ts';
import { BATCH } from '../../batch/input/fields.ts';
import type { VolleyConfig } from '../../config/config.ts';
import type { McpContent } from '../../coordinator/formats/mcp.ts';
import type { Store } from '../../store/store.ts';
import type { StoreWatch } from '../../store/store-watch.ts';
import type { FeatureService } from '../../tasks/run/feature-service.ts';
import type { DiscoveredTools } from '../open-coordinator.ts';

/** Which tools clients see: all, or only those for programs, batches, results and search. */
export type McpProfile = VolleyConfig['mcpServer']['profile'];

/** What the tools and resources of the MCP server use. Its creator closes it. */
export interface McpBackend {
  readonly executor: BatchExecutor;
  readonly store: Store;
  readonly watch: StoreWatch;
  /** How long batches that nobody named are kept. */
  readonly keepRunsMs: number;
  /** Lists what a batch may call: everything, or enough to resolve these names. */
  functions(names?: readonly string[]): Promise<DiscoveredTools>;
  /** Of the project; loaded on demand. */
  features(): Promise<FeatureService>;
}

/** Opens the backend on the first call, so that the server answers before anything is loaded. */
export type OpenBackend = () => Promise<McpBackend>;

/** One call of a tool by a client. */
export interface McpCall {
  readonly backend: McpBackend;
  /** Which tools the client sees, so that hints name no others. */
  readonly profile: McpProfile;
  /** Aborted when the client cancels the call or disconnects. */
  readonly signal: AbortSignal;
  /** Reports progress to the client; undefined if it did not ask for progress. */
  readonly report: ((progress: number, total: number, message: string) => Promise<void>) | undefined;
  /** The client accepts a task instead of a result after this time. */
  readonly taskAfterSeconds?: number | undefined;
  /** Sends a line to the client's log. */
  log(level: 'info' | 'warning', data: object): void;
}

/** The answer for models, as `text`, and for programs, as `data`. */
export interface ToolAnswer {
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** Pictures, sound and files, after the text. */
  readonly content?: readonly McpContent[];
  /** Whether the call failed. */
  readonly isError?: boolean;
  /** It continues as a task of this name. Only if the call accepts tasks. */
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
  /** Fields that the small profile does not show. */
  readonly rare?: readonly string[];
  /** Whether it can continue as a task. */
  readonly asTask?: boolean;
  /** The scope that the caller needs. It may depend on the unvalidated arguments. */
  readonly scope: Scope | ((given: unknown) => Scope);
  run(args: z.output<S>, call: McpCall): Promise<ToolAnswer>;
}

/** Infers the type of the arguments from the schema. */
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

/** The longest time that one call may wait. The batch continues after that. */
export const MAX_WAIT_SECONDS = 1800;

export const BATCH_NAME = BATCH.unwrap();

export const WAIT_SECONDS = z.number().min(0).max(MAX_WAIT_SECONDS);

export const DEFAULT_CHARS = 40_000;

export const MAX_CHARS = z
  .number()
  .int()
  .min(1000)
  .max(1_000_000)
  .default(DEFAULT_CHARS)
  .describe(`Characters of results (${DEFAULT_CHARS}).`);

export const STATUS_COUNTS = z.record(z.string(), z.number());
