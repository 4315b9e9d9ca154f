import { z } from 'zod';
import { VolleyError } from '../../core/errors.ts';
import { COMPUTE, RUN_PROGRAM } from '../../core/script-tools.ts';
import type { TaskOptions } from '../../store/records.ts';
import { checkInput } from './check.ts';
import { callSettings, TASK_FIELDS } from './fields.ts';

/** The second argument of a call in a program. */
const CALL_OPTIONS = z.strictObject({
  priority: TASK_FIELDS.priority,
  timeout: TASK_FIELDS.timeout,
  max_retries: TASK_FIELDS.max_retries,
  resources: TASK_FIELDS.resources,
});

/** The options of a call in a program, or why it cannot be made. */
export function callOptions(tool: string, options: string | undefined): TaskOptions | VolleyError {
  try {
    if (tool === RUN_PROGRAM || tool === COMPUTE)
      throw new VolleyError(
        'TOOL_NOT_ALLOWED',
        `A program cannot call ${tool}. Write it in the program itself.`,
      );
    if (options === undefined) return {};
    return callSettings(checkInput(CALL_OPTIONS, tool, JSON.parse(options)));
  } catch (error) {
    if (error instanceof VolleyError) return error;
    throw error;
  }
}
