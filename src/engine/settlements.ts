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
    const known = new Set(this.settledJobs);
    for (const job of jobs) if (job.isSettled && !known.has(job)) this.settled(job);
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
    let told = 0;
    try {
      for (const job of jobs) {
        told++;
        const { group } = job.demand;
        if (group.unsettled === 0) ended.add(group);
        this.callbacks.get(group)?.(job.currentOutcome());
      }
    } finally {
      // Where a callback throws, the others are told nevertheless.
      if (told < jobs.length) this.tellLater(jobs.slice(told));
      this.forget(ended);
    }
  };

  private tellLater(jobs: readonly Job[]): void {
    if (this.settledJobs.length === 0) queueMicrotask(this.tell);
    this.settledJobs = [...jobs, ...this.settledJobs];
  }

  /** A callback may have submitted more to a group that had ended. */
  private forget(groups: ReadonlySet<Group>): void {
    if (groups.size === 0) return;
    const untold = new Set(this.settledJobs.map(({ demand }) => demand.group));
    for (const group of groups) if (group.unsettled === 0 && !untold.has(group)) this.callbacks.delete(group);
  }
}
