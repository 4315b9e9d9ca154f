import type { Execution } from '../core/execution.ts';
import type { ResourceUtilization } from '../core/resources.ts';
import { Sketch } from '../core/sketch.ts';
import { type ExecutionStatus, STATUS_NAMES } from '../core/status.ts';
import type { MeasuredClaim, UsageFigures } from '../core/usage.ts';

/** A distribution of durations in milliseconds; quantiles are exact to about 2 %. */
export interface DurationSummary {
  readonly count: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** The statistics of an engine. */
export interface ExecutionStatistics {
  /** The total number of submitted executions. */
  readonly submitted: number;
  /** The number of executions per status; for final statuses, the total so far. */
  readonly counts: Readonly<Record<ExecutionStatus, number>>;
  readonly retries: number;
  /** Attempts that were put back because a quota was used up. */
  readonly refusals: number;
  /** Stopped attempts that did not end within their grace period. */
  readonly abandoned: number;
  /** How long completed executions ran. */
  readonly duration: DurationSummary;
  /** How long executions waited from their submission to their first start. */
  readonly waiting: DurationSummary;
  readonly utilization: ResourceUtilization;
  /** What attempts of tools were measured to use. Only attempts in processes are measured by Volley itself. */
  readonly usage: readonly ToolUsage[];
}

/** What attempts of one tool really used, next to what its executions claim. */
export interface ToolUsage {
  readonly toolName: string;
  /** How many attempts were measured; older ones count less. */
  readonly samples: number;
  readonly cpu: UsageFigures | undefined;
  readonly memoryMb: UsageFigures | undefined;
  /** What the last measured execution held. Undefined if all are of an earlier run. */
  readonly claimed: MeasuredClaim | undefined;
}

/** Updated with every event: asking for statistics never visits the executions. */
export class StatisticsKeeper {
  private readonly durations = new Sketch();
  private readonly waits = new Sketch();
  private retries = 0;
  private refusals = 0;
  private abandonedAttempts = 0;

  started(execution: Execution): void {
    if (execution.attempt === 1) this.waits.add(execution.startedAt - execution.submittedAt);
  }

  completed(execution: Execution): void {
    this.durations.add(execution.since - execution.startedAt);
  }

  retried(): void {
    this.retries++;
  }

  refused(): void {
    this.refusals++;
  }

  abandoned(): void {
    this.abandonedAttempts++;
  }

  summary(counts: readonly number[]): Omit<ExecutionStatistics, 'utilization' | 'usage'> {
    return {
      submitted: counts.reduce((sum, count) => sum + count, 0),
      counts: Object.fromEntries(STATUS_NAMES.map((name, index) => [name, counts[index]!])) as Record<
        ExecutionStatus,
        number
      >,
      retries: this.retries,
      refusals: this.refusals,
      abandoned: this.abandonedAttempts,
      duration: summarize(this.durations),
      waiting: summarize(this.waits),
    };
  }
}

function summarize(sketch: Sketch): DurationSummary {
  return {
    count: sketch.count,
    meanMs: sketch.mean(),
    p50Ms: sketch.quantile(0.5),
    p95Ms: sketch.quantile(0.95),
    p99Ms: sketch.quantile(0.99),
    maxMs: sketch.max,
  };
}
