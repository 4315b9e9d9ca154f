import type { ResourceRequirements } from '../core/demand.ts';
import { VolleyError } from '../core/errors.ts';
import { show } from '../core/numbers.ts';
import { isObject, isThenable } from '../core/values.ts';

/** Validates a tool's declared resources: undefined means the defaults, and anything but a plain object is an error. */
export function checkNeeds(toolName: string, needs: unknown): ResourceRequirements {
  if (needs === undefined) return {};
  if (isObject(needs) && !isThenable(needs)) return needs as ResourceRequirements;
  // Nobody awaits it, so its rejection must not end the process.
  if (isThenable(needs)) needs.then(undefined, () => {});
  throw new VolleyError(
    'INVALID_TOOL',
    `Tool ${toolName}: its resources must be an object such as { cpu: 0.5 }, not a promise, but they are ${isThenable(needs) ? 'a promise' : show(needs)}.`,
    { tool: toolName },
  );
}
