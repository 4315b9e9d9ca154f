import { VolleyError } from '../core/errors.ts';
import type { Execution } from '../core/execution.ts';
import { show } from '../core/numbers.ts';
import type { ExecutionSpec } from '../core/spec.ts';
import { ChildHandle } from './child-handle.ts';
import type { ExecutionContext } from './context.ts';
import { Job, type JobOwner } from './job.ts';

/** What the scheduler is told of a context: with executions in the place of handles. */
export function specOf(context: ExecutionContext, owner: JobOwner): ExecutionSpec {
  const { dependsOn } = context;
  if (!Array.isArray(dependsOn) || hasOnlyTexts(dependsOn)) return context as ExecutionSpec;
  return { ...context, dependsOn: Array.from(dependsOn, (reference) => toReference(reference, owner)) };
}

function toReference(reference: unknown, owner: JobOwner): string | Execution {
  if (typeof reference === 'string') return reference;
  const job = reference instanceof ChildHandle ? reference.job : reference;
  if (job instanceof Job && job.belongsTo(owner)) return job;
  throw new VolleyError(
    'INVALID_VALUE',
    `dependsOn takes ids and handles of the same engine, but it has ${show(reference)}.`,
  );
}

/** A loop, because `every` passes over holes. */
function hasOnlyTexts(references: readonly unknown[]): boolean {
  for (const reference of references) if (typeof reference !== 'string') return false;
  return true;
}
