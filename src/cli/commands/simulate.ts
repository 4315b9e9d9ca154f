import { findBatch } from '../../batch/context.ts';
import type { LearnedDuration, RunnableBatch } from '../../batch/forecast/runnable.ts';
import { type Forecast, forecastOf } from '../../batch/forecast/simulation.ts';
import { VolleyError } from '../../core/errors.ts';
import { countText, spanText } from '../../core/words.ts';
import { chosenBatch } from '../ask.ts';
import { type CommonOptions, defineCommand } from '../command.ts';
import { orPlaced } from '../input/placed-answer.ts';
import { EXIT } from '../io.ts';
import { schedulerLimits } from '../limits.ts';
import { numbersOption, sourceOptions, spanOption } from '../options.ts';
import { createColours, wantsColours } from '../output/colours.ts';
import { simulationText } from '../output/simulation-text.ts';
import { collectTasks } from '../run-tasks.ts';
import { type Session, withSession } from '../session.ts';

interface SimulateOptions extends CommonOptions {
  readonly batch?: string;
  readonly each?: readonly string[];
  readonly function?: string;
  readonly params?: string;
  readonly maxConcurrent?: readonly number[];
  readonly assume?: number;
}

const USUAL = [1, 2, 4, 8, 16, 32, 64];
const ASSUMED_MS = 1000;

export const simulateCommand = defineCommand<SimulateOptions>({
  examples: [
    'volley simulate audit.json --max-concurrent 4,8,16',
    'volley simulate --batch audit',
    'volley simulate audit.json --assume 2s --json',
  ],
  declare: (program) =>
    sourceOptions(program)
      .option('--batch <name>', 'the tasks of this batch, instead of a file or --each')
      .option('--max-concurrent <numbers>', 'how many at once, with commas', numbersOption)
      .option('--assume <span>', 'how long unknown functions take, such as 2s (default: 1s)', spanOption),
  run: async ([file], { maxConcurrent, assume: assumedMs = ASSUMED_MS, json, ...options }, io) =>
    withSession(options, io, async (session) => {
      const { name, runnable } = await tasksOf(session, file, options, io);
      const { tasks } = runnable;
      if (tasks.length === 0)
        throw new VolleyError('INVALID_VALUE', `There is nothing to simulate: "${name}" has no tasks.`);
      const limits = schedulerLimits(session.config);
      const numbers = maxConcurrent ?? USUAL.filter((number) => number < 2 * tasks.length);
      const forecasts = numbers.map((number) =>
        forecastOf(runnable, { maxConcurrent: number, limits, assumedMs }),
      );
      if (json) {
        const rows = forecasts.map(forecastData);
        const sources = sourcesOf(runnable, assumedMs).map(sourceData);
        io.stdout.writeJson({
          ok: true,
          batch: name,
          tasks: tasks.length,
          forecasts: rows,
          durations: sources,
        });
        return EXIT.ok;
      }
      const colours = createColours(wantsColours(io.stdout, io.env));
      const notes = sourcesOf(runnable, assumedMs).map(sourceText);
      const most = session.config.limits.maxConcurrency;
      if (numbers.some((number) => number > most))
        notes.push(`More than ${most} at once needs a higher max_concurrency of [limits] in volley.toml.`);
      const title = `${name}: ${countText(tasks.length, 'task')} on paper; nothing was started`;
      io.stdout.writeStyled(simulationText(title, forecasts, notes, colours));
      return EXIT.ok;
    }),
});

async function tasksOf(
  { executor, store }: Session,
  file: string | undefined,
  options: Omit<SimulateOptions, 'maxConcurrent' | 'assume'>,
  io: Parameters<typeof collectTasks>[1],
): Promise<{ name: string; runnable: RunnableBatch }> {
  const { batch, each, function: tool, params } = options;
  if (file !== undefined || each !== undefined) {
    const found = await collectTasks({ file, each, function: tool, params }, io);
    const name = batch ?? found.batch;
    const work = () => executor.runnable(name, found.tasks, { besides: 'none' });
    return { name, runnable: await orPlaced(found, found.tasks, work) };
  }
  const name = await chosenBatch(store, batch);
  const { counts } = await findBatch({ store }, name);
  // What is left of it; of one that has ended, what it would take anew.
  const besides = counts.open === 0 ? 'all' : 'open';
  return { name, runnable: await executor.runnable(name, [], { besides }) };
}

interface Source {
  readonly function: string;
  readonly learned: LearnedDuration | undefined;
  readonly assumedMs: number;
}

function sourcesOf({ tasks, learned }: RunnableBatch, assumedMs: number): Source[] {
  return [...new Set(tasks.map((task) => task.function))].map((name) => ({
    function: name,
    learned: learned.get(name),
    assumedMs,
  }));
}

function sourceText({ function: name, learned, assumedMs }: Source): string {
  return learned === undefined
    ? `${name}: ${spanText(assumedMs)}, assumed, for it has not run here yet (--assume)`
    : `${name}: ${spanText(learned.meanMs)} on average, from ${countText(learned.count, 'earlier task')}`;
}

function sourceData({ function: name, learned, assumedMs }: Source): object {
  return {
    function: name,
    mean_ms: Math.round(learned?.meanMs ?? assumedMs),
    from_tasks: learned?.count ?? 0,
  };
}

function forecastData({ maxConcurrent, lowMs, expectedMs, highMs, speedUp, utilisation }: Forecast): object {
  return {
    max_concurrent: maxConcurrent,
    low_ms: lowMs,
    expected_ms: expectedMs,
    high_ms: highMs,
    speed_up: Math.round(speedUp * 100) / 100,
    utilisation: Math.round(utilisation * 1000) / 1000,
  };
}
