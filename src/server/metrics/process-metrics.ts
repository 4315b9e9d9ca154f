import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, type Registry } from 'prom-client';

const NANOSECONDS = 1e9;
const MICROSECONDS = 1e6;
/** The delay is measured over at most this long. */
const WINDOW_MS = 60_000;
/** How often the event loop is looked at. Its own waiting is not a delay. */
const RESOLUTION_MS = 10;

/** The delay of the event loop, which all servers of a process share: Node keeps every histogram of it for ever. */
const delay = {
  histogram: undefined as IntervalHistogram | undefined,
  users: 0,
  since: 0,
};

/** The process itself: its event loop, memory and CPU time. */
export class ProcessMetrics {
  private readonly histogram: IntervalHistogram;

  constructor(registry: Registry) {
    delay.histogram ??= monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    this.histogram = delay.histogram;
    if (delay.users++ === 0) {
      this.forget();
      this.histogram.enable();
    }
    const delayOf = (share: number) => this.delayOf(share);
    new Gauge({
      name: 'volley_event_loop_delay_seconds',
      help: 'How late the event loop is, over the last minute at most.',
      labelNames: ['percentile'],
      registers: [registry],
      collect() {
        for (const share of [50, 99, 100]) this.set({ percentile: String(share) }, delayOf(share));
      },
    });
    addMemoryAndCpu(registry);
  }

  delayMs(): { readonly p50: number; readonly p99: number } {
    const msOf = (share: number) => Math.round(this.delayOf(share) * 1e5) / 100;
    return { p50: msOf(50), p99: msOf(99) };
  }

  /** Call it now and then: what is older than the window is forgotten. */
  forgetOld(): void {
    if (performance.now() - delay.since >= WINDOW_MS) this.forget();
  }

  close(): void {
    if (--delay.users === 0) this.histogram.disable();
  }

  private forget(): void {
    delay.since = performance.now();
    this.histogram.reset();
  }

  /** In seconds. */
  private delayOf(share: number): number {
    return Math.max(0, this.histogram.percentile(share) / NANOSECONDS - RESOLUTION_MS / 1000);
  }
}

function addMemoryAndCpu(registry: Registry): void {
  const registers = [registry];
  const gauge = (name: string, help: string, value: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value());
      },
    });
  gauge('process_resident_memory_bytes', 'Memory that the process holds.', () => process.memoryUsage.rss());
  gauge(
    'nodejs_heap_size_used_bytes',
    'The part of the heap that is in use.',
    () => process.memoryUsage().heapUsed,
  );
  gauge('process_start_time_seconds', 'When the process began, since 1970.', () =>
    Math.round(performance.timeOrigin / 1000),
  );
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'CPU time of the process.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / MICROSECONDS);
    },
  });
}
