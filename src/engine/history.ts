import { type ResourceVector, SCALE } from '../core/demand.ts';
import type { Execution } from '../core/execution.ts';
import type { ByResource } from '../core/resource-names.ts';
import type { ResourceAccounts } from '../core/resources.ts';
import type { Clock } from './clock.ts';

/** An allocation that was released. */
export interface AllocationRecord {
  readonly executionId: string;
  readonly toolName: string;
  readonly attempt: number;
  readonly amounts: ByResource<number>;
  /** Times of day in milliseconds since 1970. */
  readonly from: number;
  readonly until: number;
}

/** The usage of each resource at one time. */
export interface UtilizationSample {
  /** The time of day in milliseconds since 1970. */
  readonly at: number;
  readonly used: ByResource<number>;
}

const MAX_SAMPLES = 512;
const FIRST_INTERVAL_MS = 50;

/** Past allocations and resource usage over time; both are bounded. */
export class AllocationHistory {
  private readonly executions: Execution[] = [];
  private readonly attempts: number[] = [];
  private readonly starts: number[] = [];
  private readonly ends: number[] = [];
  private readonly needs: ResourceVector[] = [];
  /** When executions got their lent resources back. */
  private readonly resumedAt = new Map<Execution, number>();
  private next = 0;
  private samples: { at: number; used: number[] }[] = [];
  private intervalMs = FIRST_INTERVAL_MS;
  private nextSampleAt = 0;

  constructor(
    private readonly capacity: number,
    private readonly clock: Clock,
    private readonly resources: ResourceAccounts,
  ) {}

  released(execution: Execution, now: number): void {
    const slot = this.next;
    this.executions[slot] = execution;
    this.attempts[slot] = execution.attempt;
    this.starts[slot] = this.heldSince(execution);
    this.ends[slot] = now;
    this.needs[slot] = execution.heldNeeds;
    this.next = slot + 1 === this.capacity ? 0 : slot + 1;
  }

  /** Records that an execution got its lent resources back. */
  resumed(execution: Execution, now: number): void {
    this.resumedAt.set(execution, now);
  }

  /** Takes a sample if one is due. Call it when usage may have changed. */
  observe(now: number): void {
    if (now < this.nextSampleAt) return;
    this.samples.push({ at: now, used: [...this.resources.used] });
    // Keeps half of the samples at twice the interval: the whole past stays covered, ever more coarsely.
    if (this.samples.length > MAX_SAMPLES) {
      this.samples = this.samples.filter((_, index) => index % 2 === 0);
      this.intervalMs *= 2;
    }
    this.nextSampleAt = now + this.intervalMs;
  }

  /** The most recently released allocations, oldest first. */
  allocations(): AllocationRecord[] {
    const count = this.executions.length;
    const first = count < this.capacity ? 0 : this.next;
    return Array.from({ length: count }, (_, index) => {
      const slot = (first + index) % count;
      const execution = this.executions[slot]!;
      const { tool } = execution.demand;
      const needs = this.needs[slot]!;
      return {
        executionId: execution.id,
        toolName: tool.name,
        attempt: this.attempts[slot]!,
        amounts: this.resources.names.byResource((index) => (needs[index] ?? 0) / SCALE),
        from: this.clock.epoch + this.starts[slot]!,
        until: this.clock.epoch + this.ends[slot]!,
      };
    });
  }

  /** The samples, and the current usage. */
  utilization(): UtilizationSample[] {
    const present = { at: this.clock.now(), used: [...this.resources.used] };
    return [...this.samples, present].map(({ at, used }) => ({
      at: this.clock.epoch + at,
      used: this.resources.names.byResource((index) => (used[index] ?? 0) / SCALE),
    }));
  }

  private heldSince(execution: Execution): number {
    if (this.resumedAt.size === 0) return execution.startedAt;
    const at = this.resumedAt.get(execution) ?? execution.startedAt;
    this.resumedAt.delete(execution);
    return at;
  }
}
