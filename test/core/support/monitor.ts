import { SCALE } from '../../../src/core/demand.ts';
import type { Execution } from '../../../src/core/execution.ts';
import type { RateLimit } from '../../../src/core/rate.ts';
import { goesBefore } from '../../../src/core/ready-queue.ts';
import { RESOURCE_TABLE } from '../../../src/core/resource-table.ts';
import type { Scheduler } from '../../../src/core/scheduler.ts';
import type { ExecutionSpec } from '../../../src/core/spec.ts';
import { assertNothingFits } from './work-conservation.ts';

/**
 * Keeps an account of its own of what the scheduler starts, from the specifications alone, and throws when a promise
 * is broken: a limit, a lock, a conflict, an order, an end that comes twice.
 */
export class Monitor {
  /** Whether limits were changed: what ran before may then use more than they allow now. */
  limitsWereChanged = false;
  /** All that was accepted, with what was asked for. */
  readonly specs = new Map<Execution, ExecutionSpec>();
  readonly settledOnes = new Set<Execution>();
  /** Those that were given more memory than they asked for. */
  readonly raised = new Set<Execution>();
  private readonly dependencies = new Map<Execution, readonly Execution[]>();
  private readonly holding = new Set<Execution>();
  private readonly starts = new Map<RateLimit, number[]>();
  /** Those that asked for their lent room back and do not have it yet. */
  private readonly wantingBack = new Set<Execution>();
  /** Whether room was kept for one that resumes when the scheduler had its last turn. */
  private wasReservedToResume = false;

  constructor(private readonly scheduler: Scheduler) {}

  accepted(execution: Execution, spec: ExecutionSpec): void {
    this.specs.set(execution, spec);
    this.dependencies.set(execution, execution.dependencies ?? []);
  }

  started(execution: Execution, now: number): void {
    this.expect(!this.settledOnes.has(execution), 'starts after it settled', execution);
    this.expect(!this.holding.has(execution), 'starts while an attempt of it holds room', execution);
    this.expect(this.dependenciesAllow(execution), 'starts against its dependencies', execution);
    const { group, tool } = execution.demand;
    this.expect(!this.scheduler.dispatcher.isPaused && !group.isPaused, 'starts in a pause', execution);
    const quota = this.scheduler.dispatcher.quotas.byName.get(execution.quota);
    const isWithinQuota = quota === undefined || (now >= quota.until && quota.running <= quota.allowed);
    this.expect(isWithinQuota || quota?.probe === execution, 'starts beyond its quota', execution);
    for (const rate of [tool.rate, group.rate]) if (rate !== undefined) this.countStart(rate, execution, now);
    this.takesRoom(execution);
    for (const [index, name] of this.scheduler.dispatcher.resources.names.all.entries()) {
      const own = this.needs(execution)[index]!;
      const isWithin = own === 0 || this.inUse(index) <= this.scheduler.dispatcher.resources.limits[index]!;
      this.expect(isWithin, `starts beyond the limit of ${name}`, execution);
    }
    if (this.scheduler.dispatcher.plan === undefined) this.expectOrder(execution, now);
  }

  /** One whose limit was lowered meanwhile goes on as soon as nobody else uses that resource. */
  resumed(execution: Execution): void {
    this.wantingBack.delete(execution);
    this.takesRoom(execution);
    for (const [index, name] of this.scheduler.dispatcher.resources.names.all.entries()) {
      const own = this.needs(execution)[index]!;
      const used = this.inUse(index);
      const isWithin =
        used <= this.scheduler.dispatcher.resources.limits[index]! || used === own || own === 0;
      this.expect(isWithin, `resumes beyond the limit of ${name}`, execution);
    }
  }

  released(execution: Execution): void {
    this.expect(this.holding.delete(execution), 'gives back room that it has not', execution);
  }

  lent(execution: Execution): void {
    this.holding.delete(execution);
    this.wantingBack.delete(execution);
  }

  reclaimed(execution: Execution): void {
    if (execution.room === 'lent') this.wantingBack.add(execution);
  }

  settled(execution: Execution): void {
    this.expect(!this.settledOnes.has(execution), 'settles twice', execution);
    this.settledOnes.add(execution);
  }

  /** The scheduler has had its turn: whatever can run runs. */
  looked(now: number): void {
    const { resuming, reserved } = this.scheduler.dispatcher;
    for (const execution of this.wantingBack) {
      if (execution.room !== 'lent') this.wantingBack.delete(execution);
      else this.expect(resuming.includes(execution), 'will never have its room back', execution);
    }
    if (this.scheduler.dispatcher.plan === undefined) assertNothingFits(this.scheduler, now);
    else this.expectProgress(now);
    this.wasReservedToResume = reserved?.room === 'lent';
  }

  /** A plan may hold back what fits, but never everything. */
  private expectProgress(now: number): void {
    if (this.holding.size > 0) return;
    const { graph } = this.scheduler;
    for (const execution of graph)
      this.expect(execution.statusName !== 'queued', `waits at ${now} although nothing runs`, execution);
  }

  /**
   * Of those that need no lock, none that goes before would have fitted in its place, unless a reservation kept it out:
   * that changes nothing for those that go before the owner of the reservation.
   */
  private expectOrder(execution: Execution, now: number): void {
    const { dispatcher, graph } = this.scheduler;
    const { reserved } = dispatcher;
    // What resumes goes before everything.
    if (this.wasReservedToResume || reserved?.room === 'lent') return;
    const { needs, tool, group, conflicts } = execution.demand;
    const add = (count: 1 | -1) => {
      tool.running += count;
      group.running += count;
      for (const other of conflicts) other.conflictedBy += count;
    };
    dispatcher.resources.giveBack(needs);
    add(-1);
    for (const other of graph) {
      if (other.statusName !== 'queued' || other.claims !== undefined || !goesBefore(other, execution))
        continue;
      if (reserved !== undefined && goesBefore(reserved, other)) continue;
      const isKeptOut = dispatcher.obstacle(other.demand, now) !== undefined;
      this.expect(isKeptOut, `starts before ${other.id}, which is more urgent and fits`, execution);
    }
    add(1);
    dispatcher.resources.take(needs);
  }

  private takesRoom(execution: Execution): void {
    this.holding.add(execution);
    const { tool, group } = execution.demand;
    const ofTool = [...this.holding].filter(({ demand }) => demand.tool === tool).length;
    const ofGroup = [...this.holding].filter(({ demand }) => demand.group === group).length;
    this.expect(ofTool <= tool.maxConcurrency, `runs beyond the limit of ${tool.name}`, execution);
    this.expect(ofGroup <= group.maxConcurrency, `runs beyond the limit of ${group.name}`, execution);
    for (const other of this.holding) {
      if (other !== execution)
        this.expect(this.areCompatible(execution, other), `runs with ${other.id}`, execution);
    }
  }

  private dependenciesAllow(execution: Execution): boolean {
    const statuses = this.dependencies.get(execution)!.map((dependency) => dependency.statusName);
    const areSettled = this.dependencies
      .get(execution)!
      .every((dependency) => this.settledOnes.has(dependency));
    const areCompleted = statuses.every((status) => status === 'completed');
    switch (this.specs.get(execution)!.onDependencyFailure ?? 'skip') {
      case 'run':
        return areSettled;
      case 'on-failure':
        return areSettled && !areCompleted;
      default:
        return areCompleted;
    }
  }

  private areCompatible(a: Execution, b: Execution): boolean {
    const [one, other] = [this.specs.get(a)!, this.specs.get(b)!];
    const conflicts =
      one.conflictsWith?.includes(other.toolName) || other.conflictsWith?.includes(one.toolName) || false;
    return !conflicts && !this.excludes(one, other) && !this.excludes(other, one);
  }

  private excludes({ resources = {} }: ExecutionSpec, other: ExecutionSpec): boolean {
    const names = [...(other.resources?.exclusive ?? []), ...(other.resources?.shared ?? [])];
    return resources.exclusive?.some((name) => names.includes(name)) ?? false;
  }

  private needs(execution: Execution): readonly number[] {
    const { resources = {}, learnUsage = false } = this.specs.get(execution)!;
    const learned = learnUsage || this.raised.has(execution) ? execution.heldNeeds : undefined;
    const amounts = RESOURCE_TABLE.map(({ need, written, defaultNeed }) => {
      const value = resources[need];
      if (value === undefined && learned !== undefined && need === 'cpu') return learned[1]! / SCALE;
      const isMemoryLearned = value === undefined || this.raised.has(execution);
      if (isMemoryLearned && learned !== undefined && need === 'memoryMb') return learned[2]! / SCALE;
      if (value === undefined) return defaultNeed;
      return typeof value === 'string' ? (written as Record<string, number>)[value]! : Number(value);
    });
    const { named } = this.scheduler.dispatcher.resources.names;
    const others = Array.from(named.keys(), (name) => Number(resources[name] ?? 0));
    return [1, ...amounts, ...others].map((amount) => Math.round(amount * SCALE));
  }

  private inUse(index: number): number {
    let sum = 0;
    for (const execution of this.holding) sum += this.needs(execution)[index]!;
    return sum;
  }

  private countStart(rate: RateLimit, execution: Execution, now: number): void {
    const starts = this.starts.get(rate) ?? [];
    starts.push(now);
    this.starts.set(rate, starts);
    const inWindow = starts.filter((at) => at > now - rate.perMs).length;
    this.expect(inWindow <= rate.count, `starts beyond the rate of ${rate.owner}`, execution);
  }

  private expect(holds: boolean, fault: string, execution: Execution): void {
    if (!holds) throw new Error(`${execution.id} (attempt ${execution.attempt}) ${fault}`);
  }
}
