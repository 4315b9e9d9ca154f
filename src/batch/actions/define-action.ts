import type { z } from 'zod';
import type { ActionResult } from '../answer.ts';
import type { BatchContext } from '../context.ts';

/** Each scope includes those before it. */
export const SCOPES = ['read', 'run', 'admin'] as const;

export type Scope = (typeof SCOPES)[number];

/** What interfaces need to know about an action before calling it. */
interface ActionHints {
  /** Changes nothing. */
  readonly readOnly?: true;
  /** Cannot be undone. */
  readonly destructive?: true;
  /** Creates the batch if it does not exist. Not idempotent. */
  readonly creates?: true;
  /** The process that runs the batch answers. It is asked through the store, so no server is needed. */
  readonly askHolder?: true;
}

/** What the list of all actions holds; the rest of an action is loaded when it is needed. */
export interface ActionEntry<A = Action> {
  readonly name: string;
  readonly summary: string;
  readonly scope: Scope;
  readonly hints: ActionHints;
  readonly cli: { readonly summary: string; readonly group: ActionGroup };
  load(): Promise<A>;
}

/** The heading of the command line's help that an action is listed under. */
export type ActionGroup = 'run' | 'look';

/** The only definition of an action. The library, HTTP, MCP and the command line are derived from it. */
export interface Action<S extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  /** Lists of actions are sorted by it. */
  readonly order: number;
  /** In the imperative, on one line. */
  readonly summary: string;
  /** The scope that a token needs. */
  readonly scope: Scope;
  readonly hints: ActionHints;
  readonly schema: S;
  readonly http?: HttpForm;
  readonly cli: CliForm;
  /** `args` is the output of the schema. */
  run(args: z.output<S>, context: BatchContext): Promise<ActionResult>;
}

/** A route of its own. Every action can also be sent to `POST /v1/actions`. */
export interface HttpForm {
  readonly method: 'get' | 'post';
  /** Starts with the path of the batch. */
  readonly path: `/v1/batches/{batch}/${string}`;
  readonly operationId: string;
  /** Fields that have another name over HTTP. */
  readonly names?: Readonly<Record<string, string>>;
  /** Fields that this route does not take. */
  readonly without?: readonly string[];
  /** Used when a request has none of these fields. */
  readonly otherwise?: { readonly unless: string; readonly fields: Readonly<Record<string, unknown>> };
}

/** The command of an action, which goes by its name with dashes. Each field is an option. */
interface CliForm {
  readonly group: ActionGroup;
  /** Whole command lines, for the help. */
  readonly examples: readonly string[];
  /** Where the command differs from the action. */
  readonly summary?: string;
  /** A list that may also be given as arguments. */
  readonly argument?: string;
  /** Options that differ from their field in name or help; false if the command has no such option. */
  readonly options?: Readonly<Record<string, CliOption | false>>;
}

export interface CliOption {
  /** In the notation of `commander`: `--after <number>`. */
  readonly flags?: string;
  readonly help?: string;
  /** The value of the field if the flag is given. */
  readonly value?: unknown;
}

/** Infers the type of the arguments from the schema. */
export function defineAction<const N extends string, S extends z.ZodObject>(
  action: Action<S> & { readonly name: N },
): Action<S> & { readonly name: N } {
  return action;
}
