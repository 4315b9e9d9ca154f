import type { ParallelExecutionEngine } from '../../dist/index.js';
import { collectGarbage } from '../harness/measure.ts';
import { engineWith } from '../work/engine.ts';
import { PRIORITIES, randomLevels } from '../work/priorities.ts';

const CONCURRENCY = 16;
const LEVELS = randomLevels(2 ** 16);

/**
 * Tasks that all want the same lock. Each submits another one before it ends, so the number of those that wait stays
 * the same however many steps are made, and a step holds all there is: submit, release, start.
 */
export class LockQueue {
  private readonly engine: ParallelExecutionEngine = engineWith(CONCURRENCY);
  private submitted = 0;
  private stepsLeft = 0;
  private go: (() => void) | undefined;
  private stopped: (() => void) | undefined;

  constructor(waiting: number) {
    for (let task = 0; task <= waiting; task++) this.submitOne();
  }

  /** Makes so many steps, and answers how many nanoseconds each took. The queue is as long after as before. */
  async steps(count: number): Promise<number> {
    // One task holds the lock meanwhile, or is about to take it.
    await new Promise(setImmediate);
    collectGarbage();
    this.stepsLeft = count;
    const ended = new Promise<void>((resolve) => {
      this.stopped = resolve;
    });
    const start = performance.now();
    this.go!();
    await ended;
    return ((performance.now() - start) * 1e6) / count;
  }

  private submitOne(): void {
    this.engine.submit(
      {
        toolName: 'no-op',
        priority: PRIORITIES[LEVELS[this.submitted++ % LEVELS.length]!]!,
        resources: { cpu: 0.5, memoryMb: 10, exclusive: ['lock'] },
        timeoutMs: 30_000,
        retry: { maxRetries: 3 },
      },
      this.step,
    );
  }

  private readonly step = async (): Promise<void> => {
    if (this.stepsLeft === 0) {
      this.stopped?.();
      await new Promise<void>((resolve) => {
        this.go = resolve;
      });
    }
    this.stepsLeft--;
    this.submitOne();
  };
}
