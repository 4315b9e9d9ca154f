import { checkKnown } from './check-known.ts';
import { ClassQueue } from './demand-class.ts';
import { VolleyError } from './errors.ts';
import { checkNumber, MAX_SPAN_MS, show } from './numbers.ts';
import type { Timed } from './timers.ts';

/** At most `count` starts in any span of `perMs` milliseconds. */
export interface RateOptions {
  readonly count: number;
  readonly perMs: number;
}

/**
 * A strict sliding window over the last `count` starts, so no span of `perMs` ever holds more. (A token bucket would
 * allow twice as many around its refill, which remote APIs punish.)
 */
export class RateLimit implements Timed {
  readonly kind = 'rate';
  timerIndex = -1;
  readonly waiters = new ClassQueue(false);
  private starts: number[] = [];
  private oldest = 0;

  constructor(
    /** The owner, for messages: `tool fetch` or `group crawl`. */
    readonly owner: string,
    readonly count: number,
    readonly perMs: number,
  ) {}

  /** The earliest time another start is allowed; `now` or earlier means at once. */
  allowedAt(now: number): number {
    if (this.starts.length < this.count) return now;
    return this.starts[this.oldest]! + this.perMs;
  }

  /** Takes over the recorded starts of the limit this one replaces. */
  continueFrom({ starts, oldest }: RateLimit): void {
    this.starts = [...starts.slice(oldest), ...starts.slice(0, oldest)].slice(-this.count);
  }

  /** Moves a recorded start to the later time at which it happened. */
  postpone(from: number, to: number): void {
    const { starts, oldest } = this;
    let found = -1;
    for (let back = 1; back <= starts.length; back++) {
      const at = (oldest - back + starts.length) % starts.length;
      if (starts[at]! < from) break;
      if (starts[at] === from) found = at;
    }
    if (found >= 0) starts[found] = to;
  }

  record(now: number): void {
    if (this.starts.length < this.count) {
      this.starts.push(now);
    } else {
      this.starts[this.oldest] = now;
      this.oldest = (this.oldest + 1) % this.count;
    }
  }
}

const RATE_PARTS: ReadonlySet<string> = new Set<keyof RateOptions>(['count', 'perMs']);

export function checkRate(name: string, rate: RateOptions): RateOptions {
  if (typeof rate !== 'object' || rate === null) {
    throw new VolleyError('INVALID_VALUE', `${name} must be { count, perMs }, but it is ${show(rate)}.`);
  }
  checkKnown('part of a rate', rate, RATE_PARTS);
  return {
    count: checkNumber(`${name}.count`, rate.count, { min: 1, max: 1_000_000, integer: true }),
    perMs: Math.ceil(checkNumber(`${name}.perMs`, rate.perMs, { min: 1, max: MAX_SPAN_MS })),
  };
}
