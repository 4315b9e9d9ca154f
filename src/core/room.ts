import type { Execution } from './execution.ts';
import type { LockHolder } from './lock.ts';
import { ResourceAccounts } from './resources.ts';

/** Keeps the books of all that running executions hold: amounts, slots of tools and groups, conflicts and locks. */
export class Room {
  readonly resources: ResourceAccounts;
  /** Who holds room, in no particular order; each knows its place. */
  readonly holders: Execution[] = [];

  constructor(lockPromoted: (holder: LockHolder) => void) {
    this.resources = new ResourceAccounts({}, lockPromoted);
  }

  /** Takes all that an execution needs. It must fit. */
  occupy(execution: Execution): void {
    const { needs, tool, group, conflicts } = execution.demand;
    execution.room = 'held';
    const { holders } = this;
    // Not `push`: V8 calls that, where it can do this in place.
    execution.place = holders.length;
    holders[holders.length] = execution;
    this.resources.take(needs);
    tool.running++;
    group.running++;
    for (const other of conflicts) other.conflictedBy++;
    if (execution.claims !== undefined) this.resources.locks.take(execution);
  }

  /** Gives back all that an execution holds. */
  vacate(execution: Execution): void {
    const { needs, tool, group, conflicts } = execution.demand;
    execution.room = 'none';
    const last = this.holders.pop()!;
    if (last !== execution) {
      this.holders[execution.place] = last;
      last.place = execution.place;
    }
    this.resources.giveBack(needs);
    tool.running--;
    group.running--;
    for (const other of conflicts) other.conflictedBy--;
    if (execution.claims !== undefined) this.resources.locks.release(execution);
  }

  areLocksFree(execution: Execution): boolean {
    const { locks } = this.resources;
    return (
      execution.claims === undefined || execution.claims.every((claim) => locks.isFree(claim, execution))
    );
  }

  /** What was running before may go on even if a limit was lowered meanwhile, as soon as nobody else uses it. */
  mayResume(execution: Execution): boolean {
    const { needs, tool, group, conflicts } = execution.demand;
    const { used, limits } = this.resources;
    for (let index = 0; index < needs.length; index++) {
      const need = needs[index]!;
      if (need > 0 && used[index]! > 0 && used[index]! + need > limits[index]!) return false;
    }
    if (tool.running >= tool.maxConcurrency || tool.conflictedBy > 0) return false;
    if (group.running >= group.maxConcurrency || conflicts.some((other) => other.running > 0)) return false;
    return this.areLocksFree(execution);
  }
}
