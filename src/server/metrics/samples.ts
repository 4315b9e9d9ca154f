import type { ParallelExecutionEngine } from '../../engine/engine.ts';
import type { StatisticsBody } from '../wire/statistics.ts';
import { useOf } from './use.ts';

const EVERY_MS = 1000;
/** Ten minutes. */
const MOST = 600;

type Sample = StatisticsBody['history'][number];

/** The use of each resource, once a second, of the last ten minutes. */
export class Samples {
  private readonly ring: Sample[] = [];
  private next = 0;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly engine: ParallelExecutionEngine,
    private readonly alsoDo: () => void,
  ) {
    this.timer = setInterval(() => this.take(), EVERY_MS).unref();
    this.take();
  }

  /** The oldest first. */
  list(): Sample[] {
    return [...this.ring.slice(this.next), ...this.ring.slice(0, this.next)];
  }

  close(): void {
    clearInterval(this.timer);
  }

  private take(): void {
    this.alsoDo();
    this.ring[this.next] = { at: Date.now(), used: useOf(this.engine).map(({ used }) => used) };
    this.next = (this.next + 1) % MOST;
  }
}
