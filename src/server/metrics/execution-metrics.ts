import { Counter, Histogram, type Registry } from 'prom-client';
import type { ParallelExecutionEngine } from '../../engine/engine.ts';
import type { ProgressStream } from '../../engine/event-log.ts';
import type { MissedUpdates, ProgressUpdate } from '../../engine/updates.ts';
import { BoundedNames } from './labels.ts';

const MAX_TOOLS = 200;
/** In seconds: from a millisecond to an hour. */
const SPANS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 3600];

/** Attempts, failures and times of each tool, from what the engine tells. */
export class ExecutionMetrics {
  private readonly tools = new BoundedNames(MAX_TOOLS);
  private readonly waits: Histogram<'tool'>;
  private readonly runs: Histogram<'tool'>;
  private readonly attempts: Counter<'tool'>;
  private readonly failures: Counter<'tool' | 'reason' | 'retried'>;
  private readonly missed: Counter;
  private readonly updates: ProgressStream;

  constructor(engine: ParallelExecutionEngine, registry: Registry) {
    const registers = [registry];
    this.waits = new Histogram({
      name: 'volley_execution_wait_seconds',
      help: 'From the submission of an execution to its first start.',
      labelNames: ['tool'],
      buckets: SPANS,
      registers,
    });
    this.runs = new Histogram({
      name: 'volley_execution_run_seconds',
      help: 'How long the last attempt of completed executions took.',
      labelNames: ['tool'],
      buckets: SPANS,
      registers,
    });
    this.attempts = new Counter({
      name: 'volley_attempts_total',
      help: 'Attempts that were started.',
      labelNames: ['tool'],
      registers,
    });
    this.failures = new Counter({
      name: 'volley_failures_total',
      help: 'Attempts that failed, by reason, and whether another one followed.',
      labelNames: ['tool', 'reason', 'retried'],
      registers,
    });
    this.missed = new Counter({
      name: 'volley_updates_missed_total',
      help: 'Updates of the engine that came too fast to be counted: other metrics of executions lack them.',
      registers,
    });
    this.updates = engine.progress.subscribe();
    void this.follow();
  }

  close(): void {
    void this.updates.return();
  }

  private async follow(): Promise<void> {
    for await (const update of this.updates) this.take(update);
  }

  private take(update: ProgressUpdate | MissedUpdates): void {
    if (update.type === 'missed') {
      this.missed.inc(update.count);
      return;
    }
    const tool = this.tools.of(update.toolName);
    switch (update.type) {
      case 'started':
        this.attempts.inc({ tool });
        if (update.attempt === 1) this.waits.observe({ tool }, update.waitedMs / 1000);
        break;
      case 'completed':
        this.runs.observe({ tool }, update.durationMs / 1000);
        break;
      case 'retrying':
        this.failures.inc({ tool, reason: update.reason, retried: 'yes' });
        break;
      case 'failed':
        this.failures.inc({ tool, reason: update.reason, retried: 'no' });
        break;
      default:
    }
  }
}
