import { hrtime } from 'node:process';

/**
 * Whole milliseconds since the engine was made, from a clock that never jumps. The core does all its arithmetic on
 * these small numbers; people are shown the time of day.
 */
export class Clock {
  private readonly origin = hrtime();
  private readonly epoch = Date.now();

  /** Read at the end of every attempt, and `hrtime` is the quickest to be read. */
  now(): number {
    const [seconds, nanoseconds] = hrtime();
    const [firstSecond, firstNanosecond] = this.origin;
    return (seconds - firstSecond) * 1000 + Math.floor((nanoseconds - firstNanosecond) / 1e6);
  }

  /** The time of day, in milliseconds since 1970, of a moment of this clock. */
  toEpoch(moment: number): number {
    return this.epoch + moment;
  }
}
