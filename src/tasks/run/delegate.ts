import { oneLine } from '../../batch/text.ts';
import { listText } from '../../core/words.ts';
import { ToolFailure } from '../../engine/tool-failure.ts';
import type { ToolContext } from '../../runners/runner.ts';
import type { Feature, Subtask } from '../feature.ts';
import { subtaskOf } from '../lookup.ts';
import { deniedAmong } from '../permissions/denied.ts';
import { pathMatcher } from '../permissions/path-matcher.ts';
import { completeSubtask } from '../state/complete.ts';
import { type Evidence, evidenceText } from '../verify/evidence.ts';
import { verifySubtask } from '../verify/verify.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { type AgentEnd, callAgent } from './call-agent.ts';
import type { ChosenAgent } from './choose-agents.ts';
import type { AttemptRecord } from './ledger.ts';
import type { RunParts } from './run-parts.ts';

/** What is delegated, to whom, and where it is written down what became of it. */
export interface Delegation {
  readonly agent: ChosenAgent;
  readonly feature: Feature;
  readonly subtask: Subtask;
  readonly record: AttemptRecord;
}

const LONGEST_SUMMARY = 2000;
const MOST_NAMED = 20;

/** Lets an agent do a claimed subtask, looks at what came of it, brings it in and marks it. Gives its summary. */
export async function delegate(run: RunParts, delegation: Delegation, context: ToolContext): Promise<string> {
  const { record, subtask } = delegation;
  context.report('preparing the workspace');
  const workspace = await run.workspaces.open(subtask, context.signal);
  record.branch = workspace.branch;
  try {
    const end = await callAgent(run, delegation, workspace, context).catch(async (error: unknown) => {
      const wrong = await touchedWrongly(run, delegation, workspace);
      throw record.beside.size === 0 ? (wrong ?? error) : error;
    });
    const wrong = await touchedWrongly(run, delegation, workspace);
    if (wrong !== undefined) throw wrong;
    const summary = await judge(run, delegation, workspace, end, context);
    context.report('bringing the work in');
    const delivery = await workspace.deliver(`${run.feature} ${subtask.seq}: ${oneLine(subtask.title, 100)}`);
    if (!delivery.ok) {
      record.conflicts = delivery.conflicts;
      throw new ToolFailure(delivery.text, { retryable: false });
    }
    await markCompleted(run, delegation, summary);
    return summary;
  } finally {
    record.kept = await workspace.close();
  }
}

/** Writes down what was touched, and gives what speaks against it: a denied path ends it whatever else is there. */
async function touchedWrongly(
  run: RunParts,
  { record, subtask }: Delegation,
  workspace: Workspace,
): Promise<ToolFailure | undefined> {
  const isPromised = pathMatcher(subtask.deliverables);
  record.touched = await workspace.changes();
  record.outside = record.touched.filter((path) => !isPromised(path));
  record.denied = deniedAmong(record.touched, run.settings.deniedPaths);
  if (record.denied.length === 0) return undefined;
  const named = listText(record.denied.slice(0, MOST_NAMED), record.denied.length);
  return new ToolFailure(deniedText(named, isShared(run, workspace), [...record.beside].sort()), {
    retryable: false,
  });
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

/** Believes the evidence, and not the agent: gives the summary of what is there, or throws what is missing. */
async function judge(
  run: RunParts,
  { record, agent, subtask }: Delegation,
  workspace: Workspace,
  end: AgentEnd,
  context: ToolContext,
): Promise<string> {
  const now = subtaskOf(await run.folder.read(run.feature), subtask.seq);
  const mark = now.status === 'completed' ? { summary: now.completionSummary ?? '' } : now.marked;
  // One that has marked its work may stumble on its way out.
  if (end.failure !== undefined && mark === undefined) throw end.failure;
  context.report('checking the work');
  record.evidence = await verify(run, subtask, record, workspace, context.signal);
  const missing = record.evidence.filter(({ ok }) => !ok).map(evidenceText);
  if (missing.length > 0) {
    const hasMarked = mark !== undefined;
    if (hasMarked)
      record.discrepancy =
        'The agent marked it as completed, but its work is not there: it is pending again.';
    const said =
      hasMarked || end.said === 'done' ? `${agent.name} calls it done, but` : `${agent.name} ended, and`;
    throw new ToolFailure(`${said} the work is not there: ${run.redact(missing.join('; '))}`);
  }
  if (end.failure !== undefined) record.discrepancy = `The agent marked it, but: ${end.failure.message}`;
  else if (mark === undefined) record.discrepancy = 'The agent never marked it as completed: Volley did.';
  const summary = mark?.summary || end.text || subtask.title;
  return run.redact(summary).slice(0, LONGEST_SUMMARY);
}

function verify(
  run: RunParts,
  subtask: Subtask,
  { startedAt, touched }: AttemptRecord,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<Evidence[]> {
  const place = { project: workspace.folder, launcher: () => run.launcher, signal };
  const isInProject = isShared(run, workspace);
  // A crash has left work of which only the times of files tell.
  if (isInProject && (subtask.startedAt ?? startedAt) < startedAt - 1000)
    return verifySubtask(subtask, place);
  const before = isInProject
    ? [...run.leftBefore(subtask.seq), ...run.ledger.of(subtask.seq).flatMap((one) => one.touched)]
    : [];
  const changed = [...touched, ...before];
  return verifySubtask(subtask, { ...place, isChanged: (one) => changed.some(pathMatcher([one])) });
}

async function markCompleted(
  { folder, feature, id }: RunParts,
  { agent, subtask, record }: Delegation,
  summary: string,
): Promise<void> {
  const { seq } = subtask;
  const passed = record.evidence.length;
  const request = { seq, summary, agent: `${agent.name}-${id}`, failures: [], passed, force: false };
  await folder.change(feature, (now, moment) => completeSubtask(now, request, moment));
}
