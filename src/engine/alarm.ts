import { MAX_SPAN_MS } from '../core/numbers.ts';
import type { Clock } from './clock.ts';

/**
 * The one real timer of an engine. It is set again only when something earlier comes up: ringing too early costs one
 * look at the clock, while setting a timer for each attempt would cost more than a small task.
 */
export class Alarm {
  private timer: NodeJS.Timeout | undefined;
  private ringsAt = Number.POSITIVE_INFINITY;

  constructor(
    private readonly clock: Clock,
    private readonly ring: () => void,
  ) {}

  setFor(at: number): void {
    if (at >= this.ringsAt) return;
    clearTimeout(this.timer);
    this.ringsAt = at;
    this.timer = setTimeout(this.onTimer, Math.min(MAX_SPAN_MS, Math.max(0, at - this.clock.now())));
  }

  clear(): void {
    if (this.timer === undefined) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.ringsAt = Number.POSITIVE_INFINITY;
  }

  private readonly onTimer = (): void => {
    this.timer = undefined;
    this.ringsAt = Number.POSITIVE_INFINITY;
    this.ring();
  };
}
