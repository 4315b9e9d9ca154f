import { unreachable } from '../../core/errors.ts';
import type { Check, Subtask } from '../feature.ts';
import { alternativesOf, isNegative } from '../overlap/pattern.ts';
import { type CheckPlace, checkCommand } from './command.ts';
import { checkDeliverable, type Since } from './deliverables.ts';
import type { Evidence } from './evidence.ts';
import { checkFileContains, checkFileExists } from './files.ts';

export interface VerifyPlace extends CheckPlace, Pick<Since, 'isChanged'> {}

/**
 * Looks at what was delivered: every deliverable, then every check in its order. Commands run one after another, for
 * they may use the same files.
 */
export async function verifySubtask(subtask: Subtask, place: VerifyPlace): Promise<Evidence[]> {
  const found: Evidence[] = [];
  const since = { startedAt: subtask.startedAt, ...(place.isChanged && { isChanged: place.isChanged }) };
  // Each of `{a,b}` is promised, and nothing of what is taken out with `!`.
  const promised = subtask.deliverables.filter((one) => !isNegative(one)).flatMap(alternativesOf);
  for (const deliverable of promised) {
    found.push(await checkDeliverable(place.folder, deliverable, since));
  }
  for (const check of subtask.verification) found.push(await runCheck(check, place));
  return found;
}

function runCheck(check: Check, place: CheckPlace): Promise<Evidence> {
  switch (check.type) {
    case 'command':
      return checkCommand(check, place);
    case 'file_exists':
      return checkFileExists(place.folder, check.path);
    case 'file_contains':
      return checkFileContains(place.folder, check.path, check.text);
    default:
      return unreachable(check);
  }
}
