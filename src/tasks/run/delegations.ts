import { z } from 'zod';
import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import { VolleyError } from '../../core/errors.ts';
import type { ToolContext } from '../../runners/runner.ts';
import { defineTool } from '../../tools/define-tool.ts';
import type { SubtaskResult } from './attempt.ts';
import { TOOL_NAME } from './batch-tasks.ts';

/** Does one attempt at a subtask of a run. */
type Attempt = (seq: string, context: ToolContext) => Promise<SubtaskResult>;

const INPUT = z.strictObject({ feature: z.string(), seq: z.string(), agent: z.string(), run: z.string() });

/** The runs of each coordinator that are going on, by their secret ids. */
const known = new WeakMap<ParallelToolCoordinator, Map<string, Attempt>>();

/**
 * Lets tasks of a batch delegate subtasks while a run goes on. The tool is for these tasks alone: it is listed nowhere,
 * and does nothing for whoever does not know the id of a run. The answer takes the run away, and waits for the attempts
 * that have not come to their end: the engine goes on as soon as it has told one to stop.
 */
export function openDelegations(
  coordinator: ParallelToolCoordinator,
  run: string,
  attempt: Attempt,
): () => Promise<void> {
  let runs = known.get(coordinator);
  if (runs === undefined) {
    runs = new Map();
    known.set(coordinator, runs);
    coordinator.registerInternal(delegateTool(runs));
  }
  const open = new Set<Promise<unknown>>();
  runs.set(run, (seq, context) => {
    const going = attempt(seq, context);
    open.add(going);
    return going.finally(() => open.delete(going));
  });
  return async () => {
    runs.delete(run);
    await Promise.allSettled(open);
  };
}

/** Not idempotent: what a crash interrupted is settled by the next run, by what the files of the tasks say. */
function delegateTool(runs: ReadonlyMap<string, Attempt>) {
  return defineTool<z.infer<typeof INPUT>, SubtaskResult>({
    name: TOOL_NAME,
    description: 'Lets an agent do a subtask of a feature. Only volley tasks run uses it.',
    input: INPUT,
    run: ({ run, seq }, context) => {
      const attempt = runs.get(run);
      if (attempt !== undefined) return attempt(seq, context);
      throw new VolleyError(
        'TOOL_NOT_ALLOWED',
        `The tool ${TOOL_NAME} may not be called: volley tasks run delegates subtasks, and knows what is done already.`,
        { name: TOOL_NAME },
      );
    },
  });
}
