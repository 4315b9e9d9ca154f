import type { Timing } from '../../../../src/cli/display/view.ts';

/** Time that a test moves. */
export class FakeTiming implements Timing {
  private time = 1_000_000;
  private timers: { at: number; call: () => void }[] = [];

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
    const end = this.time + ms;
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
