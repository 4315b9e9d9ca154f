import { isDeepStrictEqual } from 'node:util';
import { listText } from '../../core/words.ts';
import type { ToolContext } from '../../runners/runner.ts';
import type { Check, Subtask } from '../feature.ts';
import type { Evidence } from '../verify/evidence.ts';
import type { DeliveryGuard, MergedPlace } from '../workspace/workspace.ts';
import type { Delegation } from './delegate.ts';
import { look, missingIn } from './look.ts';
import type { RunParts } from './run-parts.ts';

/** Commands that may fail together though they pass apart. */
interface Suspects {
  readonly checks: readonly Check[];
  /** Whose side they are on, which is where they have to pass without the other. */
  readonly side: 'work' | 'project';
  /** Said behind each of them. */
  readonly whose: string;
}

/**
 * How the work of a subtask is looked at together with what was merged meanwhile: by its own commands, and by those of the
 * others, which may be what it breaks. Files that git can merge are there afterwards, so it needs no look where there are
 * no commands.
 */
export function recheckOf(
  run: RunParts,
  { subtask, record }: Delegation,
  others: readonly Subtask[],
  { signal, report }: ToolContext,
): ReturnType<DeliveryGuard['recheck']> {
  const suspects = suspectsOf(subtask, others);
  if (suspects.length === 0) return undefined;
  const runAll = (checks: readonly Check[], folder: string) =>
    look(run, { ...subtask, deliverables: [], verification: checks }, folder, [], signal);
  return async (place) => {
    report('checking it together with what was merged meanwhile');
    const found: Evidence[] = [];
    const excused: string[] = [];
    for (const { checks, side, whose } of suspects) {
      const evidence = await runAll(checks, place.folder);
      const failed = checks.filter((_, at) => !evidence[at]!.ok);
      const apart =
        failed.length === 0 ? [] : await lookApart(place, side, () => runAll(failed, place.folder));
      const isExcused = (check: Check) => apart[failed.indexOf(check)]?.ok === false;
      for (const [at, check] of checks.entries()) {
        const subject = `${evidence[at]!.subject}${whose}`;
        if (isExcused(check)) excused.push(subject);
        else found.push({ ...evidence[at]!, subject });
      }
      if (missingIn(found).length > 0) break;
    }
    const missing = missingIn(found);
    if (missing.length > 0) record.evidence = found;
    if (excused.length > 0)
      record.discrepancy = `Not checked together with what was merged meanwhile, for it fails in a new worktree also by itself, perhaps for want of what git ignores: ${listText(excused)}.`;
    return missing;
  };
}

function suspectsOf(subtask: Subtask, others: readonly Subtask[]): Suspects[] {
  const known: Check[] = [];
  const isNew = (check: Check) => !known.some((one) => isDeepStrictEqual(one, check));
  return [subtask, ...others]
    .map((one): Suspects => {
      const checks = one.verification.filter((check) => check.type === 'command' && isNew(check));
      known.push(...checks);
      if (one === subtask) return { checks, side: 'work', whose: '' };
      return { checks, side: 'project', whose: ` of subtask ${one.seq}` };
    })
    .filter(({ checks }) => checks.length > 0);
}

async function lookApart<T>(place: MergedPlace, side: Suspects['side'], work: () => Promise<T>): Promise<T> {
  await place.show(side);
  const found = await work();
  await place.show('both');
  return found;
}
