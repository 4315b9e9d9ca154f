import { findBatch } from '../../batch/context.ts';
import { totalOf } from '../../batch/counts.ts';
import type { RunnableBatch } from '../../batch/forecast/runnable.ts';
import { type Forecast, forecastOf } from '../../batch/forecast/simulation.ts';
import type { LearnedDuration } from '../../batch/run/learned-durations.ts';
import { VolleyError } from '../../core/errors.ts';
import { printableLine } from '../../core/printable-text.ts';
import { countText, spanText } from '../../core/words.ts';
import { collectTasks } from '../input/collect-tasks.ts';
import { LargeTaskFile } from '../input/large-file.ts';
import { locateErrors } from '../input/problem-places.ts';
import { type Colors, createColors, wantsColors } from '../output/colors.ts';
import { EXIT, type Io } from '../output/io.ts';
import { factorText, numberText, percentText } from '../output/numbers.ts';
import { type TableColumn, tableLines } from '../output/text-layout.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';
import {
  numbersOption,
  type SourceOptions,
  sourceOf,
  sourceOptions,
  spanOption,
} from '../program/options.ts';
import { chosenBatch } from '../session/ask.ts';
import { checkSimulated, configuredLimits, decisions, groupData, planCountText } from '../session/dry-run.ts';
import { type Session, withSession } from '../session/session.ts';

interface SimulateOptions extends CommonOptions, SourceOptions {
  readonly batch?: string;
  readonly maxConcurrent?: readonly number[];
  readonly assume?: number;
}

const DEFAULT_CONCURRENCIES = [1, 2, 4, 8, 16, 32, 64];
const DEFAULT_DURATION_MS = 1000;
const MAX_NOTES = 12;
/** How many named resources have a column. */
const MAX_NAMED = 4;
const COLUMNS: readonly TableColumn[] = [
  { title: 'at once', align: 'right' },
  { title: 'takes about', align: 'right' },
  { title: 'between' },
  { title: 'speedup', align: 'right' },
  { title: 'busy', align: 'right' },
];

export const simulateCommand = defineCommand<SimulateOptions>({
  examples: [
    'volley simulate audit.json --max-concurrent 4,8,16',
    'volley simulate --batch audit',
    'volley simulate audit.json --assume 2s --json',
  ],
  declare: (program) =>
    sourceOptions(program)
      .option('--batch <name>', 'simulate this batch instead of a file or --each')
      .option(
        '--max-concurrent <numbers>',
        'how many tasks run at once; comma-separated to compare',
        numbersOption,
      )
      .option(
        '--assume <duration>',
        'the duration of functions that have not run yet, such as 2s (default: 1s)',
        spanOption,
      ),
  run: async ([file], { maxConcurrent, assume: assumedMs = DEFAULT_DURATION_MS, json, ...options }, io) =>
    withSession(options, io, async (session) => {
      const { name, runnable } = await findRunnableTasks(session, file, options, io);
      const { tasks } = runnable;
      if (tasks.length === 0)
        throw new VolleyError('INVALID_VALUE', `Nothing to simulate: "${name}" has no tasks.`);
      const limits = configuredLimits(session.config);
      const count = tasks.reduce((sum, { group }) => sum + (group?.items ?? 1), 0);
      const numbers = maxConcurrent ?? DEFAULT_CONCURRENCIES.filter((number) => number < 2 * count);
      const forecasts = numbers.map((number) =>
        forecastOf(runnable, { maxConcurrent: number, limits, assumedMs }),
      );
      const durations = listDurations(runnable, assumedMs);
      if (json) {
        io.stdout.writeJson({
          ok: true,
          batch: name,
          tasks: tasks.length,
          groups: tasks.flatMap(({ id, group }) =>
            group === undefined ? [] : [{ id, ...groupData(group) }],
          ),
          forecasts: forecasts.map(forecastData),
          durations: durations.map(durationData),
        });
        return EXIT.ok;
      }
      const notes = [...durations.map(durationText), ...decisions(tasks)];
      const max = session.config.limits.maxConcurrency;
      if (numbers.some((number) => number > max))
        notes.push(`To run more than ${max} at once, raise max_concurrency in [limits] of volley.toml.`);
      const title = `${name}: ${planCountText(tasks)}, simulated; nothing was started`;
      const colors = createColors(wantsColors(io.stdout, io.env));
      io.stdout.writeStyled(simulationText(title, forecasts, notes, colors));
      return EXIT.ok;
    }),
});

/** The tasks of a file, or those of a batch that have not run; of a batch that has ended, all. */
export async function findRunnableTasks(
  { executor, store }: Session,
  file: string | undefined,
  options: Pick<SimulateOptions, 'batch' | keyof SourceOptions>,
  io: Io,
): Promise<{ name: string; runnable: RunnableBatch }> {
  const { batch } = options;
  if (file !== undefined || options.each !== undefined) {
    const found = await collectTasks({ ...sourceOf(options), file }, io);
    if (found instanceof LargeTaskFile) {
      checkSimulated(await found.count());
      throw new VolleyError(
        'INVALID_TASK_FILE',
        `${found.name}: it is too large to simulate. Simulate a part of it.`,
        { file: found.name },
      );
    }
    const name = batch ?? found.batch;
    const work = () => executor.runnable(name, found.tasks, { besides: 'none' });
    return { name, runnable: await locateErrors(found, found.tasks, work) };
  }
  const name = await chosenBatch(store, batch);
  const { counts } = await findBatch({ store }, name);
  checkSimulated(counts.open === 0 ? totalOf(counts) : counts.open);
  const besides = counts.open === 0 ? 'all' : 'open';
  return { name, runnable: await executor.runnable(name, [], { besides }) };
}

interface FunctionDuration {
  readonly function: string;
  readonly learned: LearnedDuration | undefined;
  readonly assumedMs: number;
}

function listDurations({ tasks, learned }: RunnableBatch, assumedMs: number): FunctionDuration[] {
  return [...new Set(tasks.map((task) => task.function))].map((name) => ({
    function: name,
    learned: learned.get(name),
    assumedMs,
  }));
}

function durationText({ function: name, learned, assumedMs }: FunctionDuration): string {
  return learned === undefined
    ? `${name}: ${spanText(assumedMs)}, assumed because it has not run here yet (change with --assume)`
    : `${name}: ${spanText(learned.meanMs)} on average, from ${countText(learned.count, 'earlier task')}`;
}

function durationData({ function: name, learned, assumedMs }: FunctionDuration): object {
  return {
    function: name,
    mean_ms: Math.round(learned?.meanMs ?? assumedMs),
    from_tasks: learned?.count ?? 0,
  };
}

function forecastData(forecast: Forecast): object {
  const { maxConcurrent, lowMs, expectedMs, highMs, speedUp, utilisation, resources } = forecast;
  const shares = Object.entries(resources).map(([name, share]) => [name, Math.round(share * 1000) / 1000]);
  return {
    max_concurrent: maxConcurrent,
    low_ms: lowMs,
    expected_ms: expectedMs,
    high_ms: highMs,
    speed_up: Math.round(speedUp * 100) / 100,
    utilisation: Math.round(utilisation * 1000) / 1000,
    ...(shares.length > 0 && { resources: Object.fromEntries(shares) }),
  };
}

function simulationText(
  title: string,
  forecasts: readonly Forecast[],
  notes: readonly string[],
  colors: Colors,
): string {
  const named = [...new Set(forecasts.flatMap(({ resources }) => Object.keys(resources)))].slice(
    0,
    MAX_NAMED,
  );
  const columns = [
    ...COLUMNS,
    ...named.map((name): TableColumn => ({ title: `${name} busy`, align: 'right' })),
  ];
  const rows = forecasts.map(
    ({ maxConcurrent, expectedMs, lowMs, highMs, speedUp, utilisation, resources }) => [
      numberText(maxConcurrent),
      spanText(expectedMs),
      lowMs === highMs ? '' : `${spanText(lowMs)} and ${spanText(highMs)}`,
      `${factorText(speedUp)}×`,
      percentText(utilisation),
      ...named.map((name) => percentText(resources[name] ?? 0)),
    ],
  );
  const shown = notes.slice(0, MAX_NOTES).map((note) => colors.dim(`  ${printableLine(note)}`));
  const more = notes.length - shown.length;
  return [
    colors.bold(printableLine(title)),
    ...tableLines(columns, rows, { colors }).map((line) => `  ${line}`),
    '',
    ...shown,
    ...(more > 0 ? [colors.dim(`  … and ${more} more`)] : []),
    '',
  ].join('\n');
}
