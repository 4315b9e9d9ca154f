import { printableLine } from '../../core/printable-text.ts';
import { countText, listText, spanText } from '../../core/words.ts';
import type { Colours } from './colours.ts';
import { factorText, numberText } from './numbers.ts';
import type { BatchPlan, TaskToPlan } from './plan.ts';
import { type Column, tableLines } from './table.ts';
import { cutMiddleToWidth } from './width.ts';

const MAX_TASKS = 30;
const MAX_WAVES = 12;
const MAX_ON_PATH = 8;
const LONGEST_NAME = 60;

export interface PlanTextOptions {
  readonly colours: Colours;
  readonly columns: number;
}

/** The plan of a batch for people: how much, how long, in which waves and order, and what holds it up. */
export function planText(plan: BatchPlan, options: PlanTextOptions): string {
  const blocks = [
    headLines(plan, options),
    waveLines(plan, options),
    pathLines(plan, options),
    orderLines(plan, options),
  ];
  const text = blocks.filter((lines) => lines.length > 0).map((lines) => lines.join('\n'));
  return `${text.join('\n\n')}\n`;
}

/** A task whose name says nothing is called by its id. */
function labelOf({ id, name, function: tool }: TaskToPlan): string {
  return name === tool ? id : name;
}

function headLines(plan: BatchPlan, { colours, columns }: PlanTextOptions): string[] {
  const { name, tasks, maxConcurrent, expectedMs, workMs, unknown } = plan;
  const title = colours.bold(cutMiddleToWidth(printableLine(name), Math.max(8, Math.floor(columns / 2))));
  if (tasks.length === 0) return [`${title}: no task is open, so nothing would run`];
  const count = `${numberText(tasks.length)} ${tasks.length === 1 ? 'task' : 'tasks'}`;
  const lines = [`${title}: ${count}, ${numberText(maxConcurrent)} at once; nothing was started`];
  const functions = unknown.slice(0, 3).map((one) => printableLine(one));
  if (tasks.every(({ task }) => task.expectedMs === undefined)) {
    lines.push(colours.dim('  Nothing is known yet of how long they take: every task counts as 1 s here.'));
    return lines;
  }
  const faster =
    expectedMs > 0 ? `, ${factorText(workMs / expectedMs)} times as fast as one after the other` : '';
  lines.push(
    `  takes about ${colours.cyan(spanText(expectedMs))} ${colours.dim(`for ${spanText(workMs)} of work${faster}`)}`,
  );
  if (unknown.length > 0) {
    lines.push(
      colours.dim(
        `  Not known yet: how long ${listText(functions, unknown.length)} takes; the mean of the others is taken.`,
      ),
    );
  }
  return lines;
}

function waveLines({ waves }: BatchPlan, { colours }: PlanTextOptions): string[] {
  if (waves.length < 2) return [];
  const shown = waves.slice(0, MAX_WAVES).map((count) => numberText(count));
  const more = waves.length > MAX_WAVES ? ' → …' : '';
  return [
    `${colours.bold('Waves')} ${colours.dim(`(${numberText(waves.length)})`)}`,
    `  ${shown.join(' → ')}${more}`,
  ];
}

/** Only where something waits for something. */
function pathLines(
  { criticalPath, criticalPathMs, waves }: BatchPlan,
  { colours }: PlanTextOptions,
): string[] {
  if (waves.length < 2) return [];
  const ends = criticalPath.length <= MAX_ON_PATH ? criticalPath.length : MAX_ON_PATH / 2;
  const names = criticalPath.map(
    ({ task, startMs, endMs }) =>
      `  ${cutMiddleToWidth(printableLine(labelOf(task)), LONGEST_NAME)} ${colours.dim(spanText(endMs - startMs))}`,
  );
  const left = criticalPath.length - 2 * ends;
  const lines =
    ends === criticalPath.length
      ? names
      : [
          ...names.slice(0, ends),
          colours.dim(`  … ${countText(left, 'more task')} …`),
          ...names.slice(-ends),
        ];
  const title = `${colours.bold('Critical path')} ${colours.dim(`(${countText(criticalPath.length, 'task')}, ${spanText(criticalPathMs)})`)}`;
  return [title, ...lines];
}

function orderLines({ tasks, waves }: BatchPlan, { colours, columns }: PlanTextOptions): string[] {
  if (tasks.length === 0) return [];
  const hasWaves = waves.length > 1;
  const shown = tasks.slice(0, MAX_TASKS);
  const table: Column[] = [
    { title: 'starts', align: 'right' },
    ...(hasWaves ? [{ title: 'wave', align: 'right' } as const] : []),
    { title: 'task' },
    { title: 'function', colour: (text) => colours.dim(text) },
    { title: 'waits for', colour: (text) => colours.dim(text) },
  ];
  const labels = new Map(tasks.map(({ task }) => [task.id, labelOf(task)]));
  const rows = shown.map(({ task, wave, startMs }) => [
    startMs === 0 ? '0' : spanText(startMs),
    ...(hasWaves ? [numberText(wave)] : []),
    labelOf(task),
    task.function,
    listText(
      task.dependsOn.slice(0, 3).map((id) => labels.get(id) ?? id),
      task.dependsOn.length,
    ),
  ]);
  const columnsShown = hasWaves ? table : table.slice(0, -1);
  const lines = tableLines(columnsShown, rows, { colours, width: Math.max(20, columns - 2) });
  const more = tasks.length - shown.length;
  return [
    colours.bold('Order'),
    ...lines.map((line) => `  ${line}`),
    ...(more > 0 ? [colours.dim(`  … and ${numberText(more)} more`)] : []),
  ];
}
