import type { ToolAnnotations } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import type { McpBackend, McpScope } from './backend.ts';

/** One call of a tool by a client. */
export interface McpCall {
  readonly backend: McpBackend;
  /** Aborted when the client cancels the call or goes away. */
  readonly signal: AbortSignal;
  /** Tells the client how far it is; undefined where it did not ask for that. */
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
  /** It goes on as a task of this name; only where the call takes one. */
  readonly task?: string;
}

/** One of the tools that a client sees. */
export interface McpTool {
  readonly name: string;
  readonly title: string;
  /** For a model. */
  readonly description: string;
  readonly input: z.ZodType;
  readonly output: z.ZodType;
  /** All four of them, said plainly: docs/security.md has the same table. */
  readonly annotations: Required<Omit<ToolAnnotations, 'title'>>;
  /** Whether its work can go on as a task. */
  readonly asTask?: boolean;
  /** What the caller needs for this call; the arguments are as they came. */
  scopeOf(given: unknown): McpScope;
  /** `given` are the arguments as they came: the tool checks them, so that its errors are ours. */
  run(given: unknown, call: McpCall): Promise<ToolAnswer>;
}
