import { VolleyError } from '../core/errors.ts';
import { ChildHandle } from './child-handle.ts';
import type { Job } from './job.ts';
import type { Task } from './task.ts';

/** So many executions are looked at for one that would wait for the function that submits a child. */
const MAX_LOOKED_AT = 10_000;

/**
 * Throws if a child would depend, perhaps through others, on the function that submits it or on one that waits for that:
 * each would wait for the other.
 */
export function checkNesting(parent: Task, dependsOn: unknown, find: (id: string) => Job | undefined): void {
  if (!Array.isArray(dependsOn) || dependsOn.length === 0) return;
  const ancestors = new Set<Job>();
  for (let task: Task | undefined = parent; task !== undefined; task = task.parent)
    if (!task.job.isSettled) ancestors.add(task.job);
  const seen = new Set<Job>();
  const open: Job[] = [];
  const visit = (job: Job | undefined) => {
    if (job === undefined || job.isSettled || seen.has(job)) return;
    if (ancestors.has(job)) throw deadlock(job);
    seen.add(job);
    open.push(job);
  };
  for (const reference of dependsOn) {
    if (typeof reference === 'string') visit(find(reference));
    else visit((reference instanceof ChildHandle ? reference.job : reference) as Job | undefined);
  }
  while (open.length > 0 && seen.size < MAX_LOOKED_AT)
    for (const dependency of open.pop()!.dependencies ?? []) visit(dependency);
}

function deadlock({ id }: Job): VolleyError {
  return new VolleyError(
    'INVALID_VALUE',
    `A child of ${id} cannot depend on it: each would wait for the other.`,
    { id },
  );
}
