import { hrtime } from 'node:process';

/**
 * Whole milliseconds since the engine was made, from a clock that never jumps. The core does all its arithmetic on
 * these small numbers; people are shown the time of day.
 */
export class Clock {
  private readonly origin = hrtime();
  private readonly epoch = Date.now();

  /**
   * Read at the end of every attempt, and `hrtime` is the quickest to be read. Rounded as a whole: only then is it a
   * small integer for the machine too, and each moment that an execution keeps would need a box of its own otherwise.
   */
  now(): number {
    const { origin } = this;
    const time = hrtime();
    return Math.floor((time[0] - origin[0]) * 1000 + (time[1] - origin[1]) / 1e6);
  }

  /** The time of day, in milliseconds since 1970, of a moment of this clock. */
  toEpoch(moment: number): number {
    return this.epoch + moment;
  }
}
