import type { TaskBudget } from '../../../config/config.ts';
import { VolleyError } from '../../../core/errors.ts';
import { taskPlaceOf } from '../../../tasks/files/task-place.ts';
import type { RunReport } from '../../../tasks/run/report.ts';
import type { RunRequest } from '../../../tasks/run/request.ts';
import { EXIT, type ExitStatus } from '../../output/io.ts';
import { type CommonOptions, defineCommand } from '../../program/command.ts';
import { listOption, numberOption } from '../../program/options.ts';
import { FEATURE_ARGUMENT, say } from './support.ts';

interface RunOptions extends CommonOptions {
  readonly agent?: string;
  readonly subtasks?: readonly string[];
  readonly batch?: number;
  readonly session?: string;
  readonly waves?: boolean;
  readonly serialize?: boolean;
  readonly worktrees?: boolean;
  readonly maxConcurrent?: number;
  readonly maxRetries?: number;
  readonly timeout?: number;
  readonly stall?: number;
  readonly budgetTurns?: number;
  readonly budgetTokens?: number;
  readonly budgetCost?: number;
  readonly dryRun?: boolean;
}

const A_WEEK_SECONDS = 604_800;

export const runCommand = defineCommand<RunOptions>({
  examples: [
    'volley tasks run auth-system --agent codex --max-concurrent 4 --worktrees',
    'volley tasks run auth-system --subtasks 01,02,03 --session .tmp/sessions/auth/context.md',
    'volley tasks run auth-system --batch 2',
    'volley tasks run auth-system --dry-run',
  ],
  declare: (program) =>
    program
      .argument(...FEATURE_ARGUMENT)
      .option(
        '--agent <name>',
        'the agent for all: claude, codex, opencode, gemini, qwen, or one of volley.toml',
      )
      .option('--subtasks <list>', 'these only, at once: 01,02,03', listOption)
      .option('--batch <number>', 'those of this batch only, at once', numberOption)
      .option('--session <path>', 'a file with what agents should know of the session')
      .option('--waves', 'begin a wave only when the one before it is done')
      .option('--serialize', 'run those one after another that may write to the same files')
      .option('--worktrees', 'each agent in a git worktree of its own')
      .option('--no-worktrees', 'all in the project, whatever volley.toml says')
      .option('--max-concurrent <number>', 'agents at once', numberOption)
      .option('--max-retries <number>', 'attempts after the first', numberOption)
      .option('--timeout <seconds>', 'for each attempt', numberOption)
      .option('--stall <seconds>', 'without output until an agent is taken to be stuck', numberOption)
      .option('--budget-turns <number>', 'turns for each subtask', numberOption)
      .option('--budget-tokens <number>', 'tokens for each subtask', numberOption)
      .option('--budget-cost <dollars>', 'US dollars for each subtask', numberOption)
      .option('--dry-run', 'check everything and show what would run; nothing is started'),
  run: async ([feature], options, io) => {
    const { folder } = taskPlaceOf(io.cwd, io.env);
    const request = requestOf(feature!, options);
    const place = { ...io, cwd: folder.project };
    // What runs agents is loaded by those who run some.
    const { dryRunFeature, runInView } = await import('./run-feature.ts');
    if (options.dryRun) return dryRunFeature(folder, request, options, place);
    const { report, text, wasInterrupted } = await runInView(folder, request, options, place);
    const status = exitOf(report, wasInterrupted);
    return say(io, options, { ...report }, text, status);
  },
});

function exitOf({ status }: RunReport, wasInterrupted: boolean): ExitStatus {
  if (wasInterrupted) return EXIT.interrupted;
  return status === 'completed' || status === 'nothing' ? EXIT.ok : EXIT.failed;
}

function requestOf(feature: string, options: RunOptions): RunRequest {
  const { agent, subtasks, session, waves, serialize, worktrees } = options;
  const budget: TaskBudget = {
    ...whole('turns', options.budgetTurns, '--budget-turns', 1, 1_000_000),
    ...whole('tokens', options.budgetTokens, '--budget-tokens', 1, 1e12),
    ...(options.budgetCost !== undefined && {
      cost: positive('--budget-cost', options.budgetCost, 1_000_000),
    }),
  };
  return {
    feature,
    isPersonal: true,
    budget,
    ...(agent !== undefined && { agent }),
    ...(subtasks !== undefined && { subtasks }),
    ...(session !== undefined && { session }),
    ...(waves !== undefined && { waves }),
    ...(serialize !== undefined && { serialize }),
    ...(worktrees !== undefined && { worktrees }),
    ...whole('batch', options.batch, '--batch', 1, 10_000),
    ...whole('maxConcurrent', options.maxConcurrent, '--max-concurrent', 1, 1000),
    ...whole('maxRetries', options.maxRetries, '--max-retries', 0, 100),
    ...milliseconds('timeoutMs', options.timeout, '--timeout'),
    ...milliseconds('stallMs', options.stall, '--stall'),
  };
}

function whole<K extends string>(
  key: K,
  value: number | undefined,
  option: string,
  min: number,
  max: number,
): { [P in K]?: number } {
  if (value === undefined) return {};
  if (!Number.isInteger(value) || value < min || value > max)
    throw new VolleyError(
      'INVALID_VALUE',
      `${option} must be a whole number from ${min} to ${max}, but it is ${value}.`,
    );
  return { [key]: value } as { [P in K]?: number };
}

function milliseconds<K extends string>(
  key: K,
  seconds: number | undefined,
  option: string,
): { [P in K]?: number } {
  if (seconds === undefined) return {};
  return { [key]: positive(option, seconds, A_WEEK_SECONDS) * 1000 } as { [P in K]?: number };
}

function positive(option: string, value: number, max: number): number {
  if (value > 0 && value <= max) return value;
  throw new VolleyError(
    'INVALID_VALUE',
    `${option} must be more than 0 and at most ${max}, but it is ${value}.`,
  );
}
