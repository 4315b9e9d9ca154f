import type { Clock } from '../../../src/engine/clock.ts';
import { quiet } from './gate.ts';

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** A clock that stands still until the test lets time pass. */
export class ManualClock implements Clock {
  readonly epoch = Date.UTC(2030, 0);
  private time = 0;
  private readonly timers = new Set<Timer>();

  now(): number {
    return this.time;
  }

  setTimeout(callback: () => void, ms: number): Timer {
    const timer = { at: this.time + Math.max(1, Math.ceil(ms)), callback };
    this.timers.add(timer);
    return timer;
  }

  clearTimeout(timer: unknown): void {
    this.timers.delete(timer as Timer);
  }

  /** Resolves when so much time has passed. */
  sleep<T = void>(ms: number, value?: T): Promise<T> {
    return new Promise((resolve) => this.setTimeout(() => resolve(value as T), ms));
  }

  /** Lets time pass. Whatever falls due on the way happens at its own moment, with all that follows from it. */
  async pass(ms: number): Promise<void> {
    const end = this.time + ms;
    await quiet();
    for (let next = this.next(end); next !== undefined; next = this.next(end)) {
      this.timers.delete(next);
      this.time = next.at;
      next.callback();
      await quiet();
    }
    this.time = end;
    await quiet();
  }

  /** Lets time pass in the middle of a function, which keeps the thread meanwhile. */
  skip(ms: number): void {
    this.time += ms;
  }

  private next(until: number): Timer | undefined {
    const due = [...this.timers].filter(({ at }) => at <= until);
    return due.sort((a, b) => a.at - b.at)[0];
  }
}
