import type { VolleyError } from '../../core/errors.ts';
import { reasonText, spanText } from '../../core/words.ts';
import { ToolFailure } from '../../engine/tool-failure.ts';
import type { ToolContext } from '../../runners/runner.ts';
import type { Subtask } from '../feature.ts';
import { subtaskOf } from '../lookup.ts';
import { isAnothers } from '../state/complete.ts';
import { reopenSubtask } from '../state/reopen.ts';
import { requireTrusted } from '../trust.ts';
import { ClaimKeeper } from './claim-keeper.ts';
import { delegate } from './delegate.ts';
import { type AttemptRecord, COMPLETED_ELSEWHERE } from './ledger.ts';
import { claimantOf, type RunParts } from './run-parts.ts';

/** What is kept as the result of the task. */
export interface SubtaskResult {
  readonly summary: string;
  readonly agent: string;
  readonly verified: boolean;
  readonly touched: number;
}

/** Longer texts are for the agent's own records. */
const LONGEST_ERROR = 4000;

/** One attempt at a subtask: it is claimed, delegated, and completed or given back. */
export async function attempt(run: RunParts, seq: string, context: ToolContext): Promise<SubtaskResult> {
  const { folder, feature, ledger, working } = run;
  const agent = run.agents.get(seq)!;
  const record = ledger.open(seq, agent.name);
  const controller = new AbortController();
  const stop = () => controller.abort(context.signal.reason);
  context.signal.addEventListener('abort', stop, { once: true });
  if (context.signal.aborted) stop();
  const lost = (error: VolleyError) => controller.abort(error);
  const { timeoutMs } = run.terms;
  const timer = setTimeout(() => controller.abort(late(timeoutMs)), timeoutMs);
  const name = claimantOf(run, agent);
  const claim = new ClaimKeeper(folder, feature, seq, name, lost);
  let isClaimed = false;
  try {
    const claimed = await claim.take();
    isClaimed = true;
    const subtask = subtaskOf(claimed, seq);
    if (subtask.status === 'completed') return anothers(record, subtask);
    // Its commands may have been changed since the run began.
    requireTrusted(folder, claimed, run.env);
    begin(working, subtask, record);
    const { id, attempt: number, report } = context;
    const { isLeftBehind } = claim;
    const onVerified = () => clearTimeout(timer);
    const summary = await delegate(
      run,
      { agent, feature: claimed, subtask, record, isLeftBehind, onVerified },
      { id, attempt: number, report, signal: controller.signal },
    );
    isClaimed = false;
    return resultOf(record, summary);
  } catch (error) {
    const now = await folder.read(feature).then(
      (read) => subtaskOf(read, seq),
      () => undefined,
    );
    if (now !== undefined && isAnothers(now, name)) return anothers(record, now);
    record.error = run.redact(reasonText(error)).slice(0, LONGEST_ERROR);
    throw error;
  } finally {
    working.delete(seq);
    clearTimeout(timer);
    context.signal.removeEventListener('abort', stop);
    await claim.stop();
    if (isClaimed)
      await folder.change(feature, (now) => reopenSubtask(now, seq, name)).catch(() => undefined);
    record.endedAt = Date.now();
  }
}

/** A person, or another agent, was quicker. What this one did counts for nothing, and is no failure either. */
function anothers(record: AttemptRecord, { completionSummary = '' }: Subtask): SubtaskResult {
  record.evidence = [];
  record.discrepancy = COMPLETED_ELSEWHERE;
  return resultOf(record, completionSummary);
}

function late(timeoutMs: number): ToolFailure {
  return new ToolFailure(`It took longer than ${spanText(timeoutMs)} and was ended.`, { reason: 'timeout' });
}

function begin(working: RunParts['working'], subtask: Subtask, record: AttemptRecord): void {
  for (const other of working.values()) {
    other.record.beside.add(subtask.seq);
    record.beside.add(other.subtask.seq);
  }
  working.set(subtask.seq, { subtask, record });
}

function resultOf({ agent, evidence, touched }: AttemptRecord, summary: string): SubtaskResult {
  return { summary, agent, verified: evidence.length > 0, touched: touched.length };
}
