import { Histogram, Registry } from 'prom-client';
import type { ParallelExecutionEngine } from '../../engine/engine.ts';
import type { DurationSummary } from '../../engine/statistics.ts';
import type { Store } from '../../store/store.ts';
import type { HubCounts } from '../events/event-hub.ts';
import type { MeasuredStatistics } from '../wire/statistics.ts';
import { addEngineMetrics } from './engine-metrics.ts';
import { addEventMetrics } from './event-metrics.ts';
import { ExecutionMetrics } from './execution-metrics.ts';
import { ProcessMetrics } from './process-metrics.ts';
import { RequestMetrics } from './request-metrics.ts';
import { Samples } from './samples.ts';
import type { ServerMetrics } from './server-metrics.ts';
import { useOf } from './use.ts';

export interface MetricsParts {
  readonly engine: ParallelExecutionEngine;
  readonly store: Store;
  readonly events: { counts(): HubCounts };
}

const COMMIT_SPANS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1];

/** Everything that is measured, in a registry of its own: a program that uses prom-client itself is not disturbed. */
export class VolleyMetrics implements ServerMetrics {
  private readonly registry = new Registry();
  private readonly executions: ExecutionMetrics;
  private readonly process: ProcessMetrics;
  private readonly requests: RequestMetrics;
  private readonly samples: Samples;
  private readonly unlisten: () => void;

  constructor(private readonly parts: MetricsParts) {
    const { engine, store, events } = parts;
    const { registry } = this;
    addEngineMetrics(engine, registry);
    addEventMetrics(() => events.counts(), registry);
    this.executions = new ExecutionMetrics(engine, registry);
    this.requests = new RequestMetrics();
    this.process = new ProcessMetrics(registry);
    this.samples = new Samples(engine, () => this.process.forgetOld());
    const commits = new Histogram({
      name: 'volley_store_commit_seconds',
      help: 'How long a transaction of the store took, from its first write until it was safe.',
      buckets: COMMIT_SPANS,
      registers: [registry],
    });
    this.unlisten = store.onCommit((ms) => commits.observe(ms / 1000));
  }

  async text(): Promise<{ readonly contentType: string; readonly body: string }> {
    return {
      contentType: this.registry.contentType,
      body: `${await this.registry.metrics()}\n${this.requests.text()}`,
    };
  }

  request(route: string, method: string, status: number, ms: number): void {
    this.requests.ended(route, method, status, ms);
  }

  statistics(): MeasuredStatistics {
    const { engine, events } = this.parts;
    const { counts, submitted, retries, duration, waiting } = engine.statistics();
    return {
      at: Date.now(),
      counts,
      submitted,
      retries,
      duration_ms: spansOf(duration),
      waiting_ms: spansOf(waiting),
      use: useOf(engine),
      history: this.samples.list(),
      event_loop_delay_ms: this.process.delayMs(),
      subscribers: events.counts().subscribers,
    };
  }

  /** Measures nothing more. */
  close(): void {
    this.executions.close();
    this.process.close();
    this.samples.close();
    this.unlisten();
  }
}

function spansOf({ meanMs, p50Ms, p95Ms, p99Ms, maxMs }: DurationSummary): Record<string, number> {
  return { mean: meanMs, p50: p50Ms, p95: p95Ms, p99: p99Ms, max: maxMs };
}
