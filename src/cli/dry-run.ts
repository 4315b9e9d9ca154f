import { findBatch } from '../batch/context.ts';
import type { RunnableBatch } from '../batch/forecast/runnable.ts';
import { countText, listText } from '../core/words.ts';
import { EXIT, type ExitStatus, type Io } from './io.ts';
import { schedulerLimits } from './limits.ts';
import { createColours, wantsColours } from './output/colours.ts';
import { type CommandPlace, ownName, placeOptions } from './output/own-name.ts';
import { type BatchPlan, planBatch } from './output/plan.ts';
import { planText } from './output/plan-text.ts';
import type { Session } from './session.ts';
import type { StartOptions } from './start-batch.ts';

const DEFAULT_COLUMNS = 100;
const MAX_NAMED = 5;

/** Checks everything and shows what a start would do. What is wrong is thrown; nothing is added or started. */
export async function dryRun(
  { executor, store, config }: Session,
  batch: string,
  tasks: readonly unknown[],
  { maxConcurrent = 'auto', json = false, config: file }: StartOptions,
  io: Io,
): Promise<ExitStatus> {
  if (tasks.length === 0) await findBatch({ store }, batch);
  const runnable = await executor.runnable(batch, tasks);
  const atOnce = maxConcurrent === 'auto' ? runnable.autoConcurrency : maxConcurrent;
  const plan = planBatch(
    batch,
    runnable.tasks.map(({ id, name, function: tool, dependsOn, ...terms }) => {
      const expectedMs = runnable.learned.get(tool)?.meanMs;
      return { id, name, function: tool, dependsOn, expectedMs, terms };
    }),
    Math.min(atOnce, config.limits.maxConcurrency),
    schedulerLimits(config),
  );
  if (json) io.stdout.writeJson({ ok: true, ...planData(plan, runnable) });
  else {
    const colours = createColours(wantsColours(io.stdout, io.env));
    io.stdout.writeStyled(planText(plan, { colours, columns: io.stdout.columns || DEFAULT_COLUMNS }));
    io.stdout.write(skippedText(runnable, { batch, config: file }, io));
  }
  return EXIT.ok;
}

function skippedText({ skipped }: RunnableBatch, place: CommandPlace, io: Io): string {
  if (skipped.length === 0) return '';
  const names = listText(skipped.slice(0, MAX_NAMED), skipped.length);
  return `\n${countText(skipped.length, 'task')} would be skipped, because something that they depend on has failed: ${names}. ${ownName(io)} retry${placeOptions(place)} opens it again.\n`;
}

function planData(plan: BatchPlan, { skipped }: RunnableBatch): object {
  return {
    batch: plan.name,
    max_concurrent: plan.maxConcurrent,
    expected_ms: Math.round(plan.expectedMs),
    work_ms: Math.round(plan.workMs),
    unknown_functions: plan.unknown,
    waves: plan.waves,
    critical_path: plan.criticalPath.map(({ task }) => task.id),
    critical_path_ms: Math.round(plan.criticalPathMs),
    order: plan.tasks.map(({ task, wave, startMs, endMs }) => ({
      id: task.id,
      function: task.function,
      wave,
      start_ms: Math.round(startMs),
      end_ms: Math.round(endMs),
      depends_on: task.dependsOn,
    })),
    skipped,
  };
}
