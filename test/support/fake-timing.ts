import type { Timing } from '../../src/batch/timing.ts';

/** Time that a test moves. */
export class FakeTiming implements Timing {
  private timers: { at: number; call: () => void }[] = [];

  constructor(private time = 0) {}

  get pending(): number {
    return this.timers.length;
  }

  now(): number {
    return this.time;
  }

  after(ms: number, call: () => void): () => void {
    const timer = { at: this.time + ms, call };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((one) => one !== timer);
    };
  }

  advance(ms: number): void {
    this.moveTo(this.time + ms);
  }

  moveTo(end: number): void {
    for (;;) {
      const [next] = this.timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.timers = this.timers.filter((one) => one !== next);
      this.time = Math.max(this.time, next.at);
      next.call();
    }
    this.time = end;
  }
}
