import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';

/** Node's histogram records a delay when its timer fires again. */
const LAST_SAMPLE_MS = 5;

/** Watches for how long the event loop is held, in two ways: the gaps between ticks, and Node's own histogram. */
export class EventLoopWatch {
  private readonly histogram = monitorEventLoopDelay({ resolution: 1 });
  private lastTickAt = 0;
  private longestGapMs = 0;
  private isOn = false;

  start(): void {
    this.isOn = true;
    this.histogram.enable();
    this.lastTickAt = performance.now();
    setImmediate(this.tick);
  }

  /** The delay is 0 if the loop came to no second turn, so that Node could take no sample. */
  async stop(): Promise<{ readonly longestGapMs: number; readonly longestDelayMs: number }> {
    this.isOn = false;
    this.noteGap();
    await setTimeout(LAST_SAMPLE_MS);
    this.histogram.disable();
    return { longestGapMs: this.longestGapMs, longestDelayMs: this.histogram.max / 1e6 };
  }

  private readonly tick = (): void => {
    if (!this.isOn) return;
    this.noteGap();
    setImmediate(this.tick);
  };

  private noteGap(): void {
    const now = performance.now();
    this.longestGapMs = Math.max(this.longestGapMs, now - this.lastTickAt);
    this.lastTickAt = now;
  }
}
