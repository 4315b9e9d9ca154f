import { performance } from 'node:perf_hooks';
import { MAX_SPAN_MS } from '../core/numbers.ts';

/** Where an engine takes its time from. Tests bring one that they move themselves. */
export interface Clock {
  /**
   * Whole milliseconds since the clock was made, never fewer than before. Small integers, because the core keeps many of
   * them: anything else would be a box on the heap for each.
   */
  now(): number;
  /** The time of day at which `now()` was 0, in milliseconds since 1970. */
  readonly epoch: number;
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
}

/** The clock of the machine, by one that never jumps. */
export class SystemClock implements Clock {
  private readonly origin = performance.now();
  readonly epoch = Date.now();

  now(): number {
    return Math.floor(performance.now() - this.origin);
  }

  setTimeout(callback: () => void, ms: number): unknown {
    return setTimeout(callback, ms);
  }

  clearTimeout(timer: unknown): void {
    clearTimeout(timer as NodeJS.Timeout);
  }
}

/**
 * The one real timer of an engine. It is set again only when something earlier comes up: ringing too early costs one
 * look at the clock, while setting a timer for each attempt would cost more than a small task.
 */
export class Alarm {
  private timer: unknown;
  private ringsAt = Number.POSITIVE_INFINITY;

  constructor(
    private readonly clock: Clock,
    private readonly ring: () => void,
  ) {}

  setFor(at: number): void {
    if (at >= this.ringsAt) return;
    this.clear();
    this.ringsAt = at;
    this.timer = this.clock.setTimeout(
      this.onTimer,
      Math.min(MAX_SPAN_MS, Math.max(0, at - this.clock.now())),
    );
  }

  clear(): void {
    if (this.timer === undefined) return;
    this.clock.clearTimeout(this.timer);
    this.timer = undefined;
    this.ringsAt = Number.POSITIVE_INFINITY;
  }

  private readonly onTimer = (): void => {
    this.timer = undefined;
    this.ringsAt = Number.POSITIVE_INFINITY;
    this.ring();
  };
}
