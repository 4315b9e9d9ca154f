import type { PlannedCall } from './plan.ts';

/** Why a call ends without having been submitted: it was refused itself, or what it needs was. */
export type EarlyEnd = { readonly kind: 'refused' } | { readonly kind: 'skipped'; readonly cause: string };

/**
 * All calls that cannot run because some were refused, by id. A circle of which one depends on a refused call ends like
 * that, too: its calls are skipped, and nobody looks for the circle.
 */
export function earlyEnds(planned: readonly PlannedCall[]): Map<string, EarlyEnd> {
  const ends = new Map<string, EarlyEnd>();
  const waiting: string[] = [];
  for (const { kind, id } of planned) {
    if (kind !== 'refused') continue;
    ends.set(id, { kind });
    waiting.push(id);
  }
  if (waiting.length === 0) return ends;
  const dependents = skippable(planned);
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const end = ends.get(id)!;
    const cause = end.kind === 'skipped' ? end.cause : id;
    for (const dependent of dependents.get(id) ?? []) {
      if (ends.has(dependent)) continue;
      ends.set(dependent, { kind: 'skipped', cause });
      waiting.push(dependent);
    }
  }
  return ends;
}

/** For each call, those that are skipped when it does not complete. */
function skippable(planned: readonly PlannedCall[]): Map<string, string[]> {
  const dependents = new Map<string, string[]>();
  for (const one of planned) {
    if (one.kind === 'refused' || (one.call.onDependencyFailure ?? 'skip') !== 'skip') continue;
    for (const dependency of one.dependsOn) {
      const known = dependents.get(dependency);
      if (known === undefined) dependents.set(dependency, [one.id]);
      else known.push(one.id);
    }
  }
  return dependents;
}
