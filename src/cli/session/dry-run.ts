import { findBatch } from '../../batch/context.ts';
import { executionsOf, type RunnableGroup } from '../../batch/forecast/groups.ts';
import type { RunnableBatch } from '../../batch/forecast/runnable.ts';
import type { VolleyConfig } from '../../config/config.ts';
import { namedNeeds } from '../../core/demand.ts';
import { VolleyError } from '../../core/errors.ts';
import { printableLine } from '../../core/printable-text.ts';
import type { SchedulerLimits } from '../../core/scheduler-options.ts';
import { type SimulatedExecution, type SimulationOptions, simulate } from '../../core/simulate.ts';
import type { ExecutionStatus } from '../../core/status.ts';
import { countText, listText, spanText } from '../../core/words.ts';
import { taskLabel } from '../display/view.ts';
import { dependencyDepths, linkDependencies, sortByDependencies } from '../drawing/graph-layout.ts';
import { type Colors, createColors, wantsColors } from '../output/colors.ts';
import { EXIT, type ExitStatus, type Io } from '../output/io.ts';
import { factorText, numberText } from '../output/numbers.ts';
import {
  cutMiddleToWidth,
  cutToWidth,
  type TableColumn,
  tableLines,
  wrapHanging,
} from '../output/text-layout.ts';
import { programName, scopeFlags } from '../output/wording.ts';
import type { CheckedFile } from './add-large.ts';
import type { Session } from './session.ts';
import type { StartOptions } from './start-batch.ts';

const DEFAULT_COLUMNS = 100;
/** Each takes about 3 KB. */
const MAX_SIMULATED = 100_000;
const MAX_SKIPPED = 5;
const MAX_TASKS = 30;
const MAX_WAVES = 12;
const MAX_ON_PATH = 8;
const MAX_NAME_WIDTH = 60;
const MAX_DECISION_WIDTH = 200;
const DEFAULT_DURATION_MS = 1000;
const MIN_SPEEDUP = 1.05;

/** Checks everything and shows what a start would do. Adds and starts nothing. */
export async function dryRun(
  { executor, store, config }: Session,
  batch: string,
  tasks: readonly unknown[],
  { maxConcurrent = 'auto', json = false, config: file }: StartOptions,
  io: Io,
): Promise<ExitStatus> {
  if (tasks.length === 0) await findBatch({ store }, batch);
  checkSimulated(tasks.length + ((await store.batch(batch))?.counts.open ?? 0));
  const runnable = await executor.runnable(batch, tasks);
  const { skipped } = runnable;
  const concurrency = maxConcurrent === 'auto' ? runnable.autoConcurrency : maxConcurrent;
  const plan = planDryRun(
    batch,
    tasksToPlan(runnable),
    Math.min(concurrency, config.limits.maxConcurrency),
    configuredLimits(config),
  );
  if (json) {
    io.stdout.writeJson({ ok: true, ...planData(plan), skipped });
    return EXIT.ok;
  }
  const colors = createColors(wantsColors(io.stdout, io.env));
  io.stdout.writeStyled(dryRunText(plan, { colors, columns: io.stdout.columns || DEFAULT_COLUMNS }));
  if (skipped.length > 0) {
    const names = listText(skipped.slice(0, MAX_SKIPPED), skipped.length);
    const retry = `${programName(io)} retry${scopeFlags({ batch, config: file })}`;
    io.stdout.write(
      `\n${countText(skipped.length, 'task')} would be skipped because a dependency failed: ${names}. To reopen, run: ${retry}\n`,
    );
  }
  return EXIT.ok;
}

/** Throws if there are too many tasks to simulate. */
export function checkSimulated(count: number): void {
  if (count <= MAX_SIMULATED) return;
  throw new VolleyError(
    'INVALID_VALUE',
    `A simulation takes at most ${numberText(MAX_SIMULATED)} tasks; there are ${numberText(count)}. Simulate a file with a part of them, such as the first ${numberText(MAX_SIMULATED)}.`,
    { tasks: count, limit: MAX_SIMULATED },
  );
}

/** Shows what is known of a file with too many tasks to simulate their order. */
export function dryRunLarge(
  batch: string,
  { count, check }: CheckedFile,
  { json = false }: StartOptions,
  io: Io,
): ExitStatus {
  const waves = check.waves();
  if (json) {
    io.stdout.writeJson({ ok: true, batch, tasks: count, waves });
    return EXIT.ok;
  }
  const colors = createColors(wantsColors(io.stdout, io.env));
  const options = { colors, columns: io.stdout.columns || DEFAULT_COLUMNS };
  const name = cutMiddleToWidth(printableLine(batch), Math.max(8, Math.floor(options.columns / 2)));
  const head = [
    `${colors.bold(name)}: ${numberText(count)} tasks, all valid; dry run, nothing was started`,
    colors.dim('  The tasks were checked, but there are too many to simulate their order and duration.'),
  ];
  const blocks = [head, waveLines({ waves }, options)].filter((lines) => lines.length > 0);
  io.stdout.writeStyled(`${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`);
  return EXIT.ok;
}

/** Tasks with what is known of their durations. `assumedMs` counts for functions that never ran. */
export function tasksToPlan({ tasks, learned }: RunnableBatch, assumedMs?: number): TaskToPlan[] {
  return tasks.map(({ id, name, function: tool, dependsOn, group, when, returns, ...terms }) => {
    const expectedMs = learned.get(tool)?.meanMs ?? assumedMs;
    return { id, name, function: tool, dependsOn, expectedMs, group, when, returns, terms };
  });
}

/** The configured limits, for a simulation. */
export function configuredLimits({
  limits: { maxConcurrency, limits, ...rest },
}: VolleyConfig): SchedulerLimits {
  return { ...limits, ...rest };
}

interface TaskToPlan {
  readonly id: string;
  readonly name: string;
  readonly function: string;
  readonly dependsOn: readonly string[];
  /** Undefined if unknown. */
  readonly expectedMs: number | undefined;
  /** What else the scheduler considers. */
  readonly terms?: Pick<
    SimulatedExecution,
    'priority' | 'resources' | 'conflictsWith' | 'onDependencyFailure' | 'on'
  >;
  readonly group?: RunnableGroup | undefined;
  readonly when?: string | undefined;
  readonly returns?: string | undefined;
}

/** What would happen if a batch were started. */
export interface DryRunPlan {
  readonly name: string;
  readonly maxConcurrent: number;
  /** In the order of their starts. A group stands for its items. */
  readonly tasks: readonly ScheduledTask[];
  /** The number of tasks and items in each wave: those without dependencies, those that depend only on these, and so on. */
  readonly waves: readonly number[];
  /** The chain of dependencies that takes longest. However many tasks run at once, the batch takes this long. */
  readonly criticalPath: readonly ScheduledTask[];
  readonly criticalPathMs: number;
  /** From the first start to the last end. */
  readonly expectedMs: number;
  /** The sum of all durations. */
  readonly workMs: number;
  /** Functions with unknown durations. They count as the mean of the others, or as a second. */
  readonly unknown: readonly string[];
}

interface ScheduledTask {
  readonly task: TaskToPlan;
  /** From 1. */
  readonly wave: number;
  readonly startMs: number;
  readonly endMs: number;
  /** Where it starts, if there are workers. */
  readonly worker?: string;
}

/** The executions of tasks, with the task of each by index, and the expected duration of each task. */
export interface ExpectedExecutions {
  readonly executions: readonly SimulatedExecution[];
  readonly places: readonly number[];
  readonly durations: readonly number[];
}

/** Tasks as executions that take as long as expected. A function that never ran counts as the mean of the others. */
export function expectedExecutions(tasks: readonly TaskToPlan[]): ExpectedExecutions {
  const known = tasks.flatMap(({ expectedMs }) => (expectedMs === undefined ? [] : [expectedMs]));
  const mean = known.length === 0 ? DEFAULT_DURATION_MS : sum(known) / known.length;
  const durations = tasks.map(({ expectedMs }) => expectedMs ?? mean);
  const places: number[] = [];
  const executions = tasks.flatMap(({ id, function: toolName, dependsOn, group, terms }, index) => {
    const execution = {
      ...terms,
      id,
      toolName,
      dependsOn,
      durationMs: durations[index]!,
      // A real run knows as much.
      estimatedMs: Math.max(1, durations[index]!),
      timeoutMs: Number.POSITIVE_INFINITY,
    };
    const all = executionsOf(execution, group);
    for (const _ of all) places.push(index);
    return all;
  });
  return { executions, places, durations };
}

/** Simulates a batch with the scheduler that would run it. */
export function planDryRun(
  name: string,
  tasks: readonly TaskToPlan[],
  maxConcurrent: number,
  limits: SchedulerLimits = {},
  options: SimulationOptions = {},
): DryRunPlan {
  const { executions, places, durations } = expectedExecutions(tasks);
  const { schedule, makespanMs, statuses } = simulate(
    executions,
    { ...limits, concurrency: maxConcurrent },
    options,
  );
  checkPlaced(tasks, places, statuses);
  const links = linkDependencies(tasks);
  const depths = dependencyDepths(links);
  const scheduled = new Map<
    number,
    { task: TaskToPlan; wave: number; startMs: number; endMs: number; worker?: string }
  >();
  for (const { index, startMs, endMs, worker } of schedule) {
    const place = places[index]!;
    const known = scheduled.get(place);
    if (known !== undefined) known.endMs = Math.max(known.endMs, endMs);
    else {
      const at = { task: tasks[place]!, wave: depths[place]! + 1, startMs, endMs };
      scheduled.set(place, worker === undefined ? at : { ...at, worker });
    }
  }
  const chained = tasks.map(({ group }, index) => durations[index]! * roundsOf(group));
  const path = longestChain(links.before, sortByDependencies(links), chained);
  const waves: number[] = [];
  for (const [index, depth] of depths.entries())
    waves[depth] = (waves[depth] ?? 0) + (tasks[index]!.group?.items ?? 1);
  return {
    name,
    maxConcurrent,
    tasks: [...scheduled.values()],
    waves,
    criticalPath: path.flatMap((index) => scheduled.get(index) ?? []),
    criticalPathMs: sum(path.map((index) => chained[index]!)),
    expectedMs: makespanMs,
    workMs: sum(tasks.map(({ group }, index) => durations[index]! * (group?.items ?? 1))),
    unknown: [...new Set(tasks.flatMap((task) => (task.expectedMs === undefined ? [task.function] : [])))],
  };
}

/** Throws if some task fits on no worker. */
function checkPlaced(
  tasks: readonly TaskToPlan[],
  places: readonly number[],
  statuses: readonly ExecutionStatus[],
): void {
  // What depends on it is pending, too.
  const open = new Set(statuses.flatMap((status, at) => (status === 'pending' ? [tasks[places[at]!]!] : [])));
  const ids = new Set(Array.from(open, ({ id }) => id));
  const stuck = [...open].find(({ dependsOn }) => dependsOn.every((id) => !ids.has(id)));
  if (stuck === undefined) return;
  const { id } = stuck;
  throw new VolleyError(
    'INVALID_VALUE',
    `Task ${id} fits on none of the workers. Add one that has all it needs, and its labels.`,
    { id },
  );
}

/** How many items of a group must run one after the other, however many tasks run at once. */
function roundsOf(group: RunnableGroup | undefined): number {
  if (group === undefined) return 1;
  const { items, isSequence, maxConcurrent = Number.POSITIVE_INFINITY } = group;
  return isSequence ? items : Math.ceil(items / Math.min(items || 1, maxConcurrent));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** The chain with the greatest sum of durations, by index. */
function longestChain(
  before: readonly (readonly number[])[],
  order: readonly number[],
  durations: readonly number[],
): number[] {
  const ends: number[] = new Array(durations.length).fill(0);
  const previous: number[] = new Array(durations.length).fill(-1);
  let last = -1;
  for (const index of order) {
    for (const earlier of before[index]!) {
      if (previous[index]! < 0 || ends[earlier]! > ends[previous[index]!]!) previous[index] = earlier;
    }
    const from = previous[index]!;
    ends[index] = durations[index]! + (from < 0 ? 0 : ends[from]!);
    if (last < 0 || ends[index]! > ends[last]!) last = index;
  }
  const path: number[] = [];
  for (let index = last; index >= 0; index = previous[index]!) path.push(index);
  return path.reverse();
}

export function planData(plan: DryRunPlan): object {
  return {
    batch: plan.name,
    max_concurrent: plan.maxConcurrent,
    expected_ms: Math.round(plan.expectedMs),
    work_ms: Math.round(plan.workMs),
    unknown_functions: plan.unknown,
    waves: plan.waves,
    critical_path: plan.criticalPath.map(({ task }) => task.id),
    critical_path_ms: Math.round(plan.criticalPathMs),
    order: plan.tasks.map(({ task, wave, startMs, endMs, worker }) => ({
      id: task.id,
      function: task.function,
      wave,
      start_ms: Math.round(startMs),
      end_ms: Math.round(endMs),
      ...(worker !== undefined && { worker }),
      depends_on: task.dependsOn,
      ...(needsOf(task).length > 0 && { resources: Object.fromEntries(needsOf(task)) }),
      ...(task.group !== undefined && groupData(task.group)),
      ...(task.when !== undefined && { when: task.when }),
      ...(task.returns !== undefined && { returns: task.returns }),
    })),
  };
}

/** The named resources that a task needs. */
function needsOf({ terms }: TaskToPlan): [string, number][] {
  return namedNeeds(terms?.resources ?? {});
}

/** The fields of a group in `--json` of a dry run and a simulation. */
export function groupData({ text, items, isExact }: RunnableGroup): object {
  return { runs: text, items, items_known: isExact };
}

interface DryRunTextOptions {
  readonly colors: Colors;
  readonly columns: number;
}

/** How many tasks, how long, in which waves and order, and the critical path. */
export function dryRunText(plan: DryRunPlan, options: DryRunTextOptions): string {
  const blocks = [headLines, waveLines, pathLines, orderLines, decidedLines]
    .map((write) => write(plan, options))
    .filter((lines) => lines.length > 0);
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function headLines(plan: DryRunPlan, { colors, columns }: DryRunTextOptions): string[] {
  const { name, tasks, maxConcurrent, expectedMs, workMs, unknown } = plan;
  const title = colors.bold(cutMiddleToWidth(printableLine(name), Math.max(8, Math.floor(columns / 2))));
  if (tasks.length === 0) return [`${title}: no open tasks, so nothing would run`];
  const count = planCountText(tasks.map(({ task }) => task));
  const lines = [`${title}: ${count}, ${numberText(maxConcurrent)} at once; dry run, nothing was started`];
  if (tasks.every(({ task }) => task.expectedMs === undefined)) {
    lines.push(colors.dim('  Durations are not known yet, so every task counts as 1 s.'));
    return lines;
  }
  const speedup = expectedMs > 0 ? workMs / expectedMs : 1;
  const factor = speedup < MIN_SPEEDUP ? '' : `, ${factorText(speedup)}× the speed of one task at a time`;
  lines.push(
    `  takes about ${colors.cyan(spanText(expectedMs))} ${colors.dim(`for ${spanText(workMs)} of work${factor}`)}`,
  );
  if (unknown.length > 0) {
    const functions = listText(
      unknown.slice(0, 3).map((one) => printableLine(one)),
      unknown.length,
    );
    lines.push(
      colors.dim(`  The duration of ${functions} is not known yet, so the mean of the others is used.`),
    );
  }
  return lines;
}

function waveLines({ waves }: Pick<DryRunPlan, 'waves'>, { colors }: DryRunTextOptions): string[] {
  if (waves.length < 2) return [];
  const shown = waves.slice(0, MAX_WAVES).map((count) => numberText(count));
  const more = waves.length > MAX_WAVES ? ' → …' : '';
  return [
    `${colors.bold('Waves')} ${colors.dim(`(${numberText(waves.length)})`)}`,
    `  ${shown.join(' → ')}${more}`,
  ];
}

function pathLines(
  { criticalPath, criticalPathMs, waves }: DryRunPlan,
  { colors }: DryRunTextOptions,
): string[] {
  if (waves.length < 2) return [];
  const names = criticalPath.map(
    ({ task, startMs, endMs }) =>
      `  ${cutMiddleToWidth(printableLine(taskLabel(task)), MAX_NAME_WIDTH)} ${colors.dim(spanText(endMs - startMs))}`,
  );
  const ends = MAX_ON_PATH / 2;
  const lines =
    names.length <= MAX_ON_PATH
      ? names
      : [
          ...names.slice(0, ends),
          colors.dim(`  … ${countText(names.length - MAX_ON_PATH, 'more task')} …`),
          ...names.slice(-ends),
        ];
  const length = colors.dim(`(${countText(criticalPath.length, 'task')}, ${spanText(criticalPathMs)})`);
  return [`${colors.bold('Critical path')} ${length}`, ...lines];
}

function orderLines({ tasks, waves }: DryRunPlan, { colors, columns }: DryRunTextOptions): string[] {
  if (tasks.length === 0) return [];
  const hasWaves = waves.length > 1;
  const shown = tasks.slice(0, MAX_TASKS);
  const labels = new Map(tasks.map(({ task }) => [task.id, taskLabel(task)]));
  const table: (TableColumn & { cell(one: ScheduledTask): string })[] = [
    { title: 'starts', align: 'right', cell: ({ startMs }) => (startMs === 0 ? '0' : spanText(startMs)) },
    ...(hasWaves
      ? [{ title: 'wave', align: 'right' as const, cell: ({ wave }: ScheduledTask) => numberText(wave) }]
      : []),
    { title: 'task', cell: ({ task }) => taskLabel(task) },
    { title: 'function', color: colors.dim, cell: ({ task }) => functionText(task) },
  ];
  if (shown.some(({ task }) => needsOf(task).length > 0))
    table.push({
      title: 'needs',
      color: colors.dim,
      cell: ({ task }) =>
        needsOf(task)
          .map(([name, amount]) => `${amount} ${name}`)
          .join(', '),
    });
  if (hasWaves)
    table.push({
      title: 'depends on',
      color: colors.dim,
      cell: ({ task: { dependsOn } }) =>
        listText(
          dependsOn.slice(0, 3).map((id) => labels.get(id) ?? id),
          dependsOn.length,
        ),
    });
  const rows = shown.map((one) => table.map(({ cell }) => cell(one)));
  const lines = tableLines(table, rows, { colors, width: Math.max(20, columns - 2) });
  const more = tasks.length - shown.length;
  return [
    colors.bold('Order'),
    ...lines.map((line) => `  ${line}`),
    ...(more > 0 ? [colors.dim(`  … and ${numberText(more)} more`)] : []),
  ];
}

/** `read_file`, and of a group how often: `read_file × 30`. */
function functionText({ function: tool, group }: TaskToPlan): string {
  if (group === undefined) return tool;
  return `${tool} × ${group.isExact ? '' : 'about '}${numberText(group.items)}`;
}

/** `8 tasks`, or with groups `8 tasks with about 42 items`. */
export function planCountText(tasks: readonly { readonly group?: RunnableGroup | undefined }[]): string {
  const count = `${numberText(tasks.length)} ${tasks.length === 1 ? 'task' : 'tasks'}`;
  const groups = tasks.flatMap(({ group }) => group ?? []);
  if (groups.length === 0) return count;
  const items = sum(groups.map((group) => group.items));
  const about = groups.every(({ isExact }) => isExact) ? '' : 'about ';
  return `${count} with ${about}${numberText(items)} ${items === 1 ? 'item' : 'items'}`;
}

/**
 * What is computed while the batch runs, and what it counts as: `read: once for each item of list.entries (counts as 10
 * items)`.
 */
export function decisions(tasks: readonly Pick<TaskToPlan, 'id' | 'group' | 'when' | 'returns'>[]): string[] {
  return tasks.flatMap(({ id, group, when, returns }) => [
    ...(when === undefined ? [] : [`${id}: only if ${when} (counts as if it ran)`]),
    ...(group === undefined ? [] : [`${id}: ${group.text}${itemsText(group)}`]),
    ...(returns === undefined ? [] : [`${id}: ${returns}`]),
  ]);
}

function itemsText({ text, items, isExact, isSequence }: RunnableGroup): string {
  const noun = isSequence ? 'round' : 'item';
  const count = `${numberText(items)} ${noun}${items === 1 ? '' : 's'}`;
  if (!isExact) return ` (not known yet, counts as ${count})`;
  return text.endsWith(count) || isSequence ? '' : ` (${count})`;
}

function decidedLines({ tasks }: DryRunPlan, { colors, columns }: DryRunTextOptions): string[] {
  const all = decisions(tasks.map(({ task }) => task));
  if (all.length === 0) return [];
  const lines = all.slice(0, MAX_TASKS).map((text) => {
    const short = cutToWidth(printableLine(text), MAX_DECISION_WIDTH);
    return `  ${wrapHanging(short, columns, 4)}`;
  });
  const more = all.length - lines.length;
  return [
    colors.bold('Decided while it runs'),
    ...lines,
    ...(more > 0 ? [colors.dim(`  … and ${numberText(more)} more`)] : []),
  ];
}
