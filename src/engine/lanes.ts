import { AsyncResource } from 'node:async_hooks';
import type { Execution } from '../core/execution.ts';
import type { Scheduler } from '../core/scheduler.ts';
import { Status } from '../core/status.ts';
import { BackgroundPlanner } from './background-planner.ts';
import { Alarm, type Clock } from './clock.ts';
import { Job } from './job.ts';
import { thrownUndefined } from './outcome.ts';
import { Task, type TaskOwner } from './task.ts';
import { toFailure } from './tool-failure.ts';

/** After this long without a break, the loop yields to the event loop. */
const SLICE_MS = 10;
/** Lanes kept for later; a thousand may have been open at once. */
const MAX_IDLE = 64;

/**
 * Calls the functions that the scheduler starts. A lane runs them one after the other, so that the end of one and the
 * start of the next share a turn; there are as many lanes as concurrent attempts. Every few milliseconds the lanes
 * yield to the event loop, however many small tasks there are.
 */
export class Lanes {
  /**
   * One of each is kept alive: when a garbage collection finds none, as in a pause between two batches, V8 discards the
   * optimized code for them, and the next batch would begin slowly.
   */
  static readonly kept = new Task(undefined as never, new Job<unknown>(undefined as never, () => undefined));
  /** The attempts to start, from `nextStart` to `endOfStarts`; the array is reused. */
  private readonly starts: (Execution | undefined)[] = [];
  private nextStart = 0;
  private endOfStarts = 0;
  private stops: Task[] = [];
  /** Lanes that have nothing to call. */
  readonly idle: Lane[] = [];
  /** When the current turn was first requested. */
  private requestedAt = 0;
  private isTurnRequested = false;
  private isSliceOpen = false;
  private sliceStartedAt = 0;
  private readonly alarm: Alarm;
  private readonly planner: BackgroundPlanner;
  /**
   * The async context in which the engine was created. All lanes run in it: otherwise a function would see the context
   * of the caller whose function ran before it in its lane.
   */
  private readonly context = new AsyncResource('volley');

  constructor(
    private readonly scheduler: Scheduler,
    private readonly clock: Clock,
    private readonly owner: TaskOwner,
    private readonly turnEnded: (now: number) => void,
  ) {
    this.alarm = new Alarm(clock, this.turn);
    this.planner = new BackgroundPlanner(scheduler, () => void this.requestTurn());
  }

  /** Called by the scheduler to run an attempt. */
  start(execution: Execution): void {
    this.starts[this.endOfStarts++] = execution;
  }

  /** Called by the scheduler to stop an attempt. */
  stop(execution: Execution): void {
    const { task } = execution as Job;
    if (task === undefined) return;
    task.keepDependencies();
    this.stops.push(task);
  }

  /**
   * Schedules a turn of the scheduler, after the caller is done. Returns the time. Everything a caller does
   * synchronously happens at the same time, so that priorities decide and not the order of a loop.
   */
  requestTurn(): number {
    if (!this.isTurnRequested) {
      this.isTurnRequested = true;
      this.requestedAt = this.clock.now();
      queueMicrotask(this.turn);
    }
    return this.requestedAt;
  }

  /** Aborts stopped attempts. Call it after the scheduler has returned, because listeners may call back. */
  deliverStops(): void {
    while (this.stops.length > 0) {
      const stops = this.stops;
      this.stops = [];
      for (const task of stops) task.stop(task.job.stopReason());
    }
  }

  rest(): void {
    this.alarm.clear();
  }

  private readonly turn = (): void => {
    this.isTurnRequested = false;
    this.context.runInAsyncScope(this.openLanes);
  };

  private readonly openLanes = (): void => {
    const execution = this.next(this.clock.now());
    if (execution !== undefined) this.openLane(execution);
  };

  /** Runs the scheduler, opens further lanes if it starts several attempts, and returns the last one to the caller. */
  private next(now: number): Execution | undefined {
    this.planner.consider(now);
    this.scheduler.advance(now);
    if (this.stops.length > 0) this.deliverStops();
    this.alarm.setFor(this.scheduler.nextWakeAt());
    this.turnEnded(now);
    if (!this.isSliceOpen) this.openSlice(now);
    else if (now - this.sliceStartedAt >= SLICE_MS) return undefined;
    let execution = this.takeStart();
    for (let other = this.takeStart(); other !== undefined; other = this.takeStart()) {
      this.openLane(execution!);
      execution = other;
    }
    return execution;
  }

  private takeStart(): Execution | undefined {
    if (this.nextStart === this.endOfStarts) {
      this.nextStart = this.endOfStarts = 0;
      return undefined;
    }
    const execution = this.starts[this.nextStart];
    this.starts[this.nextStart++] = undefined;
    return execution;
  }

  private openSlice(now: number): void {
    this.isSliceOpen = true;
    this.sliceStartedAt = now;
    setImmediate(this.closeSlice);
  }

  private readonly closeSlice = (): void => {
    this.isSliceOpen = false;
    if (this.nextStart < this.endOfStarts) this.turn();
  };

  /** Begins an attempt; undefined if it was stopped or restarted before it began. */
  begin(execution: Execution, now: number): Task | undefined {
    const { attempt } = execution;
    const job = execution as Job;
    if (execution.state !== Status.running) {
      // The attempt was stopped between the scheduler's decision and now, before it began.
      this.scheduler.succeed(execution, attempt, now);
      this.requestTurn();
      return undefined;
    }
    // It was restarted in between, and the new attempt has been called already.
    if (job.task?.attempt === attempt) return undefined;
    // Functions called earlier in the same turn may have taken a while.
    if (now !== execution.startedAt || hasRate(execution)) this.scheduler.called(execution, attempt, now);
    const task = new Task(this.owner, job);
    job.task = task;
    return task;
  }

  /** Handles the end of an attempt, and returns what its lane calls next. */
  returned(task: Task, value: unknown, now: number): Execution | undefined {
    task.value = value;
    this.scheduler.succeed(task.job, task.attempt, now);
    return this.ended(task, now);
  }

  threw(task: Task, error: unknown, now: number): Execution | undefined {
    const { job } = task;
    const failure = toFailure(error === undefined ? thrownUndefined(job) : error, this.clock.epoch + now);
    this.scheduler.fail(job, task.attempt, failure, now);
    task.cancelChildren('parent-failed');
    return this.ended(task, now);
  }

  private ended(task: Task, now: number): Execution | undefined {
    const { job } = task;
    if (job.task === task) job.task = undefined;
    task.continue();
    return this.next(now);
  }

  private openLane(first: Execution): void {
    const lane = this.idle.pop() ?? new Lane(this, this.clock);
    lane.run(first, this.clock.now());
  }
}

const { then } = Promise.prototype;

/**
 * Calls one function after another. An `async` function would be shorter, but `await` creates two functions for each
 * attempt, and this has two for all of them.
 */
class Lane {
  /** Kept alive like those of {@link Lanes}. */
  static readonly kept = new Lane(undefined as never, undefined as never);
  private task: Task | undefined = undefined;

  constructor(
    private readonly lanes: Lanes,
    private readonly clock: Clock,
  ) {}

  run(first: Execution | undefined, at: number): void {
    const { lanes } = this;
    let execution = first;
    let now = at;
    while (execution !== undefined) {
      const task = lanes.begin(execution, now);
      if (task === undefined) break;
      let result: Promise<unknown>;
      try {
        result = Promise.resolve(task.job.run(task));
      } catch (error) {
        now = this.clock.now();
        execution = lanes.threw(task, error, now);
        continue;
      }
      this.task = task;
      // As with `await`, no `then` that a promise has of its own is called.
      then.call(result, this.returned, this.threw);
      return;
    }
    this.task = undefined;
    if (lanes.idle.length < MAX_IDLE) lanes.idle.push(this);
  }

  private readonly returned = (value: unknown): void => {
    const now = this.clock.now();
    this.run(this.lanes.returned(this.task!, value, now), now);
  };

  private readonly threw = (error: unknown): void => {
    const now = this.clock.now();
    this.run(this.lanes.threw(this.task!, error, now), now);
  };
}

function hasRate({ demand: { tool, group } }: Execution): boolean {
  return tool.rate !== undefined || group.rate !== undefined;
}
