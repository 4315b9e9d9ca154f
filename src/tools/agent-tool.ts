import type { ResourceRequirements } from '../core/demand.ts';
import type { Priority } from '../core/priority.ts';
import type { ToolContext } from '../runners/runner.ts';
import { defineTool } from './define-tool.ts';
import type { ToolSchema } from './schema.ts';
import type { Tool } from './tool.ts';

/**
 * A tool as a class, for people who have such classes. Only `name` and `execute` are required; what is left out has
 * the defaults of every tool: cpu 0.1, 100 MB, low I/O, no network, priority `normal`, parallel with everything.
 */
export interface ParallelAgentTool<I = unknown, O = unknown> {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: ToolSchema<I>;
  /** Does the work. */
  execute(input: I, context: ToolContext): O | PromiseLike<O>;
  /** What a call needs while it runs. */
  resourceRequirements?(): ResourceRequirements;
  /** How urgent its calls are. Default `normal`. */
  priority?(): Priority;
  /** Whether a call may run while a call of the other tool does. Asked once for each other tool. */
  canRunParallelWith?(other: string): boolean;
  /** Hears of the progress that `execute` reports through its context. */
  reportProgress?(progress: number, message?: string): void;
}

export function isAgentTool(value: unknown): value is ParallelAgentTool {
  return (
    typeof value === 'object' && value !== null && typeof (value as ParallelAgentTool).execute === 'function'
  );
}

/** The same tool as a definition. Conflicts are not part of it: they depend on which other tools there are. */
export function fromAgentTool(source: ParallelAgentTool): Tool {
  const { name, description, inputSchema } = source;
  const resources = source.resourceRequirements?.();
  const priority = source.priority?.();
  return defineTool({
    name,
    ...(description !== undefined && { description }),
    ...(inputSchema !== undefined && { input: inputSchema }),
    ...(resources !== undefined && { resources }),
    ...(priority !== undefined && { priority }),
    run: (input, context) => source.execute(input, listening(source, context)),
  });
}

function listening(source: ParallelAgentTool, context: ToolContext): ToolContext {
  if (source.reportProgress === undefined) return context;
  const { id, attempt } = context;
  return {
    id,
    attempt,
    // Made when it is asked for: most functions never look at their signal.
    get signal() {
      return context.signal;
    },
    report: (first: number | string, step?: string) => {
      if (typeof first === 'string') return context.report(first);
      context.report(first, step);
      source.reportProgress!(first, step);
    },
  };
}
