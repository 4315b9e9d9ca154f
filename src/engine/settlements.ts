import type { Group } from '../core/group.ts';
import type { Job } from './job.ts';
import type { Outcome } from './outcome.ts';

/** Tells of executions that have settled, for each group to one who asked. */
export class Settlements {
  private readonly callbacks = new Map<Group, (outcome: Outcome) => void>();
  private settledJobs: Job[] = [];

  follow(group: Group, jobs: readonly Job[], callback: (outcome: Outcome) => void): void {
    if (jobs.length === 0) return;
    this.callbacks.set(group, callback);
    for (const job of jobs) if (job.isSettled && !this.settledJobs.includes(job)) this.settled(job);
  }

  /** Not in the middle of a change: what settles in one go is told afterwards. */
  settled(job: Job): void {
    if (this.callbacks.size === 0) return;
    if (this.settledJobs.length === 0) queueMicrotask(this.tell);
    this.settledJobs.push(job);
  }

  private readonly tell = (): void => {
    const jobs = this.settledJobs;
    this.settledJobs = [];
    const ended = new Set<Group>();
    for (const job of jobs) {
      const { group } = job.demand;
      this.callbacks.get(group)?.(job.currentOutcome());
      if (group.unsettled === 0) ended.add(group);
    }
    for (const group of ended) this.callbacks.delete(group);
  };
}
