import type { Store } from '../../store/store.ts';

/** How long the tasks of a function took. */
export interface LearnedDuration {
  readonly meanMs: number;
  /** The latest, some of them. */
  readonly samplesMs: readonly number[];
  /** How many tasks it comes from. */
  readonly count: number;
}

/** So many ended tasks are looked at, of the latest batches first. */
const MAX_TASKS = 5000;
const PAGE = 500;
const MAX_SAMPLES = 200;

/** What the store knows of how long functions take: from what completed in any batch. */
export async function learnedDurations(
  store: Store,
  functions: ReadonlySet<string>,
): Promise<Map<string, LearnedDuration>> {
  const found = new Map<string, number[]>();
  let left = MAX_TASKS;
  for (const { name, counts } of (await store.batches()).reverse()) {
    if (counts.completed === 0) continue;
    for (let afterSeq = 0; left > 0; ) {
      const page = await store.tasks(name, { status: ['completed'], afterSeq, limit: Math.min(PAGE, left) });
      for (const task of page) {
        const ms = task.durationMs;
        if (ms === undefined || !functions.has(task.function)) continue;
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
