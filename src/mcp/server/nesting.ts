import { TOOL_NAME } from '../../batch/input/request.ts';
import { VolleyError } from '../../core/errors.ts';
import { show } from '../../core/numbers.ts';

/** Tools that start batches. */
const STARTERS = [TOOL_NAME, 'run_batch', 'tasks_run'];

/** Throws where a task would start a batch of its own, also by way of another server: that could go on for ever. */
export function refuseNesting(tasks: readonly unknown[]): void {
  for (const task of tasks) {
    const { function: name } = (task ?? {}) as { function?: unknown };
    if (typeof name !== 'string') continue;
    if (!STARTERS.some((starter) => name === starter || name.endsWith(`.${starter}`))) continue;
    throw new VolleyError(
      'TOOL_NOT_ALLOWED',
      `A batch cannot call ${show(name)}: batches do not start batches. Put its tasks into this batch instead.`,
      { name },
    );
  }
}
