import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/core/random.ts';
import type { ExecutionHandle, ParallelExecutionEngine } from '../../src/index.ts';
import { openEngine } from './support/engine.ts';
import { RandomWork } from './support/random-work.ts';

const STEPS = 100;

/** Something that a caller may do at any time; what it submits goes into `handles`. */
function step(
  engine: ParallelExecutionEngine,
  work: RandomWork,
  handles: ExecutionHandle[],
): Promise<void> | void {
  if (work.isLikely(0.5)) {
    const context = work.context();
    const dependsOn =
      handles.length > 0 && work.isLikely(0.3) ? [work.pick(handles), work.pick(handles)] : [];
    const onDependencyFailure = work.pick(['skip', 'run', 'on-failure'] as const);
    handles.push(engine.submit({ ...context, dependsOn, onDependencyFailure }, work.function(context)));
  } else if (work.isLikely(0.2)) {
    const items = Array.from({ length: work.below(6) }, () => {
      const { group: _, ...context } = work.context();
      return { ...context, run: work.function(context) };
    });
    const group = engine.submitAll(items, { failFast: work.isLikely(0.3), timeoutMs: 20 + work.below(100) });
    handles.push(...group.handles);
  } else if (handles.length > 0 && work.isLikely(0.3)) {
    work.pick(handles).cancel('at random');
  } else if (work.isLikely(0.1)) {
    engine.pause();
    void setTimeout(3).then(() => engine.resume());
  } else {
    return setTimeout(work.below(3));
  }
}

function isWithinLimits(engine: ParallelExecutionEngine): boolean {
  return Object.values(engine.statistics().utilization).every(({ used, limit }) => used <= limit);
}

async function countEvents(engine: ParallelExecutionEngine): Promise<number> {
  let count = 0;
  for await (const update of engine.progress.subscribe())
    count += update.type === 'missed' ? update.count : 1;
  return count;
}

describe('an engine under random work, cancellations, pauses and time limits', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'keeps its limits and brings everything to an end (seed %i)',
    async (seed) => {
      const work = new RandomWork(seededRandom(seed));
      const engine = openEngine({
        seed,
        maxConcurrency: 1 + work.below(5),
        limits: { cpu: 2, memoryMb: 2000, ioOperations: 8 },
        graceMs: work.pick([0, 2, 10]),
        reserveAfterMs: work.pick([0, 5, 5000]),
        retainSettled: work.pick([0, 3, 1000]),
        eventLogSize: 16,
      });
      const counting = countEvents(engine);
      const handles: ExecutionHandle[] = [];
      for (let count = 0; count < STEPS; count++) {
        await step(engine, work, handles);
        expect(isWithinLimits(engine)).toBe(true);
      }
      engine.resume();
      await engine.close();
      const { submitted, counts } = engine.statistics();
      expect(counts).toMatchObject({ pending: 0, queued: 0, running: 0, retrying: 0 });
      expect(submitted).toBeGreaterThanOrEqual(handles.length);
      expect(work.collisions).toBe(0);
      expect(await counting).toBe(engine.progress.lastEventId);
      for (const handle of handles) expect((await handle.outcome()).status).toBe(handle.status);
    },
  );
});
