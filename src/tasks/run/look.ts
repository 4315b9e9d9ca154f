import type { Subtask } from '../feature.ts';
import { pathMatcher } from '../permissions/path-matcher.ts';
import { type Evidence, evidenceText } from '../verify/evidence.ts';
import { verifySubtask } from '../verify/verify.ts';
import type { RunParts } from './run-parts.ts';

/** Looks at the work in a folder, of which these paths were changed; where that is not known, their times tell. */
export async function look(
  run: RunParts,
  subtask: Subtask,
  folder: string,
  changed: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<Evidence[]> {
  const isChanged = (one: string) => changed!.some(pathMatcher([one]));
  const { commands, folder: tasks } = run;
  const place = { folder, project: tasks.project, commands, signal, ...(changed && { isChanged }) };
  const evidence = await verifySubtask(subtask, place);
  // What commands write is kept with it.
  return evidence.map((one) => ({ ...one, text: run.redact(one.text) }));
}

export function missingIn(evidence: readonly Evidence[]): string[] {
  return evidence.filter(({ ok }) => !ok).map(evidenceText);
}
