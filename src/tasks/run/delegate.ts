import { oneLine } from '../../batch/text.ts';
import { listText } from '../../core/words.ts';
import { ToolFailure } from '../../engine/tool-failure.ts';
import type { ToolContext } from '../../runners/runner.ts';
import type { Feature, Subtask } from '../feature.ts';
import { subtaskOf } from '../lookup.ts';
import { pathMatcher } from '../permissions/path-matcher.ts';
import { completeSubtask, isAnothers, obstaclesTo } from '../state/complete.ts';
import type { Evidence } from '../verify/evidence.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { type AgentEnd, callAgent } from './call-agent.ts';
import type { ChosenAgent } from './choose-agents.ts';
import type { AttemptRecord } from './ledger.ts';
import { look, missingIn } from './look.ts';
import { recheckOf } from './recheck.ts';
import { claimantOf, type RunParts } from './run-parts.ts';

/** What is delegated, to whom, and where it is written down what became of it. */
export interface Delegation {
  readonly agent: ChosenAgent;
  readonly feature: Feature;
  readonly subtask: Subtask;
  readonly record: AttemptRecord;
  /** Whether somebody had begun it who is gone. */
  readonly isLeftBehind: boolean;
  /** It was done in time: what follows may have to wait for others. */
  onVerified(): void;
}

const LONGEST_SUMMARY = 2000;
const MAX_NAMED = 20;

/** Lets an agent do a claimed subtask, looks at what came of it, brings it in and marks it. Gives its summary. */
export async function delegate(run: RunParts, delegation: Delegation, context: ToolContext): Promise<string> {
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
      throw isShared(run, workspace) && record.beside.size > 0 ? error : (wrong ?? error);
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
      recheck: () => recheckOf(run, delegation, run.merged.slice(mergedBefore), context),
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
async function wasMerged(run: RunParts, delegation: Delegation, signal: AbortSignal): Promise<boolean> {
  const { record, subtask } = delegation;
  if (!delegation.isLeftBehind) return false;
  const leftover = await run.workspaces.leftover(subtask);
  if (leftover === undefined) return false;
  const { paths } = leftover;
  const evidence = await look(run, subtask, run.folder.project, paths, signal);
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
  run: RunParts,
  { record, subtask }: Delegation,
  workspace: Workspace,
): Promise<ToolFailure | undefined> {
  const isPromised = pathMatcher(subtask.deliverables);
  // First, for git would run what it wrote there.
  await run.safeguard.check();
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
  const text = deniedText(named, isShared(run, workspace), [...record.beside].sort());
  return new ToolFailure(`${text} To allow it, ${run.denied.remedyFor(denied)}.`, { retryable: false });
}

function tampered({ tampered, notRestored, beside }: AttemptRecord): ToolFailure {
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

function isShared({ folder }: RunParts, workspace: Workspace): boolean {
  return workspace.folder === folder.project;
}

/** Believes the evidence, and not the agent: gives what is to be said of what is there, or throws what is missing. */
async function judge(
  run: RunParts,
  delegation: Delegation,
  workspace: Workspace,
  end: AgentEnd,
  context: ToolContext,
): Promise<{ summary: string; discrepancy: string | undefined }> {
  const { record, agent, subtask } = delegation;
  const now = subtaskOf(await run.folder.read(run.feature), subtask.seq);
  const mark = now.status === 'completed' ? { summary: now.completionSummary ?? '' } : now.marked;
  // One that has marked its work may stumble on its way out.
  if (end.failure !== undefined && mark === undefined) throw end.failure;
  context.report('checking the work');
  record.evidence = await verify(run, delegation, workspace, context.signal);
  const missing = missingIn(record.evidence);
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
  run: RunParts,
  { subtask, record, isLeftBehind }: Delegation,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<Evidence[]> {
  const { folder } = workspace;
  if (!isShared(run, workspace)) return look(run, subtask, folder, record.touched, signal);
  // A crash has left work of which only the times of files tell.
  if (isLeftBehind) return look(run, subtask, folder, undefined, signal);
  const earlier = run.ledger.of(subtask.seq).flatMap(({ touched }) => touched);
  return look(run, subtask, folder, [...run.leftBefore(subtask.seq), ...earlier], signal);
}

/** What cannot be completed is not merged either: meanwhile it was blocked, or somebody else has completed it. */
async function requireWanted(run: RunParts, { agent, subtask, record }: Delegation): Promise<void> {
  // What the agent wrote has run since, in the checks.
  await run.safeguard.check();
  if (record.tampered.length > 0) throw tampered(record);
  const { folder } = run;
  const name = claimantOf(run, agent);
  const feature = await folder.read(run.feature);
  const now = subtaskOf(feature, subtask.seq);
  const obstacles = isAnothers(now, name)
    ? ['somebody else has completed it']
    : obstaclesTo(feature, now, name, folder.moment());
  if (obstacles.length === 0) return;
  const message = `Its work is there, but it cannot be completed: ${obstacles.join('; ')}.`;
  throw new ToolFailure(message, { retryable: false });
}

async function markCompleted(
  run: RunParts,
  { agent, subtask, record }: Delegation,
  summary: string,
): Promise<void> {
  const { folder, feature } = run;
  const { seq } = subtask;
  const passed = record.evidence.length;
  const request = { seq, summary, agent: claimantOf(run, agent), failures: [], passed, force: false };
  await folder.change(feature, (now, moment) => completeSubtask(now, request, moment));
}
