import type { Effects } from '../../../src/core/effects.ts';
import { Execution } from '../../../src/core/execution.ts';
import type { Group } from '../../../src/core/group.ts';
import { Scheduler } from '../../../src/core/scheduler.ts';
import type { SchedulerOptions } from '../../../src/core/scheduler-options.ts';
import type { ExecutionSpec, GroupSpec } from '../../../src/core/spec.ts';

/** An execution with the virtual time that it will really take. */
export interface Work extends ExecutionSpec {
  readonly durationMs: number;
}

/** An execution on virtual time. */
export class VirtualExecution extends Execution {
  constructor(readonly durationMs: number) {
    super();
  }
}

/** A scheduler on virtual time that a test can stop in the middle, look into, and let go on. */
export class VirtualScheduler implements Effects {
  now = 0;
  readonly scheduler: Scheduler;
  /** How many executions have settled so far. */
  settledCount = 0;
  /** The running executions with the moments of their ends. */
  private readonly ends = new Map<VirtualExecution, number>();

  constructor(options: SchedulerOptions) {
    this.scheduler = new Scheduler(this, options, ['durationMs']);
  }

  /** Submits one and lets it start if it can. */
  submit(work: Work): VirtualExecution {
    const execution = new VirtualExecution(work.durationMs);
    this.scheduler.submit(execution, work, this.now);
    this.scheduler.advance(this.now);
    return execution;
  }

  /** Submits a group and lets start what can. */
  submitAll(works: readonly Work[], options: GroupSpec = {}): Group {
    const executions = works.map((work) => new VirtualExecution(work.durationMs));
    const group = this.scheduler.submitAll(executions, works, this.now, options);
    this.scheduler.advance(this.now);
    return group;
  }

  /** Lets time pass until so many have settled in all, or until nothing more happens. Returns the virtual time. */
  run(untilSettled = Number.POSITIVE_INFINITY): number {
    while (this.settledCount < untilSettled) {
      const at = Math.min(this.scheduler.nextWakeAt(), ...this.ends.values());
      if (at === Number.POSITIVE_INFINITY) break;
      this.now = at;
      for (const [execution, end] of this.ends) {
        if (end > at) continue;
        this.ends.delete(execution);
        this.scheduler.succeed(execution, execution.attempt, at);
      }
      this.scheduler.advance(at);
    }
    return this.now;
  }

  start(execution: VirtualExecution): void {
    this.ends.set(execution, this.now + execution.durationMs);
  }

  stop(execution: VirtualExecution): void {
    this.ends.set(execution, this.now);
  }

  settled(): void {
    this.settledCount++;
  }

  retrying(): void {}
  released(): void {}
  abandoned(): void {}
  resumed(): void {}
}
