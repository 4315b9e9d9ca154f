import type { ResourceRequirements } from '../core/demand.ts';
import { VolleyError } from '../core/errors.ts';
import { show } from '../core/numbers.ts';
import type { Priority } from '../core/priority.ts';
import { reasonText } from '../core/words.ts';
import type { ToolContext } from '../runners/runner.ts';
import { defineTool } from './define-tool.ts';
import type { ToolSchema } from './schema.ts';
import type { Tool, ToolProperties } from './tool.ts';

/** Fields with the same meaning as in a definition. */
type SameField =
  | 'conflictsWith'
  | 'idempotent'
  | 'readOnly'
  | 'dedupe'
  | 'timeoutMs'
  | 'stallMs'
  | 'retry'
  | 'unrepeatable'
  | 'limits'
  | 'limitedAs'
  | 'quota';

/**
 * A tool as a class. Only `name` and `execute` are required; everything else has the defaults of every tool: cpu 0.1,
 * 100 MB, low I/O, no network, priority `normal`, parallel with everything.
 */
export interface ParallelAgentTool<I = unknown, O = unknown>
  extends Pick<ToolProperties<I>, 'name' | 'description' | SameField> {
  readonly inputSchema?: ToolSchema<I>;
  /** The schema of its result; a result that does not match fails the call. */
  readonly outputSchema?: ToolSchema<O>;
  /** Runs the tool. */
  execute(input: I, context: ToolContext): O | PromiseLike<O>;
  /** The resources a call needs. */
  resourceRequirements?(): ResourceRequirements;
  /** The priority of its calls. Default `normal`. */
  priority?(): Priority;
  /** Whether a call may run at the same time as a call of the other tool. Called once per other tool. */
  canRunParallelWith?(other: string): boolean;
  /**
   * Called with the progress that `execute` reports through its context. If it throws, the call continues: a tool's
   * first failure becomes a process warning (`process.on('warning')`), later ones are ignored.
   */
  reportProgress?(progress: number, message?: string): void | PromiseLike<void>;
}

/** What callers give a tool: the arguments that its schema accepts. */
export type ToolInput<T> =
  T extends Tool<infer _I, infer _O, infer A> ? A : T extends ParallelAgentTool<infer I> ? I : unknown;

/** What callers of a tool get: its result. */
export type ToolOutput<T> =
  T extends Tool<infer _I, infer O> ? O : T extends ParallelAgentTool<infer _I, infer O> ? O : unknown;

const SAME_FIELDS: readonly SameField[] = [
  'conflictsWith',
  'idempotent',
  'readOnly',
  'dedupe',
  'timeoutMs',
  'stallMs',
  'retry',
  'unrepeatable',
  'limits',
  'limitedAs',
  'quota',
];
/** Tools with a warning already. */
const warned = new WeakSet<ParallelAgentTool>();

export function isAgentTool(value: unknown): value is ParallelAgentTool {
  return (
    typeof value === 'object' && value !== null && typeof (value as ParallelAgentTool).execute === 'function'
  );
}

/** The same tool as a definition. Conflicts are not part of it: they depend on the other tools. */
export function fromAgentTool(source: ParallelAgentTool): Tool {
  const { name, description, inputSchema, outputSchema } = source;
  refuseIsolation(source);
  const resources = source.resourceRequirements?.();
  const priority = source.priority?.();
  return defineTool({
    name,
    ...(description !== undefined && { description }),
    ...(inputSchema !== undefined && { input: inputSchema }),
    ...(outputSchema !== undefined && { output: outputSchema }),
    // By name: a class may have getters, which a copy would not see.
    ...Object.fromEntries(
      SAME_FIELDS.filter((field) => source[field] !== undefined).map((field) => [field, source[field]]),
    ),
    ...(resources !== undefined && { resources }),
    ...(priority !== undefined && { priority }),
    run: (input, context) => source.execute(input, listening(source, context)),
  });
}

/** An instance cannot be sent to another thread or process: only source code and modules can. */
function refuseIsolation(source: ParallelAgentTool): void {
  const {
    name,
    isolation = 'inline',
    env,
  } = source as ParallelAgentTool & { isolation?: unknown; env?: unknown };
  if (isolation === 'inline' && env === undefined) return;
  const problem =
    isolation === 'inline'
      ? 'env is for tools that run in a process, and an instance of a class runs in this one'
      : `isolation is ${show(isolation)}, but an instance of a class runs in this thread`;
  throw new VolleyError(
    'INVALID_TOOL',
    `Tool ${name}: ${problem}. Use defineTool({ isolation: 'process', module: new URL('./tool.mjs', import.meta.url) }) instead.`,
    { tool: name },
  );
}

function listening(source: ParallelAgentTool, context: ToolContext): ToolContext {
  if (source.reportProgress === undefined) return context;
  const { id, attempt } = context;
  return {
    id,
    attempt,
    // Created on demand: most functions never use their signal.
    get signal() {
      return context.signal;
    },
    get log() {
      return context.log;
    },
    report: (first: number | string, step?: string) => {
      if (typeof first === 'string') return context.report(first);
      context.report(first, step);
      void tellProgress(source, first, step);
    },
  };
}

async function tellProgress(source: ParallelAgentTool, progress: number, message?: string): Promise<void> {
  try {
    await source.reportProgress!(progress, message);
  } catch (error) {
    if (warned.has(source)) return;
    warned.add(source);
    process.emitWarning(`reportProgress() of the tool ${source.name} failed: ${reasonText(error)}`);
  }
}
