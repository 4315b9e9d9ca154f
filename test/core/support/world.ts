import type { Effects } from '../../../src/core/effects.ts';
import { Execution } from '../../../src/core/execution.ts';
import type { Failure, FailureReason } from '../../../src/core/failure.ts';
import type { Group } from '../../../src/core/group.ts';
import { offers } from '../../../src/core/labels.ts';
import { type PlacedWorker, WorkerPlacement, type WorkerSpec } from '../../../src/core/placement.ts';
import { Scheduler } from '../../../src/core/scheduler.ts';
import type { SchedulerLimits, SchedulerOptions } from '../../../src/core/scheduler-options.ts';
import type { ExecutionSpec, GroupSpec } from '../../../src/core/spec.ts';
import type { AttemptUsage } from '../../../src/core/usage.ts';
import { validate } from '../../../src/core/validate.ts';
import { Monitor } from './monitor.ts';

/** A specification in which the tool may be left out. */
export type Draft = Partial<ExecutionSpec>;

/** A group that was submitted, with its members in the order of the specifications. */
export interface Submitted {
  readonly group: Group;
  readonly executions: readonly Execution[];
}

/** An attempt that was started and has not ended, stopped or not. */
export interface Attempt {
  readonly execution: Execution;
  readonly number: number;
}

export interface WorldOptions extends SchedulerOptions {
  /** Whether each call lets the scheduler look again, as the engine does; otherwise call `advance`. Default true. */
  readonly advancesAlone?: boolean;
  /** Places executions on these workers. */
  readonly workers?: readonly WorkerSpec[];
}

/**
 * A real scheduler on virtual time. It writes down what the scheduler says, watches that it breaks no promise, and
 * validates all of its state after every single call.
 */
export class World implements Effects {
  now = 0;
  readonly scheduler: Scheduler;
  /** Everything that happened, for example `10 start a#1`. */
  readonly log: string[] = [];
  /** The ids in the order of their starts, an id once for each attempt. */
  readonly started: string[] = [];
  readonly attempts: Attempt[] = [];
  readonly monitor: Monitor;
  private readonly advancesAlone: boolean;

  constructor(readonly options: WorldOptions = {}) {
    const { advancesAlone = true, workers, ...rest } = options;
    this.advancesAlone = advancesAlone;
    this.scheduler = new Scheduler(this, rest);
    this.monitor = new Monitor(this.scheduler);
    if (workers === undefined) return;
    this.scheduler.usePlacement(new WorkerPlacement());
    for (const worker of workers) this.join(worker);
  }

  submit(draft: Draft): Execution {
    const execution = new Execution();
    const spec = toSpec(draft);
    this.change(() => {
      this.scheduler.submit(execution, spec, this.now);
      this.monitor.accepted(execution, spec);
    });
    return execution;
  }

  submitAll(drafts: readonly Draft[], options: GroupSpec = {}): Submitted {
    const executions = drafts.map(() => new Execution());
    const specs = drafts.map(toSpec);
    const group = this.change(() => {
      if (options.maxConcurrency !== undefined) this.monitor.limitsWereChanged = true;
      const made = this.scheduler.submitAll(executions, specs, this.now, options);
      for (const [index, execution] of executions.entries()) this.monitor.accepted(execution, specs[index]!);
      return made;
    });
    return { group, executions };
  }

  succeed(execution: Execution, attempt = execution.attempt): boolean {
    this.attemptEnds(execution, attempt);
    return this.change(() => this.scheduler.succeed(execution, attempt, this.now));
  }

  fail(
    execution: Execution,
    failure: FailureReason | Failure = 'error',
    attempt = execution.attempt,
  ): boolean {
    this.attemptEnds(execution, attempt);
    const full: Failure = typeof failure === 'string' ? { reason: failure } : failure;
    if (full.memoryMb !== undefined) this.monitor.raised.add(execution);
    return this.change(() => this.scheduler.fail(execution, attempt, full, this.now));
  }

  progress(execution: Execution, attempt = execution.attempt): boolean {
    return this.change(() => this.scheduler.progress(execution, attempt, this.now));
  }

  began(execution: Execution, attempt = execution.attempt): void {
    this.change(() => this.scheduler.began(execution, attempt, this.now));
  }

  /** The attempt that runs keeps its result. */
  keeping(execution: Execution, releases = false): void {
    this.change(() => this.scheduler.keep(execution, execution.attempt, releases, this.now));
  }

  cancel(execution: Execution, reason: unknown = 'asked'): boolean {
    return this.change(() => this.scheduler.cancel([execution], reason, this.now) > 0);
  }

  cancelGroup(group: Group, reason: unknown = 'asked'): void {
    this.change(() => this.scheduler.cancelGroup(group, reason, this.now));
  }

  cancelAll(reason: unknown = 'asked'): void {
    this.change(() => this.scheduler.cancelAll(reason, this.now));
  }

  pause(group?: Group): void {
    this.change(() => this.scheduler.pause(group));
  }

  resume(group?: Group): void {
    this.change(() => this.scheduler.resume(group));
  }

  limit(limits: SchedulerLimits): void {
    this.change(() => {
      this.scheduler.limit(limits);
      this.monitor.limitsWereChanged = true;
    });
  }

  join(worker: WorkerSpec): void {
    this.change(() => this.scheduler.changeWorkers((placement) => placement.join(worker)));
  }

  drain(id: string): void {
    this.change(() => this.scheduler.changeWorkers((placement) => placement.drain(id)));
  }

  /** A worker dies, and all attempts on it are lost. */
  leave(id: string): void {
    const lost = this.attempts.filter(({ execution }) => execution.worker === id);
    this.change(() => this.scheduler.changeWorkers((placement) => placement.leave(id)));
    for (const { execution, number } of lost) this.fail(execution, 'crashed', number);
  }

  /** The workers, in the order in which they have joined. */
  get workers(): PlacedWorker[] {
    return [...(this.scheduler.dispatcher.placement?.workers.values() ?? [])];
  }

  used(toolName: string, usage: AttemptUsage): void {
    this.change(() => this.scheduler.used(toolName, [usage]));
  }

  lend(execution: Execution): void {
    this.change(() => {
      this.scheduler.lend(execution);
      if (execution.room === 'lent') this.monitor.lent(execution);
    });
  }

  reclaim(execution: Execution): void {
    this.change(() => {
      this.scheduler.reclaim(execution);
      this.monitor.reclaimed(execution);
    });
  }

  /** How many plans were adopted so far. */
  plansAdopted = 0;

  /** Makes a plan, as the engine does between two turns. Returns whether it is in charge. */
  plan(): boolean {
    if (!this.scheduler.wantsPlan) return false;
    const draft = this.scheduler.draftPlan(this.now);
    if (draft === undefined) return false;
    draft.search.step(50);
    const isAdopted = this.change(() => this.scheduler.adoptPlan(draft));
    if (isAdopted) this.plansAdopted++;
    return isAdopted;
  }

  /** Lets time pass, and the scheduler wake at every moment at which it wants to. */
  advance(byMs = 0): void {
    const until = this.now + byMs;
    for (;;) {
      const next = this.scheduler.nextWakeAt();
      if (next > until) break;
      this.now = Math.max(this.now, next);
      this.look();
    }
    this.now = until;
    this.look();
  }

  find(id: string): Execution {
    const found = this.scheduler.graph.find(id);
    if (found === undefined) throw new Error(`${id} is not known`);
    return found;
  }

  /** The ids of what runs now, in the order of their starts. */
  get running(): string[] {
    return this.attempts
      .filter(({ execution }) => execution.statusName === 'running')
      .map(({ execution }) => execution.id);
  }

  /** The status of each execution in a list, by id. */
  statuses(executions: Iterable<Execution>): Record<string, string> {
    return Object.fromEntries([...executions].map((execution) => [execution.id, execution.statusName]));
  }

  start(execution: Execution): void {
    this.note(`start ${execution.id}#${execution.attempt}`);
    this.started.push(execution.id);
    this.attempts.push({ execution, number: execution.attempt });
    this.monitor.started(execution, this.now);
    this.checkWorker(execution);
  }

  /** What starts is within the capacity of its worker, which has its labels and takes work. */
  private checkWorker({ id, demand, worker: on }: Execution): void {
    const { placement } = this.scheduler.dispatcher;
    if (placement === undefined) return;
    const worker = placement.workers.get(on!)!;
    const isOver = demand.needs.some(
      (need, index) => need > 0 && worker.usedOf(index) > worker.limitOf(index),
    );
    if (isOver || worker.isDraining || !offers(worker.labels, demand.on ?? {}))
      throw new Error(`${id} may not run on ${on}`);
  }

  stop(execution: Execution): void {
    this.note(`stop ${execution.id}#${execution.attempt}`);
  }

  retrying(execution: Execution, failure: Failure): void {
    this.note(`retry ${execution.id} at ${execution.retryAt} after ${failure.reason}`);
  }

  settled(execution: Execution): void {
    this.note(`settle ${execution.id} ${describeEnd(execution)}`);
    this.monitor.settled(execution);
  }

  released(execution: Execution): void {
    this.note(`release ${execution.id}`);
    this.monitor.released(execution);
  }

  abandoned(execution: Execution): void {
    this.note(`abandon ${execution.id}#${execution.attempt}`);
  }

  resumed(execution: Execution): void {
    this.note(`resume ${execution.id}`);
    this.monitor.resumed(execution);
  }

  /** Throws if anything in the scheduler contradicts anything else. Every call does it. */
  validate(): void {
    validate(this.scheduler, { limitsWereLowered: this.monitor.limitsWereChanged });
  }

  private note(what: string): void {
    this.log.push(`${this.now} ${what}`);
  }

  private attemptEnds(execution: Execution, number: number): void {
    const at = this.attempts.findIndex(
      (attempt) => attempt.execution === execution && attempt.number === number,
    );
    if (at >= 0) this.attempts.splice(at, 1);
  }

  private change<T>(change: () => T): T {
    let result: T;
    try {
      result = change();
    } finally {
      this.validate();
    }
    if (this.advancesAlone) this.look();
    return result;
  }

  private look(): void {
    this.scheduler.advance(this.now);
    this.validate();
    this.monitor.looked(this.now);
  }
}

/** How an execution settled, in a word or two: `completed`, `failed: timeout`, `skipped: a`. */
export function describeEnd({ ending, statusName }: Execution): string {
  switch (ending?.kind) {
    case 'failed':
      return `failed: ${ending.failure.reason}`;
    case 'cancelled':
      return `cancelled: ${ending.reason}`;
    case 'skipped':
      return `skipped: ${ending.cause?.id ?? 'not needed'}`;
    default:
      return statusName;
  }
}

function toSpec(draft: Draft): ExecutionSpec {
  return { toolName: 'tool', ...draft };
}
