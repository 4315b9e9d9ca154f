import { isDeepStrictEqual } from 'node:util';
import { oneLine } from '../../batch/text.ts';
import { listText } from '../../core/words.ts';
import { ToolFailure } from '../../engine/tool-failure.ts';
import type { ToolContext } from '../../runners/runner.ts';
import type { ChosenAgent } from '../agents/choose-agents.ts';
import type { Check, Feature, Subtask } from '../files/feature.ts';
import { completeSubtask, completionObstacles, isCompletedByOther } from '../files/subtask-changes.ts';
import { findSubtask } from '../files/subtask-reference.ts';
import { patternMatcher } from '../plan/deliverables.ts';
import { type Evidence, evidenceText, verifySubtask } from '../verify/verify.ts';
import type { DeliveryGuard, MergedPlace, Workspace } from '../workspace/workspace.ts';
import { type AgentEnd, callAgent } from './call-agent.ts';
import { claimNameOf, type RunContext, type SubtaskAttempt } from './run-context.ts';

/** What is delegated, to whom, and where it is written down what became of it. */
export interface Delegation {
  readonly agent: ChosenAgent;
  readonly feature: Feature;
  readonly subtask: Subtask;
  readonly record: SubtaskAttempt;
  /** Whether somebody had begun it who is gone. */
  readonly isLeftBehind: boolean;
  /** It was done in time: what follows may have to wait for others. */
  onVerified(): void;
}

const LONGEST_SUMMARY = 2000;
const MAX_NAMED = 20;

/** Lets an agent do a claimed subtask, looks at what came of it, brings it in and marks it. Gives its summary. */
export async function delegate(
  run: RunContext,
  delegation: Delegation,
  context: ToolContext,
): Promise<string> {
  const { record, subtask } = delegation;
  context.report('preparing the workspace');
  if (await wasMerged(run, delegation, context.signal)) return subtask.title;
  const mergedBefore = run.merged.length;
  const workspace = await run.workspaces.open(subtask, context.signal);
  record.branch = workspace.branch;
  try {
    const end = await callAgent(run, delegation, workspace, context).catch(async (error: unknown) => {
      // One that has marked its work may wait for something that never ends.
      if (isStalled(error)) return { said: 'nothing', text: undefined, failure: error } as const;
      const wrong = await touchedWrongly(run, delegation, workspace);
      // Whose it is cannot be told: then why it was ended counts.
      throw isShared(run, workspace) && record.concurrentWith.size > 0 ? error : (wrong ?? error);
    });
    const wrong = await touchedWrongly(run, delegation, workspace);
    if (wrong !== undefined) throw wrong;
    const { summary, discrepancy } = await judge(run, delegation, workspace, end, context);
    delegation.onVerified();
    context.report('bringing the work in');
    const message = `${run.feature} ${subtask.seq}: ${oneLine(subtask.title, 100)}`;
    const delivery = await workspace.deliver(message, {
      signal: context.signal,
      confirm: () => requireWanted(run, delegation),
      recheck: () => recheckAfterMerge(run, delegation, run.merged.slice(mergedBefore), context),
    });
    if (!delivery.ok) {
      record.conflicts = delivery.conflicts;
      throw new ToolFailure(delivery.text, { retryable: false });
    }
    run.merged.push(subtask);
    await markCompleted(run, delegation, summary);
    record.discrepancy = [discrepancy, record.discrepancy].filter(Boolean).join(' ') || undefined;
    return summary;
  } finally {
    // What cannot be removed is no reason to do verified work again.
    record.kept = await workspace.close().catch(() => workspace.folder);
  }
}

/** Whether a crash left nothing to do but to complete it: its work was verified and merged, and is still there. */
async function wasMerged(run: RunContext, delegation: Delegation, signal: AbortSignal): Promise<boolean> {
  const { record, subtask } = delegation;
  if (!delegation.isLeftBehind) return false;
  const leftover = await run.workspaces.leftover(subtask);
  if (leftover === undefined) return false;
  const { paths } = leftover;
  const evidence = await verifyWork(run, subtask, run.folder.project, paths, signal);
  if (!evidence.every(({ ok }) => ok)) return false;
  record.touched = paths;
  record.evidence = evidence;
  record.discrepancy = 'It had been merged already when an earlier run was cut short: no agent was started.';
  await markCompleted(run, delegation, subtask.title);
  await leftover.remove().catch(() => undefined);
  return true;
}

function isStalled(error: unknown): error is ToolFailure {
  return error instanceof ToolFailure && error.reason === 'stalled';
}

/** Writes down what was touched, and gives what speaks against it: a denied path ends it whatever else is there. */
async function touchedWrongly(
  run: RunContext,
  { record, subtask }: Delegation,
  workspace: Workspace,
): Promise<ToolFailure | undefined> {
  const isPromised = patternMatcher(subtask.deliverables);
  // First, for git would run what it wrote there.
  await run.tamperGuard.check();
  record.touched = await workspace.changes().catch((error) => {
    // A repository that was removed cannot be looked at.
    if (record.tampered.length > 0) return [];
    throw error;
  });
  record.outside = record.touched.filter((path) => !isPromised(path));
  const denied = run.denied.among(record.touched);
  record.denied = [...new Set([...record.tampered, ...denied])];
  if (record.tampered.length > 0) return tampered(record);
  if (denied.length === 0) return undefined;
  const named = listText(record.denied.slice(0, MAX_NAMED), record.denied.length);
  const text = deniedText(named, isShared(run, workspace), [...record.concurrentWith].sort());
  return new ToolFailure(`${text} To allow it, ${run.denied.remedyFor(denied)}.`, { retryable: false });
}

function tampered({ tampered, notRestored, concurrentWith: beside }: SubtaskAttempt): ToolFailure {
  const paths = [...new Set(tampered)];
  const named = listText(paths.slice(0, MAX_NAMED), paths.length);
  const who =
    beside.size === 0
      ? 'The agent'
      : `The agent, or another one running at the same time (${listText([...beside].sort())}),`;
  const problems = [...new Set(notRestored)].slice(0, MAX_NAMED);
  const outcome =
    problems.length === 0 ? 'They were restored' : `They were restored, except: ${problems.join('; ')}`;
  const message = `${who} changed protected files of Volley or git: ${named}. ${outcome}. The attempt does not count.`;
  return new ToolFailure(message, { retryable: false });
}

function deniedText(named: string, isInProject: boolean, beside: readonly string[]): string {
  if (!isInProject) return `The agent touched what it may not: ${named}. Nothing was merged.`;
  if (beside.length === 0)
    return `The agent touched what it may not: ${named}. That was not undone: see to it.`;
  return `${named} was touched, which no agent may, while this one worked beside ${listText(beside)} in the same folder: whose it is cannot be told, so none of them counts. That was not undone: see to it. With --worktrees they are kept apart.`;
}

function isShared({ folder }: RunContext, workspace: Workspace): boolean {
  return workspace.folder === folder.project;
}

/** Believes the evidence, and not the agent: gives what is to be said of what is there, or throws what is missing. */
async function judge(
  run: RunContext,
  delegation: Delegation,
  workspace: Workspace,
  end: AgentEnd,
  context: ToolContext,
): Promise<{ summary: string; discrepancy: string | undefined }> {
  const { record, agent, subtask } = delegation;
  const now = findSubtask(await run.folder.read(run.feature), subtask.seq);
  const mark = now.status === 'completed' ? { summary: now.completionSummary ?? '' } : now.marked;
  // One that has marked its work may stumble on its way out.
  if (end.failure !== undefined && mark === undefined) throw end.failure;
  context.report('checking the work');
  record.evidence = await verify(run, delegation, workspace, context.signal);
  const missing = failedChecks(record.evidence);
  if (missing.length > 0) {
    const hasMarked = mark !== undefined;
    if (hasMarked)
      record.discrepancy =
        'The agent marked it as completed, but its work is not there: it is pending again.';
    const said =
      hasMarked || end.said === 'done' ? `${agent.name} calls it done, but` : `${agent.name} ended, and`;
    throw new ToolFailure(`${said} the work is not there: ${missing.join('; ')}`);
  }
  const summary = run.redact(mark?.summary || end.text || subtask.title).slice(0, LONGEST_SUMMARY);
  if (end.failure !== undefined)
    return { summary, discrepancy: `The agent marked it, but: ${end.failure.message}` };
  const discrepancy = mark === undefined ? 'The agent never marked it as completed: Volley did.' : undefined;
  return { summary, discrepancy };
}

function verify(
  run: RunContext,
  { subtask, record, isLeftBehind }: Delegation,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<Evidence[]> {
  const { folder } = workspace;
  if (!isShared(run, workspace)) return verifyWork(run, subtask, folder, record.touched, signal);
  // A crash has left work of which only the times of files tell.
  if (isLeftBehind) return verifyWork(run, subtask, folder, undefined, signal);
  const earlier = run.attempts.of(subtask.seq).flatMap(({ touched }) => touched);
  return verifyWork(run, subtask, folder, [...run.pathsFromLastRun(subtask.seq), ...earlier], signal);
}

/** What cannot be completed is not merged either: meanwhile it was blocked, or somebody else has completed it. */
async function requireWanted(run: RunContext, { agent, subtask, record }: Delegation): Promise<void> {
  // What the agent wrote has run since, in the checks.
  await run.tamperGuard.check();
  if (record.tampered.length > 0) throw tampered(record);
  const { folder } = run;
  const name = claimNameOf(run, agent);
  const feature = await folder.read(run.feature);
  const now = findSubtask(feature, subtask.seq);
  const obstacles = isCompletedByOther(now, name)
    ? ['somebody else has completed it']
    : completionObstacles(feature, now, name, folder.moment());
  if (obstacles.length === 0) return;
  const message = `Its work is there, but it cannot be completed: ${obstacles.join('; ')}.`;
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
  const request = { seq, summary, agent: claimNameOf(run, agent), failures: [], passed, force: false };
  await folder.change(feature, (now, moment) => completeSubtask(now, request, moment));
}

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
export function recheckAfterMerge(
  run: RunContext,
  { subtask, record }: Delegation,
  others: readonly Subtask[],
  { signal, report }: ToolContext,
): ReturnType<DeliveryGuard['recheck']> {
  const suspects = suspectsOf(subtask, others);
  if (suspects.length === 0) return undefined;
  const runAll = (checks: readonly Check[], folder: string) =>
    verifyWork(run, { ...subtask, deliverables: [], verification: checks }, folder, [], signal);
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
      if (failedChecks(found).length > 0) break;
    }
    const missing = failedChecks(found);
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

/** Looks at the work in a folder, of which these paths were changed; where that is not known, their times tell. */
export async function verifyWork(
  run: RunContext,
  subtask: Subtask,
  folder: string,
  changed: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<Evidence[]> {
  const isChanged = (one: string) => changed!.some(patternMatcher([one]));
  const { commands, folder: tasks } = run;
  const place = { folder, project: tasks.project, commands, signal, ...(changed && { isChanged }) };
  const evidence = await verifySubtask(subtask, place);
  // What commands write is kept with it.
  return evidence.map((one) => ({ ...one, text: run.redact(one.text) }));
}

export function failedChecks(evidence: readonly Evidence[]): string[] {
  return evidence.filter(({ ok }) => !ok).map(evidenceText);
}
