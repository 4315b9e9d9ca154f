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
import {
  COMPLETED_ELSEWHERE,
  claimNameOf,
  type RunContext,
  type SubtaskAttempt,
  type WorkingSubtasks,
} from './run-context.ts';

/** The result of the batch task. */
export interface SubtaskResult {
  readonly summary: string;
  readonly agent: string;
  readonly verified: boolean;
  readonly touched: number;
}

const MAX_ERROR_LENGTH = 4000;
/** The claim also ends with this process. */
const LEASE_MS = 10 * 60_000;
const HEARTBEAT_MS = 60_000;

/** One attempt at a subtask: claims it, delegates it, and completes or releases it. */
export async function runAttempt(run: RunContext, seq: string, context: ToolContext): Promise<SubtaskResult> {
  const { folder, feature, attempts, working } = run;
  const { timeoutMs } = run.terms;
  const agent = run.agents.get(seq)!;
  const record = attempts.open(seq, agent.name);
  const controller = new AbortController();
  const timeout = new ToolFailure(`The attempt took longer than ${spanText(timeoutMs)} and was terminated.`, {
    reason: 'timeout',
  });
  const timer = setTimeout(() => controller.abort(timeout), timeoutMs);
  const name = claimNameOf(run, agent);
  const claim = new ClaimKeeper(folder, feature, seq, name, (error) => controller.abort(error));
  let isClaimed = false;
  try {
    const claimed = await claim.take();
    isClaimed = true;
    const subtask = findSubtask(claimed, seq);
    if (subtask.status === 'completed') return completedByOther(record, subtask);
    // The commands may have changed since the run began.
    requireTrusted(folder, claimed, run.env);
    addConcurrent(working, subtask, record);
    const { id, attempt, report } = context;
    const { isTakenOver } = claim;
    const onVerified = () => clearTimeout(timer);
    const signal = AbortSignal.any([context.signal, controller.signal]);
    const summary = await delegate(
      run,
      { agent, feature: claimed, subtask, record, isTakenOver, onVerified },
      { id, attempt, report, signal },
    );
    isClaimed = false;
    return resultOf(record, summary);
  } catch (error) {
    const now = await folder.read(feature).then(
      (read) => findSubtask(read, seq),
      () => undefined,
    );
    if (now !== undefined && isCompletedByOther(now, name)) return completedByOther(record, now);
    record.error = run.redact(reasonText(error)).slice(0, MAX_ERROR_LENGTH);
    throw error;
  } finally {
    working.delete(seq);
    clearTimeout(timer);
    await claim.stop();
    if (isClaimed)
      await folder.change(feature, (now) => reopenSubtask(now, seq, name)).catch(() => undefined);
    record.endedAt = Date.now();
  }
}

/** A person or another agent was faster. This attempt does not count, and is not a failure. */
function completedByOther(record: SubtaskAttempt, { completionSummary = '' }: Subtask): SubtaskResult {
  record.evidence = [];
  record.discrepancy = COMPLETED_ELSEWHERE;
  return resultOf(record, completionSummary);
}

function addConcurrent(working: WorkingSubtasks, subtask: Subtask, record: SubtaskAttempt): void {
  for (const other of working.values()) {
    other.record.concurrentWith.add(subtask.seq);
    record.concurrentWith.add(other.subtask.seq);
  }
  working.set(subtask.seq, { subtask, record });
}

function resultOf({ agent, evidence, touched }: SubtaskAttempt, summary: string): SubtaskResult {
  return { summary, agent, verified: evidence.length > 0, touched: touched.length };
}

/** Holds the claim on a subtask during an attempt. */
class ClaimKeeper {
  /** Whether the subtask was taken over from a lapsed claim, so that some of its work may already exist. */
  isTakenOver = false;
  private timer: NodeJS.Timeout | undefined;
  private beating: Promise<void> = Promise.resolve();

  constructor(
    private readonly folder: TaskFolder,
    private readonly feature: string,
    private readonly seq: string,
    private readonly agent: string,
    /** Called if someone blocks the subtask or gives it to another agent. */
    private readonly onLost: (error: VolleyError) => void,
  ) {}

  async take(): Promise<Feature> {
    const feature = await this.claim((before) => {
      this.isTakenOver = before.status === 'in_progress' && before.startedAt !== undefined;
    });
    this.timer = setInterval(() => {
      this.beating = this.beating.then(() => this.beat());
    }, HEARTBEAT_MS);
    this.timer.unref();
    return feature;
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.beating;
  }

  private claim(onBefore?: (before: Subtask) => void): Promise<Feature> {
    const { folder, feature, seq, agent } = this;
    const request = { seq, agent, leaseMs: LEASE_MS, process: ownIdentity() };
    return folder.change(feature, (now, moment) => {
      const before = findSubtask(now, seq);
      onBefore?.(before);
      // The agent itself may have completed it.
      return before.status === 'completed' ? undefined : claimSubtask(now, request, moment);
    });
  }

  private async beat(): Promise<void> {
    try {
      await this.claim();
    } catch (error) {
      // A busy lock is retried at the next heartbeat.
      if (error instanceof VolleyError && error.code === 'SUBTASK_REFUSED') this.onLost(error);
    }
  }
}
