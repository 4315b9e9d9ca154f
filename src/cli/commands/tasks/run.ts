import { VolleyError } from '../../../core/errors.ts';
import { locateTasks } from '../../../tasks/files/task-folder.ts';
import type { RunReport } from '../../../tasks/run/report.ts';
import { notRunYet, readReport } from '../../../tasks/run/report-file.ts';
import { reportText } from '../../../tasks/run/report-text.ts';
import type { RunRequest } from '../../../tasks/run/run-request.ts';
import { EXIT, type ExitStatus } from '../../output/io.ts';
import { type CommonOptions, defineCommand } from '../../program/command.ts';
import { listOption, numberOption } from '../../program/options.ts';
import { FEATURE_ARGUMENT, openFolder, say } from './support.ts';

interface RunOptions extends CommonOptions {
  readonly agent?: string;
  readonly subtasks?: readonly string[];
  readonly batch?: number;
  readonly session?: string;
  readonly waves?: boolean;
  readonly serialize?: boolean;
  readonly worktrees?: boolean;
  readonly review?: boolean;
  readonly maxUnreviewed?: number;
  readonly branch?: string;
  readonly pr?: boolean;
  readonly maxConcurrent?: number;
  readonly maxRetries?: number;
  readonly timeout?: number;
  readonly stall?: number;
  readonly budgetTurns?: number;
  readonly budgetTokens?: number;
  readonly budgetCost?: number;
  readonly dryRun?: boolean;
  readonly on?: string;
}

/** A week. */
const MAX_SECONDS = 604_800;

export const runFeatureCommand = defineCommand<RunOptions>({
  examples: [
    'volley tasks run auth-system --agent codex --max-concurrent 4 --worktrees',
    'volley tasks run auth-system --subtasks 01,02,03 --session .tmp/sessions/auth/context.md',
    'volley tasks run auth-system --batch 2',
    'volley tasks run auth-system --review',
    'volley tasks run auth-system --on redis://queue.example:6379',
    'volley tasks run auth-system --branch auth --pr',
    'volley tasks run auth-system --dry-run',
  ],
  declare: (program) =>
    program
      .argument(...FEATURE_ARGUMENT)
      .option(
        '--agent <name>',
        'the agent for all subtasks: claude, codex, opencode, gemini, qwen, or one from volley.toml',
      )
      .option('--subtasks <list>', 'run only these subtasks, all at once, such as 01,02,03', listOption)
      .option('--batch <number>', 'run only the batch with this number, all at once', numberOption)
      .option('--session <path>', 'a file with context for all agents')
      .option('--waves', 'start a wave only when the previous one is done')
      .option('--serialize', 'run subtasks that may write the same files one after another')
      .option('--worktrees', 'run each agent in its own git worktree')
      .option('--no-worktrees', 'run all agents in the project folder, even if volley.toml says otherwise')
      .option('--on <url>', 'run the agents on the workers of the cluster at this Redis server')
      .option('--review', 'let verified work wait for approve or reject before it is merged')
      .option('--no-review', 'merge verified work, whatever volley.toml says')
      .option('--max-unreviewed <number>', 'maximum subtasks in work or waiting for review', numberOption)
      .option('--branch <name>', 'merge into this branch, with a commit per subtask, not into the checkout')
      .option('--pr', 'with --branch: push it and open a pull request with gh when all is completed')
      .option('--max-concurrent <number>', 'maximum agents at once', numberOption)
      .option('--max-retries <number>', 'attempts after the first', numberOption)
      .option('--timeout <seconds>', 'time limit for each attempt', numberOption)
      .option('--stall <seconds>', 'how long an agent may be silent before it counts as stuck', numberOption)
      .option('--budget-turns <number>', 'maximum turns per subtask', numberOption)
      .option('--budget-tokens <number>', 'maximum tokens per subtask', numberOption)
      .option('--budget-cost <dollars>', 'maximum cost per subtask, in US dollars', numberOption)
      .option('--dry-run', 'check everything and show what would run, without starting it'),
  run: async ([feature], options, io) => {
    const { folder } = locateTasks(io.cwd, io.env);
    const request = requestOf(feature!, options);
    const place = { ...io, cwd: folder.project };
    // Loaded on demand: running agents needs most of the program.
    const { dryRunFeature, runInView } = await import('./run-feature.ts');
    if (options.dryRun) return dryRunFeature(folder, request, options, place);
    if (options.pr && options.branch === undefined)
      throw new VolleyError('INVALID_VALUE', '--pr requires --branch.');
    const { createPullRequest, requireGh } = await import('../../../tasks/run/pull-request.ts');
    if (options.pr) await requireGh(io.env);
    const { report, text, wasInterrupted } = await runInView(folder, request, options, place);
    const status = exitOf(report, wasInterrupted);
    if (!options.pr || wasInterrupted) return say(io, options, { ...report }, text, status);
    const pr = await createPullRequest(folder.project, report, io.env);
    const data = { ...report, pull_request: pr.text };
    return say(io, options, data, `${text}\n${pr.text}`, pr.ok ? status : EXIT.failed);
  },
});

function exitOf({ status, tampering }: RunReport, wasInterrupted: boolean): ExitStatus {
  if (wasInterrupted) return EXIT.interrupted;
  if (tampering.length > 0) return EXIT.failed;
  return ['completed', 'review', 'nothing'].includes(status) ? EXIT.ok : EXIT.failed;
}

function requestOf(feature: string, options: RunOptions): RunRequest {
  const { agent, subtasks, session, waves, serialize, worktrees, review, branch } = options;
  const turns = whole('--budget-turns', options.budgetTurns, 1, 1_000_000);
  const tokens = whole('--budget-tokens', options.budgetTokens, 1, 1e12);
  const cost = positive('--budget-cost', options.budgetCost, 1_000_000);
  const timeout = positive('--timeout', options.timeout, MAX_SECONDS);
  const stall = positive('--stall', options.stall, MAX_SECONDS);
  return {
    ...{ feature, agent, subtasks, session, waves, serialize, worktrees, review, branch },
    isPersonal: true,
    ...(options.on !== undefined && { workers: true }),
    budget: {
      ...(turns !== undefined && { turns }),
      ...(tokens !== undefined && { tokens }),
      ...(cost !== undefined && { cost }),
    },
    batch: whole('--batch', options.batch, 1, 10_000),
    maxUnreviewed: whole('--max-unreviewed', options.maxUnreviewed, 1, 1000),
    maxConcurrent: whole('--max-concurrent', options.maxConcurrent, 1, 1000),
    maxRetries: whole('--max-retries', options.maxRetries, 0, 100),
    timeoutMs: timeout && timeout * 1000,
    stallMs: stall && stall * 1000,
  };
}

function whole(option: string, value: number | undefined, min: number, max: number): number | undefined {
  if (value === undefined || (Number.isInteger(value) && value >= min && value <= max)) return value;
  const message = `${option} must be a whole number from ${min} to ${max}, not ${value}.`;
  throw new VolleyError('INVALID_VALUE', message);
}

function positive(option: string, value: number | undefined, max: number): number | undefined {
  if (value === undefined || (value > 0 && value <= max)) return value;
  throw new VolleyError(
    'INVALID_VALUE',
    `${option} must be greater than 0 and at most ${max}, not ${value}.`,
  );
}

export const reportCommand = defineCommand({
  examples: ['volley tasks report auth-system', 'volley tasks report auth-system --json'],
  declare: (program) => program.argument(...FEATURE_ARGUMENT),
  run: async ([name], options, io) => {
    const folder = openFolder(io);
    const { name: feature } = await folder.read(name!);
    const report = await readReport(folder, feature);
    if (report === undefined) throw notRunYet(feature);
    return say(io, options, { ...report }, reportText(report));
  },
});
