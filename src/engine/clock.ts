import { performance } from 'node:perf_hooks';

/**
 * Whole milliseconds since the engine was made, from a clock that never jumps. The core does all its arithmetic on
 * these small numbers; people are shown the time of day.
 */
export class Clock {
  private readonly origin = performance.now();
  private readonly epoch = Date.now();

  /** Rounded, so that it is a small integer for the machine too: all else is a box for each moment that is kept. */
  now(): number {
    return Math.floor(performance.now() - this.origin);
  }

  /** The time of day, in milliseconds since 1970, of a moment of this clock. */
  toEpoch(moment: number): number {
    return this.epoch + moment;
  }
}
