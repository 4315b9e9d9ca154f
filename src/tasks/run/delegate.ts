import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChosenAgent } from '../../agents/find-agent.ts';
import type { PlacedOn } from '../../coordinator/remote-runner.ts';
import { unreachable } from '../../core/errors.ts';
import { listText } from '../../core/words.ts';
import { ToolFailure } from '../../engine/tool-failure.ts';
import { tamperText } from '../../git/git-guard.ts';
import type { ToolContext } from '../../runners/runner.ts';
import { patternMatcher } from '../../tools/pattern/path-patterns.ts';
import type { Feature, Subtask } from '../files/feature.ts';
import {
  completeSubtask,
  completionObstacles,
  isCompletedByOther,
  unapproveReview,
} from '../files/subtask-changes.ts';
import { findSubtask } from '../files/subtask-reference.ts';
import { type Evidence, failedChecks } from '../verify/verify.ts';
import type { UndeliveredWork, Workspace } from '../workspace/workspace.ts';
import { type AgentEnd, callAgent, rejectedText } from './call-agent.ts';
import { recheckAfterMerge, verifyWork } from './recheck.ts';
import { mergeMessage } from './review.ts';
import type { ReviewQueue } from './review-queue.ts';
import { claimNameOf, type RunContext, type SubtaskAttempt } from './run-context.ts';
import type { TranscriptWriter } from './transcript.ts';

/** The parts of a tool's context that an attempt uses. */
export interface AttemptContext extends Omit<ToolContext, 'report'> {
  report(step: string): void;
  /** The worker on which its agent runs; undefined if that is this machine. */
  readonly on: PlacedOn | undefined;
}

/** A claimed subtask, its agent, and the record of the attempt. */
export interface Delegation {
  readonly agent: ChosenAgent;
  readonly feature: Feature;
  readonly subtask: Subtask;
  readonly record: SubtaskAttempt;
  readonly transcript: TranscriptWriter;
  /** Whether the subtask was taken over from a lapsed claim. */
  readonly isTakenOver: boolean;
  /** Ends the time limit: merging may have to wait for others. */
  onVerified(): void;
  /** Stops renewing the claim. */
  endClaim(): Promise<void>;
}

const MAX_SUMMARY_LENGTH = 2000;
const MAX_NAMED = 20;

/** Lets an agent do a subtask, verifies and merges its work, and completes the subtask. Returns the summary. */
export async function delegate(
  run: RunContext,
  delegation: Delegation,
  context: AttemptContext,
): Promise<string> {
  const { record, subtask } = delegation;
  context.report('preparing the workspace');
  if (await wasMerged(run, delegation, context.signal)) return subtask.title;
  const workspace = await openWorkspace(run, delegation, context.signal);
  record.branch = workspace.branch;
  let isDone = false;
  try {
    record.isActive = true;
    const end = await callAgent(run, delegation, workspace, context).catch(async (error: unknown) => {
      // An agent that already reported completion may hang on exit, and one that used up its budget may be done.
      if (isReason(error, 'stalled') || isReason(error, 'budget'))
        return { said: 'nothing', text: undefined, failure: error } as const;
      const violation = await checkChanges(run, delegation, workspace);
      // Among concurrent agents a violation cannot be attributed, so the original error counts.
      throw isShared(run, workspace) && record.concurrentWith.size > 0 ? error : (violation ?? error);
    });
    const violation = await checkChanges(run, delegation, workspace);
    if (violation !== undefined) throw violation;
    const { summary, discrepancy } = await judge(run, delegation, workspace, end, context);
    delegation.onVerified();
    const message = mergeMessage(run, subtask, summary);
    const reviewed =
      run.reviews && (await review(run, run.reviews, delegation, workspace, { summary, message }, context));
    if (record.isLeftInReview) return summary;
    context.report('merging the work');
    const { signal, report } = context;
    const recheck = { signal, report, found: record };
    const guard = {
      signal,
      confirm: () => requireWanted(run, delegation),
      isNewTogether: record.isRepair,
      recheck: () => recheckAfterMerge(run, subtask, run.merged.slice(record.mergedBefore), recheck),
    };
    const delivery = await workspace.deliver(message, guard, reviewed);
    if (!delivery.ok) {
      // Approved work that only the state of the project keeps out goes on waiting.
      if (reviewed !== undefined && delivery.repairable === undefined) {
        await run.folder.change(run.feature, (now) => unapproveReview(now, subtask.seq));
        record.isLeftInReview = true;
      }
      throw undelivered(record, delivery);
    }
    run.merged.push(subtask);
    await markCompleted(run, delegation, summary);
    record.discrepancy = [discrepancy, record.discrepancy].filter(Boolean).join(' ') || undefined;
    isDone = true;
    return summary;
  } finally {
    record.isActive = false;
    await leaveWorkspace(run, delegation, workspace, isDone);
  }
}

function undelivered(record: SubtaskAttempt, { text, conflicts, repairable }: UndeliveredWork): ToolFailure {
  record.conflicts = conflicts;
  record.repairable = repairable;
  return new ToolFailure(text, { retryable: repairable !== undefined });
}

/** Waits until a person approves the work. Returns the commit that was approved; throws if it was rejected. */
async function review(
  run: RunContext,
  queue: ReviewQueue,
  { agent, subtask, record, transcript, endClaim }: Delegation,
  workspace: Workspace,
  { summary, message }: { readonly summary: string; readonly message: string },
  { signal, report }: AttemptContext,
): Promise<string> {
  const { seq } = subtask;
  const saved = await workspace.save(message);
  if (!saved.ok) throw undelivered(record, saved);
  const { commit, base } = saved;
  // No longer working: others may start in its place, and nobody else is blamed for its files.
  record.isActive = false;
  run.working.delete(seq);
  record.inReviewSince = Date.now();
  await endClaim();
  await discardEarlier(run, subtask, workspace);
  transcript.note('waiting for review');
  report('waits for review');
  const work = {
    ...{ at: record.inReviewSince, commit, base, branch: workspace.branch!, summary },
    ...{ agent: agent.name, attempt: record.number, passed: record.evidence.length },
    into: run.terms.branch,
    approvedAt: undefined,
  };
  const decision = await queue.request(seq, work, signal);
  transcript.note(`review: ${decision.kind}`);
  switch (decision.kind) {
    case 'approved':
      run.working.set(seq, { subtask, record });
      return commit;
    case 'open':
      record.isLeftInReview = true;
      return commit;
    case 'rejected':
      record.isRejected = true;
      throw new ToolFailure(rejectedText(decision.why));
    case 'withdrawn':
      throw new ToolFailure('The work was withdrawn from review.', { retryable: false });
    default:
      return unreachable(decision);
  }
}

/**
 * A retry continues in the worktree of the previous attempt. Work that did not fit the project is merged into a new
 * worktree of the current project instead.
 */
async function openWorkspace(
  run: RunContext,
  { subtask, record, transcript }: Delegation,
  signal: AbortSignal,
): Promise<Workspace> {
  const { seq } = subtask;
  const left = run.left.get(seq) ?? [];
  const work = run.attempts.of(seq).at(-2)?.repairable;
  const last = left.at(-1);
  if (last !== undefined && work === undefined) {
    transcript.note(`continuing in ${last.folder}`);
    left.pop();
    record.mergedBefore = run.attempts.of(seq).at(-2)!.mergedBefore;
    return last;
  }
  const { rejection } = subtask;
  if (rejection !== undefined && run.terms.worktrees && run.attempts.of(seq).length === 1) {
    record.isRepair = rejection.by === 'merge';
    const again = record.isRepair ? undefined : await run.workspaces.reopen(subtask, rejection);
    const workspace = again ?? (await run.workspaces.open(subtask, signal, rejection.commit));
    transcript.note(`continuing in ${workspace.folder}`);
    return workspace;
  }
  // A repair may break anything that was merged before.
  record.mergedBefore = record.isRepair ? 0 : run.merged.length;
  const workspace = await run.workspaces.open(subtask, signal, record.isRepair ? work : undefined);
  transcript.note(`working in ${workspace.folder}`);
  return workspace;
}

async function leaveWorkspace(
  run: RunContext,
  { subtask, record }: Delegation,
  workspace: Workspace,
  isDone: boolean,
): Promise<void> {
  const { seq } = subtask;
  // Another attempt may continue there.
  if (!isDone && !isShared(run, workspace)) {
    run.left.set(seq, [...(run.left.get(seq) ?? []), workspace]);
    record.kept = workspace.folder;
    return;
  }
  // A failed cleanup is no reason to repeat verified work.
  record.kept = await workspace.close().catch(() => workspace.folder);
  await discardEarlier(run, subtask, workspace);
  if (isDone) for (const earlier of run.attempts.of(seq).slice(0, -1)) earlier.kept = undefined;
}

/** Removes what earlier attempts left: it is part of this work now. */
async function discardEarlier(
  { left, workspaces }: RunContext,
  subtask: Subtask,
  { branch }: Workspace,
): Promise<void> {
  const { seq, rejection } = subtask;
  const earlier = left.get(seq) ?? [];
  left.delete(seq);
  for (const one of earlier) await one.discard().catch(() => undefined);
  if (rejection !== undefined && rejection.branch !== branch)
    await workspaces.discard(subtask, rejection.branch).catch(() => undefined);
}

/** Whether the work was verified and merged before a crash, so that only the completion is missing. */
async function wasMerged(run: RunContext, delegation: Delegation, signal: AbortSignal): Promise<boolean> {
  const { record, subtask } = delegation;
  if (!delegation.isTakenOver) return false;
  const leftover = await run.workspaces.leftover(subtask);
  if (leftover === undefined) return false;
  const { paths } = leftover;
  const evidence = await verifyWork(run, subtask, run.folder.project, paths, signal);
  if (!evidence.every(({ ok }) => ok)) return false;
  record.touched = paths;
  record.evidence = evidence;
  record.discrepancy = 'An interrupted run had already merged the work, so no agent was started.';
  await markCompleted(run, delegation, subtask.title);
  await leftover.remove().catch(() => undefined);
  return true;
}

function isReason(error: unknown, reason: ToolFailure['reason']): error is ToolFailure {
  return error instanceof ToolFailure && error.reason === reason;
}

/** Records the changed paths. Returns a failure if a denied or protected path is among them. */
async function checkChanges(
  run: RunContext,
  { record, subtask }: Delegation,
  workspace: Workspace,
): Promise<ToolFailure | undefined> {
  const isDeliverable = patternMatcher(subtask.deliverables);
  // First, since git would run what the agent wrote there.
  await run.tamperGuard.check();
  record.touched = await workspace.changes().catch((error) => {
    // A removed repository cannot be inspected.
    if (record.tampered.length > 0) return [];
    throw error;
  });
  record.outside = record.touched.filter((path) => !isDeliverable(path));
  const denied = run.denied.among(record.touched);
  record.denied = [...new Set([...record.tampered, ...denied])];
  if (record.tampered.length > 0) return tamperFailure(record);
  if (denied.length === 0) return undefined;
  const named = listText(record.denied.slice(0, MAX_NAMED), record.denied.length);
  const text = deniedText(named, isShared(run, workspace), [...record.concurrentWith].sort());
  return new ToolFailure(`${text} To allow it, ${run.denied.remedyFor(denied)}.`, { retryable: false });
}

function tamperFailure({ tampered, notRestored }: SubtaskAttempt): ToolFailure {
  const what = tamperText({ paths: [...new Set(tampered)], problems: [...new Set(notRestored)] });
  const message = `The agent changed protected files of Volley or git: ${what} The attempt does not count.`;
  return new ToolFailure(message, { retryable: false });
}

function deniedText(named: string, isInProject: boolean, concurrent: readonly string[]): string {
  if (!isInProject) return `The agent changed files it may not touch: ${named}. Nothing was merged.`;
  const advice = 'The change was not undone; review it.';
  if (concurrent.length === 0) return `The agent changed files it may not touch: ${named}. ${advice}`;
  return `This agent, or a concurrent one (${listText(concurrent)}), changed files that no agent may touch: ${named}. None of their attempts counts. ${advice} Use --worktrees to keep agents apart.`;
}

function isShared({ folder }: RunContext, workspace: Workspace): boolean {
  return workspace.folder === folder.project;
}

/** Decides by the evidence, not by what the agent says. Throws what is missing. */
async function judge(
  run: RunContext,
  delegation: Delegation,
  workspace: Workspace,
  end: AgentEnd,
  context: AttemptContext,
): Promise<{ summary: string; discrepancy: string | undefined }> {
  const { record, agent, subtask, transcript } = delegation;
  const now = findSubtask(await run.folder.read(run.feature), subtask.seq);
  const mark = now.status === 'completed' ? { summary: now.completionSummary ?? '' } : now.marked;
  const overBudget = isReason(end.failure, 'budget') ? end.failure : undefined;
  // An agent that reported completion may still fail on exit.
  if (end.failure !== undefined && mark === undefined && overBudget === undefined) throw end.failure;
  context.report('checking the work');
  record.evidence = await verifyAttempt(run, delegation, workspace, context.signal);
  for (const { subject, ok, text } of record.evidence)
    transcript.note(`${ok ? '✓' : '✗'} ${subject} ${text}`);
  const missing = failedChecks(record.evidence);
  // Without evidence, nothing says that an agent was done when it was stopped.
  if (overBudget !== undefined && (missing.length > 0 || record.evidence.length === 0)) throw overBudget;
  if (missing.length > 0) {
    if (mark !== undefined)
      record.discrepancy =
        'The agent reported completion, but its work is missing. The subtask is pending again.';
    const said = mark !== undefined || end.said === 'done' ? 'reported completion' : 'exited';
    throw new ToolFailure(`${agent.name} ${said}, but the work is missing: ${missing.join('; ')}`);
  }
  const summary = run.redact(mark?.summary || end.text || subtask.title).slice(0, MAX_SUMMARY_LENGTH);
  if (overBudget !== undefined)
    return { summary, discrepancy: `${overBudget.message} Its work was complete and counts.` };
  const discrepancy =
    end.failure === undefined ? undefined : `The agent reported completion, but: ${end.failure.message}`;
  return { summary, discrepancy };
}

const MARKERS = /^(?:<{7}|>{7})(?: |$)/m;

/** Files in which the agent left the markers of a conflict. */
function unresolvedConflicts({ folder, conflict }: Workspace): Evidence[] {
  return (conflict?.paths ?? []).flatMap((path) => {
    try {
      if (!MARKERS.test(readFileSync(join(folder, path), 'utf8'))) return [];
    } catch {
      // Removed, or not a file any more.
      return [];
    }
    return [{ subject: path, ok: false, text: 'still has conflict markers' }];
  });
}

async function verifyAttempt(
  run: RunContext,
  { subtask, record, isTakenOver }: Delegation,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<Evidence[]> {
  const { folder } = workspace;
  if (!isShared(run, workspace)) {
    const unresolved = unresolvedConflicts(workspace);
    return unresolved.length > 0 ? unresolved : verifyWork(run, subtask, folder, record.touched, signal);
  }
  // Work left by a crash can only be recognized by file times.
  if (isTakenOver) return verifyWork(run, subtask, folder, undefined, signal);
  const earlier = run.attempts.of(subtask.seq).flatMap(({ touched }) => touched);
  return verifyWork(run, subtask, folder, [...run.pathsFromLastRun(subtask.seq), ...earlier], signal);
}

/** Refuses to merge a subtask that was blocked or completed by someone else meanwhile. */
async function requireWanted(run: RunContext, { agent, subtask, record }: Delegation): Promise<void> {
  // Again, since the checks have run the agent's code.
  await run.tamperGuard.checkInside();
  record.isActive = false;
  if (record.tampered.length > 0) throw tamperFailure(record);
  const { folder } = run;
  const name = claimNameOf(run, agent);
  const feature = await folder.read(run.feature);
  const now = findSubtask(feature, subtask.seq);
  const isWithdrawn = record.inReviewSince !== undefined && now.review?.approvedAt === undefined;
  const obstacles = isCompletedByOther(now, name)
    ? ['someone else completed it']
    : [
        ...completionObstacles(feature, now, name, folder.moment()),
        ...(isWithdrawn ? ['it is no longer approved'] : []),
      ];
  if (obstacles.length === 0) return;
  const message = `The work is done, but the subtask cannot be completed: ${obstacles.join('; ')}.`;
  throw new ToolFailure(message, { retryable: false });
}

async function markCompleted(
  run: RunContext,
  { agent, subtask, record }: Delegation,
  summary: string,
): Promise<void> {
  const { folder, feature } = run;
  const { seq } = subtask;
  const passed = record.evidence.length;
  const isApproved = record.inReviewSince !== undefined;
  const name = claimNameOf(run, agent);
  const request = { seq, summary, agent: name, failures: [], passed, force: false, isApproved };
  await folder.change(feature, (now, moment) => completeSubtask(now, request, moment));
}
