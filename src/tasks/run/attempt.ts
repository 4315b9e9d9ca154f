import { agentQuota, type ChosenAgent } from '../../agents/find-agent.ts';
import { oneLine } from '../../batch/text.ts';
import { placeOfAttempt } from '../../coordinator/call-runner.ts';
import { VolleyError } from '../../core/errors.ts';
import { reasonText, spanText } from '../../core/words.ts';
import { isToolFailure, ToolFailure, toFailure } from '../../engine/tool-failure.ts';
import type { ToolContext } from '../../runners/runner.ts';
import { ownIdentity } from '../../store/process-identity.ts';
import type { Feature, Subtask } from '../files/feature.ts';
import { claimSubtask, isCompletedByOther, reopenSubtask } from '../files/subtask-changes.ts';
import { findSubtask } from '../files/subtask-reference.ts';
import type { TaskFolder } from '../files/task-folder.ts';
import { requireTrusted } from '../verify/trust.ts';
import { failedChecks } from '../verify/verify.ts';
import { delegate } from './delegate.ts';
import {
  COMPLETED_ELSEWHERE,
  claimNameOf,
  type RunContext,
  type SubtaskAttempt,
  type WorkingSubtasks,
} from './run-context.ts';
import { TranscriptWriter, transcribedAttempts, transcriptPath } from './transcript.ts';

/** The result of the batch task. */
export interface SubtaskResult {
  readonly summary: string;
  readonly agent: string;
  readonly verified: boolean;
  readonly touched: number;
}

const MAX_ERROR_LENGTH = 4000;
const MAX_REASON_LENGTH = 120;
/** The claim also ends with this process. */
const LEASE_MS = 10 * 60_000;
const HEARTBEAT_MS = 60_000;

/** Attempts at a subtask that may be lost with their workers without counting. */
const MAX_LOST = 20;

/** Attempts that repair work that did not fit the project, in addition to the retries. */
export const MAX_REPAIRS = 1;

/** One attempt at a subtask: claims it, delegates it, and completes or releases it. */
export async function runAttempt(run: RunContext, seq: string, context: ToolContext): Promise<SubtaskResult> {
  const { folder, feature, attempts, working } = run;
  const { timeoutMs } = run.terms;
  const agent = nextAgent(run, seq, context.quota);
  const record = openRecord(run, seq, agent);
  const on = placeOfAttempt(context);
  record.worker = on?.worker;
  const transcript = await openTranscript(run, seq, record, context);
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
    const { id, attempt, log } = context;
    const prefix = attempts.of(seq).length === 1 ? '' : `${attemptText(attempts.of(seq))}: `;
    const report = (step: string) => context.report(`${prefix}${step}`);
    const { isTakenOver } = claim;
    const onVerified = () => clearTimeout(timer);
    const endClaim = () => claim.stop();
    const signal = AbortSignal.any([context.signal, controller.signal]);
    const summary = await delegate(
      run,
      { agent, feature: claimed, subtask, record, transcript, isTakenOver, onVerified, endClaim },
      { id, attempt, report, log, signal, on },
    );
    isClaimed = false;
    transcript.add({ type: 'end', ok: true, text: summary, usage: record.usage });
    return resultOf(record, summary);
  } catch (error) {
    const now = await folder.read(feature).then(
      (read) => findSubtask(read, seq),
      () => undefined,
    );
    if (now !== undefined && isCompletedByOther(now, name)) return completedByOther(record, now);
    record.error = run.redact(reasonText(error)).slice(0, MAX_ERROR_LENGTH);
    const failure = toFailure(error);
    const isLost =
      failure.isLost === true && attempts.of(seq).filter(({ wasLost }) => wasLost).length < MAX_LOST;
    record.wasLost = isLost;
    const refused = isLost ? 'lost' : refusalOf(error);
    record.reason = refused ?? failure.reason;
    record.isRefused = refused !== undefined;
    transcript.add({ type: 'end', ok: false, text: record.error, usage: record.usage });
    if (record.isRefused) {
      // The next attempt repairs what this one should have repaired.
      if (record.isRepair) record.repairable = attempts.of(seq).at(-2)?.repairable;
      // What the worker did is nowhere: the attempt can be repeated.
      throw isLost ? new ToolFailure(reasonText(error), { isLost, cause: error }) : error;
    }
    if (!failure.isPermanent && !context.signal.aborted && mayRetry(run, seq, record)) throw error;
    await closeLeft(run, seq);
    throw new ToolFailure(reasonText(error), { reason: failure.reason, retryable: false, cause: error });
  } finally {
    working.delete(seq);
    clearTimeout(timer);
    await claim.stop();
    if (isClaimed && !record.isLeftInReview)
      await folder.change(feature, (now) => reopenSubtask(now, seq, name)).catch(() => undefined);
    // The time of the reviewer is not that of the agent.
    record.endedAt = record.inReviewSince ?? Date.now();
    transcript.close();
  }
}

/**
 * Each failed attempt goes on with the next agent. A repair stays with the agent whose work it is. If the limit of an
 * agent is reached, the next one with another quota takes over.
 */
function nextAgent({ agents, attempts }: RunContext, seq: string, quota: string | undefined): ChosenAgent {
  const list = agents.get(seq)!;
  const failed = attempts.of(seq).filter((one) => one.repairable === undefined && !one.isRefused).length;
  const preferred = Math.min(failed, list.length - 1);
  const order = [...list.slice(preferred), ...list.slice(0, preferred)];
  return order.find((agent) => agentQuota(agent) === quota) ?? order[0]!;
}

/** Whether a limit, or an outage that others share, ended the attempt. */
export function isSharedRefusal(error: unknown): boolean {
  return refusalOf(error) !== undefined || (isToolFailure(error) && error.isLost);
}

function refusalOf(error: unknown): 'limit' | 'outage' | undefined {
  if (!isToolFailure(error)) return undefined;
  if (error.limit !== undefined) return 'limit';
  return error.outage === undefined ? undefined : 'outage';
}

function openRecord(run: RunContext, seq: string, agent: ChosenAgent): SubtaskAttempt {
  const last = run.attempts.of(seq).at(-1);
  const earlier = [run.lastAttempt(seq), ...transcribedAttempts(run.folder.project, run.feature, seq)];
  const record = run.attempts.open(seq, agent.name, Math.max(0, last?.number ?? 0, ...earlier) + 1);
  record.isRepair = last?.repairable !== undefined;
  return record;
}

async function openTranscript(
  { folder, feature, redact }: RunContext,
  seq: string,
  record: SubtaskAttempt,
  { log }: ToolContext,
): Promise<TranscriptWriter> {
  const { number: attempt, agent, worker } = record;
  const transcript = await TranscriptWriter.open(folder.project, feature, seq, attempt, redact, log);
  if (transcript.isOpen) record.transcript = transcriptPath(feature, seq, attempt);
  const where = worker === undefined ? {} : { worker };
  transcript.add({ type: 'start', agent, attempt, ...where, folder: folder.project, process: ownIdentity() });
  return transcript;
}

/** `attempt 2 (a.ts does not exist)` */
export function attemptText(attempts: readonly SubtaskAttempt[]): string {
  const last = attempts.at(-2);
  const why = failedChecks(last?.evidence ?? [])[0] ?? last?.error ?? '';
  return `attempt ${attempts.length} (${oneLine(why, MAX_REASON_LENGTH)})`;
}

function mayRetry({ terms, attempts }: RunContext, seq: string, record: SubtaskAttempt): boolean {
  const all = attempts.of(seq).filter(({ isRefused }) => !isRefused);
  if (record.repairable !== undefined) return all.filter(({ isRepair }) => isRepair).length < MAX_REPAIRS;
  return all.filter(({ isRepair, isRejected }) => !isRepair && !isRejected).length <= terms.maxRetries;
}

/** Closes the worktrees that no further attempt will use, and notes those that hold work. */
export async function closeLeft({ left, attempts }: RunContext, seq: string): Promise<void> {
  const workspaces = left.get(seq) ?? [];
  left.delete(seq);
  for (const workspace of workspaces) {
    const kept = await workspace.close().catch(() => workspace.folder);
    for (const record of attempts.of(seq)) if (record.branch === workspace.branch) record.kept = kept;
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
