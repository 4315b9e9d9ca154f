import { VolleyError } from '../../core/errors.ts';
import { reasonText, spanText } from '../../core/words.ts';
import { ToolFailure } from '../../engine/tool-failure.ts';
import type { ToolContext } from '../../runners/runner.ts';
import { ownIdentity } from '../../store/process-identity.ts';
import type { Feature, Subtask } from '../files/feature.ts';
import { claimSubtask, isCompletedByOther, reopenSubtask } from '../files/subtask-changes.ts';
import { findSubtask } from '../files/subtask-reference.ts';
import type { TaskFolder } from '../files/task-folder.ts';
import { requireTrusted } from '../verify/trust.ts';
import { delegate } from './delegate.ts';
import { COMPLETED_ELSEWHERE, claimNameOf, type RunContext, type SubtaskAttempt } from './run-context.ts';

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
export async function runAttempt(run: RunContext, seq: string, context: ToolContext): Promise<SubtaskResult> {
  const { folder, feature, attempts: ledger, working } = run;
  const agent = run.agents.get(seq)!;
  const record = ledger.open(seq, agent.name);
  const controller = new AbortController();
  const stop = () => controller.abort(context.signal.reason);
  context.signal.addEventListener('abort', stop, { once: true });
  if (context.signal.aborted) stop();
  const lost = (error: VolleyError) => controller.abort(error);
  const { timeoutMs } = run.terms;
  const timer = setTimeout(() => controller.abort(late(timeoutMs)), timeoutMs);
  const name = claimNameOf(run, agent);
  const claim = new ClaimKeeper(folder, feature, seq, name, lost);
  let isClaimed = false;
  try {
    const claimed = await claim.take();
    isClaimed = true;
    const subtask = findSubtask(claimed, seq);
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
      (read) => findSubtask(read, seq),
      () => undefined,
    );
    if (now !== undefined && isCompletedByOther(now, name)) return anothers(record, now);
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
function anothers(record: SubtaskAttempt, { completionSummary = '' }: Subtask): SubtaskResult {
  record.evidence = [];
  record.discrepancy = COMPLETED_ELSEWHERE;
  return resultOf(record, completionSummary);
}

function late(timeoutMs: number): ToolFailure {
  return new ToolFailure(`It took longer than ${spanText(timeoutMs)} and was ended.`, { reason: 'timeout' });
}

function begin(working: RunContext['working'], subtask: Subtask, record: SubtaskAttempt): void {
  for (const other of working.values()) {
    other.record.concurrentWith.add(subtask.seq);
    record.concurrentWith.add(other.subtask.seq);
  }
  working.set(subtask.seq, { subtask, record });
}

function resultOf({ agent, evidence, touched }: SubtaskAttempt, summary: string): SubtaskResult {
  return { summary, agent, verified: evidence.length > 0, touched: touched.length };
}

/** It is bound to this process besides, so that it ends with it. */
const LEASE_MS = 10 * 60_000;
const HEARTBEAT_MS = 60_000;

/** Holds a subtask for an agent of this process while an attempt at it goes on. */
export class ClaimKeeper {
  /** Whether somebody had begun the subtask who is gone: what they did may be there already. */
  isLeftBehind = false;
  private timer: NodeJS.Timeout | undefined;
  private beating: Promise<void> = Promise.resolve();

  constructor(
    private readonly folder: TaskFolder,
    private readonly feature: string,
    private readonly seq: string,
    private readonly agent: string,
    /** Somebody has taken it away: blocked it, or given it to another. */
    private readonly onLost: (error: VolleyError) => void,
  ) {}

  /** Takes the subtask; throws where that is not possible now. */
  async take(): Promise<Feature> {
    const feature = await this.claim((before) => {
      this.isLeftBehind = before.status === 'in_progress' && before.startedAt !== undefined;
    });
    this.timer = setInterval(() => {
      this.beating = this.beating.then(() => this.beat());
    }, HEARTBEAT_MS);
    this.timer.unref();
    return feature;
  }

  /** Renews it no more. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.beating;
  }

  private claim(look?: (before: Subtask) => void): Promise<Feature> {
    const { folder, feature, seq, agent } = this;
    const request = { seq, agent, leaseMs: LEASE_MS, process: ownIdentity() };
    return folder.change(feature, (now, moment) => {
      const before = findSubtask(now, seq);
      look?.(before);
      // The agent itself may have called it done.
      return before.status === 'completed' ? undefined : claimSubtask(now, request, moment);
    });
  }

  private async beat(): Promise<void> {
    try {
      await this.claim();
    } catch (error) {
      // A lock that is not free now will be at the next beat.
      if (error instanceof VolleyError && error.code === 'SUBTASK_REFUSED') this.onLost(error);
    }
  }
}
