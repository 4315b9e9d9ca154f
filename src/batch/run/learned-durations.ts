import { isGroup } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';

/** How long the tasks of a function took. */
export interface LearnedDuration {
  readonly meanMs: number;
  /** Some of the latest. */
  readonly samplesMs: readonly number[];
  /** How many tasks it comes from. */
  readonly count: number;
}

/** How many completed tasks are read by default, latest batches first. */
const MAX_TASKS = 5000;
const PAGE = 500;
const MAX_SAMPLES = 200;

/** Returns the durations of functions over all batches of the store. */
export async function learnedDurations(
  store: Store,
  functions: ReadonlySet<string>,
  maxTasks = MAX_TASKS,
): Promise<Map<string, LearnedDuration>> {
  const found = new Map<string, number[]>();
  let left = maxTasks;
  for (const { name, counts } of (await store.batches()).reverse()) {
    if (counts.completed === 0) continue;
    for (let afterSeq = 0; left > 0; ) {
      const page = await store.tasks(name, { status: ['completed'], afterSeq, limit: Math.min(PAGE, left) });
      for (const task of page) {
        const ms = task.durationMs;
        // A group only waits for its items.
        if (ms === undefined || !functions.has(task.function) || isGroup(task.options)) continue;
        const known = found.get(task.function);
        if (known === undefined) found.set(task.function, [ms]);
        else known.push(ms);
      }
      left -= page.length;
      if (page.length < PAGE) break;
      afterSeq = page.at(-1)!.seq;
    }
    if (left <= 0) break;
  }
  return new Map([...found].map(([name, all]) => [name, learned(all)]));
}

function learned(all: readonly number[]): LearnedDuration {
  return {
    meanMs: all.reduce((sum, ms) => sum + ms, 0) / all.length,
    samplesMs: all.slice(-MAX_SAMPLES),
    count: all.length,
  };
}
