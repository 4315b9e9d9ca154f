import { printAnswer } from '../ask.ts';
import { defineCommand } from '../command.ts';
import type { Io } from '../io.ts';
import { concurrencyOption, listOption, numberOption } from '../options.ts';
import { collectTasks } from '../run-tasks.ts';
import { type Session, withSession } from '../session.ts';
import { type StartOptions, startBatch } from '../start-batch.ts';

interface RunOptions extends StartOptions {
  readonly batch?: string;
  readonly each?: readonly string[];
  readonly function?: string;
  readonly params?: string;
}

export const runCommand = defineCommand<RunOptions>({
  name: 'run',
  summary: 'add the tasks of a file, or one for each of many files, and run them; the same command resumes',
  examples: [
    'volley run audit.json',
    `volley run --each 'src/**/*.ts' --function code_analyzer_tool --params '{"action":"analyze","file_path":"{}"}'`,
    'generate-tasks | volley run - --batch audit --max-concurrent 5',
  ],
  declare: (program) =>
    program
      .argument('[file]', 'JSON, JSON Lines, YAML or TOML; - for standard input')
      .option('--batch <name>', 'the batch (default: the name of the file)')
      .option('--each <globs>', 'one task for each file that matches', listOption)
      .option('--function <name>', 'with --each: the tool')
      .option('--params <json>', 'with --each: its arguments; {} stands for the path')
      .option('--max-concurrent <number>', 'tasks at once, or "auto" (the default)', concurrencyOption)
      .option('--timeout <seconds>', 'for the whole batch', numberOption)
      .option('--fail-fast', 'the first failure cancels the rest')
      .option('--verbose', 'also show what completes')
      .option('--gantt <file>', 'draw what ran when, as SVG')
      .option('--graph <file>', 'draw what waited for what, as .svg, .mmd or .dot')
      .option('--trace <file>', 'write a trace for chrome://tracing or Perfetto'),
  run: async ([file], options, io) => {
    const { each, function: tool, params } = options;
    const found = await collectTasks({ file, each, function: tool, params }, io);
    const batch = options.batch ?? found.batch;
    return withSession(options, io, async (session) => {
      const added = await addNew(session, batch, found.tasks, options, io);
      return added ?? startBatch(session, batch, { ...fromFile(found.settings), ...options }, io);
    });
  },
});

/** Adds the tasks that the batch does not have yet. Gives an exit status if that was refused. */
async function addNew(
  { executor, store }: Session,
  batch: string,
  tasks: readonly Readonly<Record<string, unknown>>[],
  options: RunOptions,
  io: Io,
) {
  const fresh = tasks.filter(({ id }) => typeof id !== 'string' || store.task(batch, id) === undefined);
  if (fresh.length === 0 && tasks.length > 0) return undefined;
  const answer = await executor.handle({ action: 'add_batch', batch, tasks: fresh });
  return answer.ok ? undefined : printAnswer(answer, options, io);
}

/** What the file says of the run; the command line goes before it. */
function fromFile({ max_concurrent, timeout, fail_fast }: Readonly<Record<string, unknown>>): StartOptions {
  return {
    ...(max_concurrent !== undefined && { maxConcurrent: max_concurrent as number }),
    ...(timeout !== undefined && { timeout: timeout as number }),
    ...(fail_fast !== undefined && { failFast: fail_fast as boolean }),
  };
}
