import { isDeepStrictEqual } from 'node:util';
import { listText } from '../../core/words.ts';
import { patternMatcher } from '../../tools/pattern/path-patterns.ts';
import type { Check, Subtask } from '../files/feature.ts';
import { type Evidence, failedChecks, verifySubtask } from '../verify/verify.ts';
import type { DeliveryGuard, MergedPlace } from '../workspace/workspace.ts';
import type { RunContext } from './run-context.ts';

type VerifyContext = Pick<RunContext, 'folder' | 'commands' | 'redact'>;

interface RecheckContext {
  readonly signal: AbortSignal;
  report(step: string): void;
  /** What was found is noted here. */
  readonly found: { evidence: readonly Evidence[]; discrepancy: string | undefined };
}

/** Verifies work in a folder whose changed paths are known. If they are undefined, file times decide. */
export async function verifyWork(
  run: VerifyContext,
  subtask: Subtask,
  folder: string,
  changed: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<Evidence[]> {
  const isChanged = (one: string) => changed!.some(patternMatcher([one]));
  const { commands, folder: tasks } = run;
  const context = { folder, project: tasks.project, commands, signal, ...(changed && { isChanged }) };
  const evidence = await verifySubtask(subtask, context);
  // The evidence includes the output of commands.
  return evidence.map((one) => ({ ...one, text: run.redact(one.text) }));
}

/** Commands that may fail on the merged result although they passed before. */
interface Recheck {
  readonly checks: readonly Check[];
  /** The side on which they must pass alone. */
  readonly side: 'work' | 'project';
  /** Appended to their subject. */
  readonly owner: string;
}

/**
 * Checks a subtask's work merged with what others merged meanwhile: by its own commands, and by those of the others.
 * Undefined if there are no commands, since git has merged the files.
 */
export function recheckAfterMerge(
  run: VerifyContext,
  subtask: Subtask,
  others: readonly Subtask[],
  { signal, report, found: record }: RecheckContext,
): ReturnType<DeliveryGuard['recheck']> {
  const rechecks = rechecksOf(subtask, others);
  if (rechecks.length === 0) return undefined;
  const runAll = (checks: readonly Check[], folder: string) =>
    verifyWork(run, { ...subtask, deliverables: [], verification: checks }, folder, [], signal);
  return async (place) => {
    report('checking the merged result');
    const found: Evidence[] = [];
    const excused: string[] = [];
    for (const { checks, side, owner } of rechecks) {
      const evidence = await runAll(checks, place.folder);
      const failed = checks.filter((_, index) => !evidence[index]!.ok);
      const alone =
        failed.length === 0 ? [] : await withSide(place, side, () => runAll(failed, place.folder));
      for (const [index, check] of checks.entries()) {
        const subject = `${evidence[index]!.subject}${owner}`;
        if (alone[failed.indexOf(check)]?.ok === false) excused.push(subject);
        else found.push({ ...evidence[index]!, subject });
      }
      if (failedChecks(found).length > 0) break;
    }
    const missing = failedChecks(found);
    if (missing.length > 0) record.evidence = found;
    if (excused.length > 0)
      record.discrepancy = `These checks were skipped on the merged result because they also fail alone in a new worktree, perhaps for lack of ignored files: ${listText(excused)}.`;
    return missing;
  };
}

function rechecksOf(subtask: Subtask, others: readonly Subtask[]): Recheck[] {
  const known: Check[] = [];
  const isNew = (check: Check) => !known.some((one) => isDeepStrictEqual(one, check));
  return [subtask, ...others]
    .map((one): Recheck => {
      const checks = one.verification.filter((check) => check.type === 'command' && isNew(check));
      known.push(...checks);
      if (one === subtask) return { checks, side: 'work', owner: '' };
      return { checks, side: 'project', owner: ` of subtask ${one.seq}` };
    })
    .filter(({ checks }) => checks.length > 0);
}

async function withSide<T>(place: MergedPlace, side: Recheck['side'], work: () => Promise<T>): Promise<T> {
  await place.show(side);
  const found = await work();
  await place.show('both');
  return found;
}
