import type { AgentUsage } from '../../agents/adapter.ts';
import { usageText } from '../../agents/usage.ts';
import { oneLine } from '../../batch/text.ts';
import { shellQuote } from '../../core/shell-quote.ts';
import { countText, listText, spanText } from '../../core/words.ts';
import type { AttemptReport } from './history.ts';
import type { RunReport, SubtaskReport } from './report.ts';
import { COMPLETED_ELSEWHERE } from './run-context.ts';

const MAX_NAMED = 10;
const MAX_COSTS = 50;
const SHORT_HASH = 12;
const LONGEST_LINE = 1000;

/** A report as Markdown. */
export function reportText(report: RunReport): string {
  if (report.status === 'nothing') return nothingText(report);
  const isDone = report.status === 'completed';
  return [
    ...(isDone ? doneLines(report) : failureLines(report)),
    ...tamperingLines(report),
    '',
    ...statisticLines(report),
    '',
    ...nextLines(report),
  ].join('\n');
}

function nothingText(report: RunReport): string {
  const { feature, done_before: done, next } = report;
  const lines = [`## Nothing to run`, '', `Feature: ${feature}`];
  if (done.length > 0) lines.push(`Already completed: ${done.join(', ')}`);
  if (report.left_out.length > 0) lines.push('', ...leftOutLines(report));
  if (next.feature_completed) lines.push('', 'All subtasks are completed.');
  return lines.join('\n');
}

/** `Batch 1`, `Batch`, or `Feature` for a whole one. */
function subject({ batch, explicit }: RunReport): string {
  return batch !== null ? `Batch ${batch}` : explicit ? 'Batch' : 'Feature';
}

function doneLines(report: RunReport): string[] {
  const seqs = report.subtasks.map(({ seq }) => seq);
  return [
    `## ${subject(report)} Execution Complete`,
    '',
    `Feature: ${report.feature}`,
    ...(report.batch === null ? [] : [`Batch: ${report.batch}`]),
    `Subtasks: ${seqs.join(', ')}`,
    'Status: ✅ ALL COMPLETED',
    '',
    '### Individual Results:',
    ...report.subtasks.flatMap((one) => ['', ...completedLines(report.feature, one)]),
    ...doneBefore(report),
  ];
}

function completedLines(feature: string, subtask: SubtaskReport): string[] {
  const { seq, title, deliverables, summary } = subtask;
  return [
    `${markOf(subtask)} Subtask ${seq} - ${oneLine(title, 200)}`,
    '   - Status: completed',
    ...(deliverables.length === 0 ? [] : [`   - Deliverables: ${deliverables.join(', ')}`]),
    `   - Summary: ${oneLine(summary ?? '', LONGEST_LINE)}`,
    ...detailLines(feature, subtask),
  ];
}

function markOf({ forced }: SubtaskReport): string {
  return forced === null ? '✅' : '⚠️';
}

/** Lines that completed and failed subtasks share. */
function detailLines(feature: string, subtask: SubtaskReport): string[] {
  const { agent, attempts, duration_ms, discrepancy, forced, attempt_reports: tries } = subtask;
  const { outside_deliverables: outside, conflicts } = subtask;
  const lines: string[] = [];
  if (attempts > 0) {
    const used = usageText(subtask.usage);
    const many = attempts === 1 ? '' : `, ${countText(attempts, 'attempt')}`;
    const agents = [...new Set([...tries.map((one) => one.agent), ...(agent === null ? [] : [agent])])];
    lines.push(
      `Time: ${spanText(duration_ms)} by ${agents.join(', then ')}${many}${used === '' ? '' : `, ${used}`}`,
    );
  }
  if (tries.length > 1) lines.push(...tries.map(attemptLine));
  if (forced !== null) lines.push(`Completed with --force, not verified: ${forced.join('; ')}`);
  if (
    subtask.status === 'completed' &&
    !subtask.verified &&
    forced === null &&
    discrepancy !== COMPLETED_ELSEWHERE
  )
    lines.push('Not verified: it has no deliverables or checks');
  if (subtask.status === 'failed' && subtask.word !== null)
    lines.push(`Agent's final message: ${subtask.word}`);
  if (discrepancy !== null) lines.push(`Discrepancy: ${discrepancy}`);
  if (outside.length > 0) lines.push(`Changed outside its deliverables: ${some(outside)}`);
  if (conflicts.length > 0) lines.push(`Conflicts: ${some(conflicts)}`);
  // The error may mention it already.
  const kept = new Map(tries.map((one) => [one.kept, one.branch]));
  for (const [folder, branch] of kept)
    if (folder !== null && subtask.status !== 'review' && !subtask.error?.includes(folder))
      lines.push(`Work kept in ${folder}${branch === null ? '' : ` (branch ${branch})`}`);
  const transcript = tries.findLast((one) => one.transcript !== null);
  if (subtask.status === 'failed' && transcript !== undefined)
    lines.push(
      `Transcript: volley tasks logs ${shellQuote(feature)} ${subtask.seq} (${transcript.transcript})`,
    );
  return lines.map((line) => `   - ${oneLine(line, LONGEST_LINE)}`);
}

const NOT_COUNTED: Readonly<Record<string, string>> = { limit: 'usage limit', outage: 'outage' };

/** `Attempt 1 by codex: 2 min 10 s, 14 turns, $0.42; a.ts does not exist` */
function attemptLine({ attempt, agent, duration_ms, usage, reason, error }: AttemptReport): string {
  const facts = [spanText(duration_ms), usageText(usage)].filter((fact) => fact !== '').join(', ');
  const refused = NOT_COUNTED[reason ?? ''];
  const what = refused === undefined ? '' : `; not counted (${refused})`;
  return `Attempt ${attempt} by ${agent}: ${facts}${what}${error === null ? '' : `; ${oneLine(error, 200)}`}`;
}

function failureLines(report: RunReport): string[] {
  const title = { stopped: 'STOPPED', review: 'Waits for Review' };
  const status = {
    partial: '❌ PARTIAL FAILURE',
    failed: '❌ FAILED',
    stopped: '⏸ STOPPED EARLY',
    review: '◑ WAITS FOR REVIEW',
  };
  return [
    `## ${subject(report)} Execution ${title[report.status as keyof typeof title] ?? 'FAILED'}`,
    '',
    `Feature: ${report.feature}`,
    ...(report.batch === null ? [] : [`Batch: ${report.batch}`]),
    `Status: ${status[report.status as keyof typeof status]}`,
    '',
    ...report.subtasks.flatMap((one) => outcomeLines(report.feature, one)),
    ...doneBefore(report),
  ];
}

function outcomeLines(feature: string, subtask: SubtaskReport): string[] {
  const { seq, status, error, reason, skipped_because: cause } = subtask;
  const title = oneLine(subtask.title, 200);
  switch (status) {
    case 'completed':
      return [`${markOf(subtask)} Subtask ${seq} - Completed: ${title}`, ...detailLines(feature, subtask)];
    case 'failed': {
      const why = reason === 'error' || reason === null ? '' : `${reason}: `;
      const text = (error ?? 'no reason given').trim().replaceAll('\n', '\n   ');
      return [`❌ Subtask ${seq} - FAILED: ${title}`, `   - ${why}${text}`, ...detailLines(feature, subtask)];
    }
    case 'review':
      return [
        `◑ Subtask ${seq} - Waits for review: ${title}`,
        ...(error === null ? [] : [`   - ${oneLine(error, LONGEST_LINE)}`]),
        ...detailLines(feature, subtask),
      ];
    case 'skipped':
      return [
        `⏭ Subtask ${seq} - Skipped because ${cause === null ? 'a dependency' : `subtask ${cause}`} did not complete: ${title}`,
      ];
    default:
      return [`○ Subtask ${seq} - Not done${error === null ? '' : ` (${oneLine(error, 200)})`}: ${title}`];
  }
}

/** Loud: someone tried to change what Volley or git runs. */
function tamperingLines({ tampering }: RunReport): string[] {
  return tampering.flatMap(({ paths, problems, suspects }) => {
    const who =
      suspects.length === 0
        ? ''
        : suspects.length === 1
          ? `, by the agent of subtask ${suspects[0]}`
          : `, by one of the agents of ${listText(suspects)}`;
    const what = problems.length === 0 ? 'They were restored.' : 'They were restored, except:';
    return [
      '',
      `⚠️ Protected files of Volley or git were changed${who}: ${some(paths)}. ${what}`,
      ...problems.map((problem) => `   - ${oneLine(problem, LONGEST_LINE)}`),
    ];
  });
}

function doneBefore({ done_before: done, explicit }: RunReport): string[] {
  return explicit && done.length > 0 ? ['', `Already completed: ${done.join(', ')}`] : [];
}

function statisticLines({ statistics, duration_ms, batch, explicit, history }: RunReport): string[] {
  const { total, completed, failed, skipped, left, review, success_rate, attempts, work_ms, usage } =
    statistics;
  const used = usageText(usage);
  return [
    `### ${batch !== null || explicit ? 'Batch' : 'Feature'} Statistics:`,
    `- Total tasks: ${total}`,
    `- Completed: ${completed}`,
    `- Failed: ${failed}`,
    ...(review > 0 ? [`- Waiting for review: ${review}`] : []),
    ...(skipped > 0 ? [`- Skipped: ${skipped}`] : []),
    ...(left > 0 ? [`- Not done: ${left}`] : []),
    `- Success rate: ${success_rate}%`,
    `- Time: ${spanText(duration_ms)}; agents worked ${spanText(work_ms)} in ${countText(attempts, 'attempt')}`,
    ...(used === '' ? [] : [`- Used: ${used}`]),
    ...historyLines(history),
  ];
}

/** What all runs together used, as far as agents report it. */
function historyLines({ runs, attempts, usage }: RunReport['history']): string[] {
  const total = usageText(usage.total);
  if (total === '') return [];
  const parts = (name: string, of: Readonly<Record<string, AgentUsage>>) => {
    const known = Object.entries(of)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, used]) => `${key}: ${usageText(used) || 'unknown'}`);
    if (known.length < 2) return [];
    const more = known.length - MAX_COSTS;
    return [
      `- By ${name}:`,
      ...known.slice(0, MAX_COSTS).map((line) => `  - ${line}`),
      ...(more > 0 ? [`  - … and ${more} more in report.json`] : []),
    ];
  };
  const details = [...parts('agent', usage.by_agent), ...parts('subtask', usage.by_subtask)];
  if (runs.length === 1 && details.length === 0) return [];
  return [
    '',
    `### Used in ${runs.length === 1 ? 'this run' : `all ${runs.length} runs`}:`,
    ...(runs.length === 1 ? [] : [`- Total: ${total}, in ${countText(attempts.length, 'attempt')}`]),
    ...details,
  ];
}

/** What all runs used, as lines below the status of a feature. */
export function usedText(usage: RunReport['history']['usage'] | undefined): string {
  const total = usage === undefined ? '' : usageText(usage.total);
  if (usage === undefined || total === '') return '';
  const agents = Object.entries(usage.by_agent).map(([agent, used]) => `${agent} ${usageText(used)}`);
  return `\n\n  Used in all runs: ${total}${agents.length < 2 ? '' : ` (${agents.join('; ')})`}`;
}

function nextLines(report: RunReport): string[] {
  const { status, next, feature } = report;
  const lines = ['### Next Steps:'];
  const name = subject(report);
  if (next.feature_completed)
    lines.push(`All subtasks of ${feature} are completed. Archive it with: ${next.command}`);
  else if (status === 'completed') {
    const what = report.explicit ? `${name} complete.` : 'Everything that could run is complete.';
    lines.push(`${what} ${readyText(report)}`);
    if (next.batch !== null && next.depends_on.length > 0)
      lines.push(`Batch ${next.batch} depends on: ${next.depends_on.join(', ')} (all now satisfied).`);
    if (next.batch !== null) lines.push(`Run it with: ${runText(report, `--batch ${next.batch}`)}`);
  } else lines.push(...reviewLines(report), ...continueLines(report));
  if (report.subtasks.some(({ kept, status }) => kept !== null && status !== 'review'))
    lines.push(
      `Some worktrees were kept. List them with: volley tasks worktrees ${shellQuote(feature)} (add --remove to remove them)`,
    );
  if (report.branch !== null) lines.push(...branchLines(report.branch));
  const { changed_in_project: changed } = report;
  if (changed.length > 0)
    lines.push(
      `The project itself changed during the run, by you or by an agent outside its worktree: ${some(changed)}. These changes were not verified; review them with git status.`,
    );
  if (report.left_out.length > 0) lines.push('', ...leftOutLines(report));
  return lines;
}

function readyText({ next }: RunReport): string {
  const { ready, batch } = next;
  if (ready.length === 0) return 'Nothing is ready to start.';
  const what = `${ready.length === 1 ? 'subtask' : 'subtasks'} ${ready.slice(0, MAX_NAMED).join(', ')}`;
  return batch === null ? `Ready: ${what}.` : `Ready to proceed to Batch ${batch} (${what}).`;
}

function branchLines({ name, commits }: NonNullable<RunReport['branch']>): string[] {
  return [
    `The work is on the branch ${name}, which is not checked out; your files are as they were. Its commits:`,
    ...commits.map(({ commit, subject }) => `- ${commit.slice(0, SHORT_HASH)} ${oneLine(subject, 100)}`),
    `To use it: git merge ${shellQuote(name)}`,
  ];
}

/** How to review what waits. */
function reviewLines({ feature, subtasks }: RunReport): string[] {
  const open = subtasks.filter(({ status }) => status === 'review').map(({ seq }) => seq);
  if (open.length === 0) return [];
  const of = `${shellQuote(feature)} ${open[0]}`;
  return [
    `${open.length === 1 ? 'Subtask' : 'Subtasks'} ${listText(open.slice(0, MAX_NAMED), open.length)} ${open.length === 1 ? 'waits' : 'wait'} for your review:`,
    `- See the work: volley tasks diff ${of}`,
    `- Merge it: volley tasks approve ${of}`,
    `- Send it back: volley tasks reject ${of} "why"`,
  ];
}

function continueLines(report: RunReport): string[] {
  const { batch, explicit, subtasks } = report;
  // All that is left is to review it.
  if (subtasks.every(({ status }) => status === 'completed' || status === 'review')) return [];
  const failed = subtasks.filter((one) => one.status === 'failed').map(({ seq }) => seq);
  const which =
    batch === null ? `--subtasks ${subtasks.map(({ seq }) => seq).join(',')}` : `--batch ${batch}`;
  const again = explicit ? runText(report, which) : runText(report);
  const before = explicit && batch !== null ? ` before proceeding to Batch ${batch + 1}` : '';
  const fix =
    failed.length === 0
      ? []
      : [`Recommendation: fix ${failed.length === 1 ? 'subtask' : 'subtasks'} ${listText(failed)}${before}.`];
  if (report.status === 'review') return [`Then continue with: ${again}`];
  return [...fix, `Completed subtasks are kept. Run the rest again with: ${again}`];
}

/** The command that repeats the run for the given subtasks. */
function runText({ feature, options }: RunReport, ...which: string[]): string {
  return ['volley tasks run', shellQuote(feature), ...which, ...options].join(' ');
}

function leftOutLines({ left_out: left }: RunReport): string[] {
  return ['Not run:', ...left.slice(0, MAX_NAMED).map(({ seq, why }) => `- ${seq}: ${oneLine(why, 200)}`)];
}

function some(paths: readonly string[]): string {
  return listText(paths.slice(0, MAX_NAMED), paths.length);
}
