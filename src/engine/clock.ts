import { performance } from 'node:perf_hooks';
import { MAX_SPAN_MS } from '../core/numbers.ts';

/** The time source of an engine. Tests inject their own. */
export interface Clock {
  /**
   * Whole milliseconds since the clock was created; never decreases. Small integers, because the core stores many of
   * them: anything else would be boxed on the heap.
   */
  now(): number;
  /** The time of day at which `now()` was 0, in milliseconds since 1970. */
  readonly epoch: number;
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
}

/** The machine's clock, based on a monotonic one. */
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
 * The only real timer of an engine. It is reset only for an earlier time: firing too early costs one look at the clock,
 * while a timer per attempt would cost more than a small task.
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

/** Formats a time of day: `15:30`, `15:30:05` if it is near, `2025-06-14 15:30` on another day. Both are milliseconds since 1970. */
export function clockText(at: number, now: number): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const parts = (ms: number) => {
    const date = new Date(ms);
    const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
    return {
      day,
      time: `${two(date.getHours())}:${two(date.getMinutes())}`,
      seconds: two(date.getSeconds()),
    };
  };
  const { day, time, seconds } = parts(at);
  if (day !== parts(now).day) return `${day} ${time}`;
  return at - now < 10 * 60_000 ? `${time}:${seconds}` : time;
}
