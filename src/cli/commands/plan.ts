import { type Bottlenecks, bottlenecksOf, type Gain } from '../../batch/forecast/bottlenecks.ts';
import { VolleyError } from '../../core/errors.ts';
import { WorkerPlacement, type WorkerSpec } from '../../core/placement.ts';
import { printableLine } from '../../core/printable-text.ts';
import { RESOURCE_TABLE } from '../../core/resource-table.ts';
import type { LimitBound } from '../../core/schedule-bounds.ts';
import { listText, roundedText, spanText } from '../../core/words.ts';
import { taskLabel } from '../display/view.ts';
import { type GanttRow, ganttLines } from '../drawing/gantt-text.ts';
import { type Colors, createColors, wantsColors } from '../output/colors.ts';
import { EXIT } from '../output/io.ts';
import { factorText, numberText } from '../output/numbers.ts';
import { type TableColumn, tableLines } from '../output/text-layout.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';
import { numberOption, type SourceOptions, sourceOptions, spanOption } from '../program/options.ts';
import {
  configuredLimits,
  type DryRunPlan,
  expectedExecutions,
  planCountText,
  planData,
  planDryRun,
  tasksToPlan,
} from '../session/dry-run.ts';
import { workersToPlanFor } from '../session/plan-workers.ts';
import { withSession } from '../session/session.ts';
import { findRunnableTasks } from './simulate.ts';

interface PlanOptions extends CommonOptions, SourceOptions {
  readonly batch?: string;
  readonly maxConcurrent?: number;
  readonly assume?: number;
  readonly on?: string;
  readonly workers?: string;
}

const DEFAULT_COLUMNS = 100;
const MAX_ROWS = 40;
const MAX_ON_PATH = 4;
const MAX_LIMITS = 6;
/** A smaller share of the whole is no gain. */
const MIN_GAIN = 0.002;

export const planCommand = defineCommand<PlanOptions>({
  examples: [
    'volley plan audit.json',
    'volley plan audit.json --max-concurrent 4',
    'volley plan --batch audit --json',
    "volley plan audit.json --workers '4x cpu=8,memory_mb=16000; cpu=32,gpu=1'",
  ],
  declare: (program) =>
    sourceOptions(program)
      .option('--batch <name>', 'plan this batch instead of a file or --each')
      .option('--max-concurrent <number>', 'how many tasks run at once', numberOption)
      .option(
        '--assume <duration>',
        'the duration of functions that have not run yet, such as 2s',
        spanOption,
      )
      .option('--on <url>', 'plan for the workers of the cluster at this Redis URL')
      .option('--workers <list>', 'plan for these workers; a list or a file with one'),
  run: async ([file], { maxConcurrent, assume, json, ...options }, io) =>
    withSession(options, io, async (session) => {
      const { config } = session;
      const workers = await workersToPlanFor(config, options, io);
      // The limits of this machine do not count for what runs on workers.
      if (workers !== undefined) (await session.coordinator()).engine.usePlacement(new WorkerPlacement());
      const { name, runnable } = await findRunnableTasks(session, file, options, io);
      if (runnable.tasks.length === 0)
        throw new VolleyError('INVALID_VALUE', `Nothing to plan: "${name}" has no tasks.`);
      const given = checkSlots(maxConcurrent);
      const concurrency =
        workers === undefined
          ? Math.min(given ?? runnable.autoConcurrency, config.limits.maxConcurrency)
          : Math.min(given ?? Number.POSITIVE_INFINITY, slotsOf(workers, runnable.tasks.length));
      const limits = { ...configuredLimits(config), concurrency };
      const onWorkers = workers !== undefined && {
        workers,
        placement: config.cluster.placement,
        group: { maxConcurrency: concurrency },
      };
      const tasks = tasksToPlan(runnable, assume);
      const plan = planDryRun(name, tasks, concurrency, limits, { ...onWorkers });
      const { executions, places } = expectedExecutions(tasks);
      const bottlenecks = bottlenecksOf(executions, limits, { ...onWorkers });
      const path = [...new Set(bottlenecks.path.map((index) => places[index]!))].map(
        (place) => tasks[place]!,
      );
      if (json) {
        const data = { ...planData(plan), ...bottleneckData(bottlenecks, path) };
        io.stdout.writeJson({ ok: true, ...data });
        return EXIT.ok;
      }
      const colors = createColors(wantsColors(io.stdout, io.env));
      const columns = io.stdout.columns || DEFAULT_COLUMNS;
      io.stdout.writeStyled(planText(plan, bottlenecks, path.map(taskLabel), { colors, columns }));
      return EXIT.ok;
    }),
});

/** How many calls the workers run at once, at most one for each task. */
function slotsOf(workers: readonly WorkerSpec[], tasks: number): number {
  const slots = workers.reduce(
    (sum, { capacity }) => sum + (capacity?.concurrency ?? Number.POSITIVE_INFINITY),
    0,
  );
  return Math.max(1, Math.min(slots, tasks));
}

function checkSlots(slots: number | undefined): number | undefined {
  if (slots === undefined || (Number.isInteger(slots) && slots >= 1 && slots <= 10_000)) return slots;
  throw new VolleyError('INVALID_VALUE', '--max-concurrent must be an integer from 1 to 10000.');
}

function bottleneckData(bottlenecks: Bottlenecks, path: readonly { readonly id: string }[]): object {
  const { boundMs, pathMs, limits, gains, unplannedMs } = bottlenecks;
  const { kind, name } = tightest(bottlenecks);
  return {
    unplanned_ms: unplannedMs,
    bound_ms: boundMs,
    limited_by: { kind, name },
    bounds: [
      { kind: 'path', name: '', bound_ms: pathMs, tasks: path.map(({ id }) => id) },
      ...limits.map(({ kind, name, ms, capacity }) => ({ kind, name, bound_ms: ms, capacity })),
    ],
    gains: gains.map(({ limit, more, expectedMs }) => ({
      kind: limit.kind,
      name: limit.name,
      more,
      expected_ms: expectedMs,
      gain_ms: Math.max(0, bottlenecks.expectedMs - expectedMs),
    })),
  };
}

/** What sets the bound. */
function tightest({ boundMs, pathMs, limits }: Bottlenecks): {
  readonly kind: string;
  readonly name: string;
} {
  const limit = pathMs >= boundMs ? undefined : limits[0];
  return limit ?? { kind: 'path', name: '' };
}

interface PlanTextOptions {
  readonly colors: Colors;
  readonly columns: number;
}

function planText(
  plan: DryRunPlan,
  bottlenecks: Bottlenecks,
  path: readonly string[],
  options: PlanTextOptions,
): string {
  const blocks = [
    headLines(plan, bottlenecks, options),
    chartLines(plan, options),
    limitLines(bottlenecks, path, options),
    gainLines(bottlenecks, options),
  ].filter((lines) => lines.length > 0);
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function headLines(plan: DryRunPlan, bottlenecks: Bottlenecks, { colors }: PlanTextOptions): string[] {
  const { name, tasks, maxConcurrent, expectedMs, workMs, unknown } = plan;
  const { boundMs, unplannedMs } = bottlenecks;
  const count = planCountText(tasks.map(({ task }) => task));
  const saved = unplannedMs - expectedMs;
  const factor = expectedMs > 0 ? workMs / expectedMs : 1;
  const lines = [
    `${colors.bold(printableLine(name))}: ${count}, ${numberText(maxConcurrent)} at once; planned, nothing was started`,
    `  takes about ${colors.cyan(spanText(expectedMs))} ${colors.dim(`for ${spanText(workMs)} of work, ${factorText(factor)}× the speed of one task at a time`)}`,
  ];
  if (saved > 0)
    lines.push(
      `  ${colors.dim(`${spanText(saved)} less than in order of urgency (${spanText(unplannedMs)})`)}`,
    );
  const above = boundMs > 0 ? expectedMs / boundMs - 1 : 0;
  const distance =
    above < 0.001 ? 'the plan achieves that' : `the plan is ${roundedText(100 * above)}% above`;
  lines.push(`  no schedule can be shorter than ${spanText(boundMs)}; ${distance}`);
  if (unknown.length > 0) {
    const functions = listText(unknown.slice(0, 3).map(printableLine), unknown.length);
    lines.push(
      colors.dim(`  The duration of ${functions} is not known yet; change the guess with --assume.`),
    );
  }
  return lines;
}

function chartLines({ tasks, expectedMs, criticalPath }: DryRunPlan, options: PlanTextOptions): string[] {
  const critical = new Set(criticalPath.map(({ task }) => task.id));
  const byWorker = tasks.slice(0, MAX_ROWS).sort((a, b) => compareNames(a.worker ?? '', b.worker ?? ''));
  const rows = byWorker.map(
    ({ task, startMs, endMs }): GanttRow => ({
      label: printableLine(taskLabel(task)),
      startMs,
      endMs,
      isCritical: critical.has(task.id),
    }),
  );
  const { colors, columns } = options;
  const more = tasks.length - rows.length;
  const [scale, ...bars] = ganttLines(rows, expectedMs, { colors, columns: columns - 2 });
  return [
    `  ${scale}`,
    ...bars.flatMap((line, index) => {
      const { worker } = byWorker[index]!;
      const isFirst = worker !== undefined && worker !== byWorker[index - 1]?.worker;
      return [...(isFirst ? [`  ${colors.bold(printableLine(worker))}`] : []), `  ${line}`];
    }),
    ...(more > 0 ? [colors.dim(`  … and ${numberText(more)} more`)] : []),
  ];
}

const LIMIT_COLUMNS: readonly TableColumn[] = [
  { title: 'limit' },
  { title: 'at least', align: 'right' },
  { title: '' },
];

function limitLines(
  { pathMs, limits }: Bottlenecks,
  path: readonly string[],
  { colors, columns }: PlanTextOptions,
): string[] {
  const shown = path.slice(0, MAX_ON_PATH).map(printableLine).join(' → ');
  const more = path.length > MAX_ON_PATH ? ` → … (${path.length} tasks)` : '';
  const rows = [
    { ms: pathMs, cells: ['critical path', spanText(pathMs), `${shown}${more}`] },
    ...limits
      .slice(0, MAX_LIMITS)
      .map((limit) => ({ ms: limit.ms, cells: [limitName(limit), spanText(limit.ms), capacityText(limit)] })),
  ].sort((a, b) => b.ms - a.ms);
  const table = tableLines(
    LIMIT_COLUMNS,
    rows.map(({ cells }) => cells),
    { colors, width: Math.max(20, columns - 2) },
  );
  return [colors.bold('What limits it'), ...table.map((line) => `  ${line}`)];
}

const GAIN_COLUMNS: readonly TableColumn[] = [
  { title: 'with' },
  { title: 'takes about', align: 'right' },
  { title: 'gain', align: 'right' },
];

function gainLines({ gains, expectedMs }: Bottlenecks, { colors, columns }: PlanTextOptions): string[] {
  if (gains.length === 0) return [];
  const rows = gains.map((gain) => {
    const gainMs = expectedMs - gain.expectedMs;
    const isNotable = gainMs > MIN_GAIN * expectedMs;
    return [moreText(gain), spanText(gain.expectedMs), isNotable ? spanText(gainMs) : 'none'];
  });
  const table = tableLines(GAIN_COLUMNS, rows, { colors, width: Math.max(20, columns - 2) });
  return [colors.bold('Gain from raising a limit'), ...table.map((line) => `  ${line}`)];
}

const compareNames = new Intl.Collator('en', { numeric: true }).compare;

function limitName({ kind, name, leastUse }: LimitBound): string {
  if (kind === 'largest') return `tasks with ${roundedText(leastUse)} ${unitOf(name)} or more`;
  if (kind === 'resource') return name === 'concurrency' ? 'at once' : unitOf(name);
  return kind === 'conflict' ? `conflict with ${name}` : `${kind} ${name}`;
}

function capacityText({ kind, capacity }: LimitBound): string {
  if (kind === 'lock' || kind === 'conflict') return 'one after the other';
  if (kind === 'largest') return `${roundedText(capacity)} fit at once on all workers`;
  return `${roundedText(capacity)} in all`;
}

function moreText({ limit, more }: Gain): string {
  const { kind, name } = limit;
  if (kind === 'worker') return `1 more worker like ${printableLine(name)}`;
  if (kind === 'slots') return '1 more slot on each worker';
  if (kind === 'resource')
    return `${roundedText(more)} more ${name === 'concurrency' ? 'at once' : unitOf(name)}`;
  return `1 more at once for the ${kind} ${name}`;
}

function unitOf(resource: string): string {
  return RESOURCE_TABLE.find(({ name }) => name === resource)?.unit ?? resource;
}
