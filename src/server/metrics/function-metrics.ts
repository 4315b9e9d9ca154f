import { Sketch } from '../../core/sketch.ts';
import type { ProgressUpdate } from '../../engine/updates.ts';
import type { StatisticsBody } from '../wire/statistics.ts';

/** What became of the executions of one function. */
class FunctionRecord {
  completed = 0;
  failed = 0;
  cancelled = 0;
  retries = 0;
  readonly durations = new Sketch();
}

/** Counts the executions of each function and how long they take. Bounded, if the names it is given are. */
export class FunctionMetrics {
  private readonly records = new Map<string, FunctionRecord>();

  note(name: string, update: ProgressUpdate): void {
    const record = this.records.get(name) ?? new FunctionRecord();
    switch (update.type) {
      case 'completed':
        record.completed++;
        record.durations.add(update.durationMs);
        break;
      case 'failed':
        record.failed++;
        break;
      case 'cancelled':
        record.cancelled++;
        break;
      case 'retrying':
        record.retries++;
        break;
      default:
        return;
    }
    this.records.set(name, record);
  }

  /** Those with the most executions first. */
  list(): StatisticsBody['functions'] {
    return [...this.records]
      .map(([name, { completed, failed, cancelled, retries, durations }]) => ({
        function: name,
        completed,
        failed,
        cancelled,
        retries,
        duration_ms:
          durations.count === 0
            ? null
            : { p50: durations.quantile(0.5), p95: durations.quantile(0.95), max: durations.max },
      }))
      .sort((a, b) => b.completed + b.failed - a.completed - a.failed);
  }
}
