import { CONCURRENCY, SCALE } from '../demand.ts';
import type { Random } from '../random.ts';
import { normal } from './distribution.ts';
import type { Plan, PlannedClass } from './plan.ts';
import { TimeHeap } from './time-heap.ts';

/** After so many classes that do not fit, no further are tried: it bounds the cost where all needs are different. */
const MAX_MISFITS = 32;

/** What came out of one play of a plan. */
export interface Played {
  /** When the last execution that counts ended. */
  readonly endMs: number;
  /** When the last execution started: until then there was always something left to start. */
  readonly lastStartMs: number;
  /** The running time of all executions together, and the part of it before the last start. */
  readonly workMs: number;
  readonly workBeforeLastStartMs: number;
}

/**
 * Plays a plan: starts what fits, in order, lets each take as long as chance decides, and tells when all is done. It
 * does in a fraction of a microsecond what the scheduler does for an execution, so that it can be done many times.
 */
export class PlanPlayer {
  private readonly used: Float64Array;
  private readonly toolRunning: Int32Array;
  private readonly toolConflicts: Int32Array;
  private readonly rateStarts: number[][];
  private readonly waitingFor: Int32Array;
  private readonly isRunning: Uint8Array;
  private readonly holdsRoom: Uint8Array;
  private readonly factors: Float64Array;
  private readonly classOf: Int32Array;
  private readonly sourceOf: Int32Array;
  private readonly unitMs: Float64Array;
  /** What could start, in order. */
  private readonly ready: Int32Array;
  private readyCount = 0;
  /** How many of each class could start, and of how many classes. */
  private readonly readyOf: Int32Array;
  private readyClasses = 0;
  /** The ends of what runs and of pauses. */
  private readonly agenda: TimeHeap;
  /** The pass in which a class was last found not to fit. */
  private readonly blockedIn: Int32Array;
  private pass = 0;
  private now = 0;
  private nextRateAt = 0;
  private running = 0;
  private workMs = 0;
  private lastStartMs = 0;
  private workBeforeLastStartMs = 0;
  private closeness = 1;
  /** How much longer each one that is running takes in this play. */
  readonly leftMs: Float64Array;
  /** How much all plays have done so far, as a measure of their cost. */
  steps = 0;

  constructor(private readonly plan: Plan) {
    const size = plan.executions.length;
    this.used = new Float64Array(plan.limits.length);
    this.toolRunning = new Int32Array(plan.toolCount);
    this.toolConflicts = new Int32Array(plan.toolCount);
    this.rateStarts = plan.rates.map(() => []);
    this.waitingFor = new Int32Array(size);
    this.isRunning = new Uint8Array(size);
    this.holdsRoom = new Uint8Array(size);
    this.factors = new Float64Array(plan.sources.length);
    this.classOf = Int32Array.from(plan.executions, (execution) => execution.class);
    this.sourceOf = Int32Array.from(plan.executions, (execution) => execution.source);
    this.unitMs = Float64Array.from(plan.executions, (execution) => execution.unitMs);
    this.ready = new Int32Array(size);
    this.agenda = new TimeHeap(size);
    this.leftMs = new Float64Array(size);
    this.readyOf = new Int32Array(plan.classes.length);
    this.blockedIn = new Int32Array(plan.classes.length);
  }

  /**
   * On a smaller `scale`, of one to n, each execution stands for n: its duration is as close to the mean as the mean of
   * n durations would be. What is running stands for itself alone, and so for an nth of its time.
   */
  play(random: Random, scale = 1): Played {
    const { agenda, plan } = this;
    this.closeness = 1 / Math.sqrt(scale);
    this.reset(random);
    this.resumeRunning(random, scale);
    this.startWhatFits(random);
    let endMs = 0;
    for (;;) {
      const at = Math.min(agenda.firstTime, this.nextRateAt);
      if (at === Number.POSITIVE_INFINITY) break;
      this.workMs += this.running * (at - this.now);
      this.now = at;
      while (agenda.firstTime <= at) {
        const place = agenda.takeFirst();
        if (this.isRunning[place] === 0) {
          this.addReady(place);
        } else {
          this.finish(place);
          if (plan.executions[place]!.counts) endMs = at;
        }
      }
      this.startWhatFits(random);
    }
    const { lastStartMs, workMs, workBeforeLastStartMs } = this;
    return { endMs, lastStartMs, workMs, workBeforeLastStartMs };
  }

  private reset(random: Random): void {
    const { plan } = this;
    this.used.fill(0);
    this.toolRunning.fill(0);
    this.toolConflicts.fill(0);
    this.isRunning.fill(0);
    this.holdsRoom.fill(0);
    this.now = 0;
    this.running = 0;
    this.workMs = 0;
    this.lastStartMs = 0;
    this.workBeforeLastStartMs = 0;
    plan.rates.forEach((rate, index) => {
      this.rateStarts[index] = [...rate.starts];
    });
    plan.sources.forEach(({ distribution, correction }, index) => {
      // What is known of the mean may be wrong, and then it is wrong for all of the source.
      const variance = Math.log(1 + distribution.relativeError ** 2);
      this.factors[index] = correction * Math.exp(Math.sqrt(variance) * normal(random) - variance / 2);
    });
    plan.executions.forEach((execution, place) => {
      this.waitingFor[place] = execution.waitingFor;
    });
  }

  private resumeRunning(random: Random, scale: number): void {
    const { executions, sources } = this.plan;
    for (let place = 0; place < executions.length; place++) {
      const { elapsedMs, source, unitMs, holdsRoom, pauseMs } = executions[place]!;
      if (elapsedMs >= 0) {
        const unit = this.factors[source]! * unitMs;
        const durationMs = unit * sources[source]!.distribution.drawBeyond(elapsedMs / unit, random);
        const leftMs = Math.max(0, durationMs - elapsedMs);
        this.leftMs[place] = leftMs;
        this.begin(place, leftMs / scale, holdsRoom);
      } else if (pauseMs > 0) {
        this.agenda.add(place, pauseMs);
      } else if (this.waitingFor[place] === 0) {
        this.addReady(place);
      }
    }
  }

  /** Starts what fits, in order. What does not fit does not keep out what does. */
  private startWhatFits(random: Random): void {
    const { plan, used, ready, blockedIn, classOf } = this;
    const slots = CONCURRENCY;
    const fullAbove = plan.limits[slots]! - SCALE;
    const pass = ++this.pass;
    this.nextRateAt = Number.POSITIVE_INFINITY;
    let kept = 0;
    let at = 0;
    let misfits = 0;
    while (
      at < this.readyCount &&
      misfits < MAX_MISFITS &&
      misfits < this.readyClasses &&
      used[slots]! <= fullAbove
    ) {
      const place = ready[at++]!;
      const classPlace = classOf[place]!;
      if (blockedIn[classPlace] === pass) {
        ready[kept++] = place;
      } else if (this.fits(plan.classes[classPlace]!)) {
        this.start(place, random, this.readyCount - at);
        if (--this.readyOf[classPlace]! === 0) this.readyClasses--;
      } else {
        blockedIn[classPlace] = pass;
        misfits++;
        ready[kept++] = place;
      }
    }
    this.steps += 1 + at;
    if (kept < at) {
      ready.copyWithin(kept, at, this.readyCount);
      this.lastStartMs = this.now;
      this.workBeforeLastStartMs = this.workMs;
    }
    this.readyCount -= at - kept;
  }

  private fits({ takes, amounts, tool, conflicts, rates }: PlannedClass): boolean {
    const { used } = this;
    const { limits } = this.plan;
    for (let index = 0; index < takes.length; index++) {
      const place = takes[index]!;
      if (used[place]! + amounts[index]! > limits[place]!) return false;
    }
    if (this.toolConflicts[tool]! > 0) return false;
    for (const other of conflicts) if (this.toolRunning[other]! > 0) return false;
    for (const rate of rates) if (!this.allowsStart(rate)) return false;
    return true;
  }

  private allowsStart(rate: number): boolean {
    const { count, perMs } = this.plan.rates[rate]!;
    const starts = this.rateStarts[rate]!;
    if (starts.length < count) return true;
    const allowedAt = starts[starts.length - count]! + perMs;
    if (allowedAt <= this.now) return true;
    if (allowedAt < this.nextRateAt) this.nextRateAt = allowedAt;
    return false;
  }

  private start(place: number, random: Random, behind: number): void {
    // Single executions decide when the end comes: the last ones never stand for many.
    const closeness = behind < 2 * this.running ? 1 : this.closeness;
    const source = this.sourceOf[place]!;
    const { distribution } = this.plan.sources[source]!;
    const value = distribution.mean + closeness * (distribution.draw(random) - distribution.mean);
    this.begin(place, Math.max(0, this.factors[source]! * this.unitMs[place]! * value), true);
    for (const rate of this.plan.classes[this.classOf[place]!]!.rates) this.rateStarts[rate]!.push(this.now);
  }

  private begin(place: number, durationMs: number, holdsRoom: boolean): void {
    this.isRunning[place] = 1;
    this.running++;
    this.agenda.add(place, this.now + durationMs);
    if (!holdsRoom) return;
    this.holdsRoom[place] = 1;
    this.changeRoom(place, 1);
  }

  private finish(place: number): void {
    this.running--;
    if (this.holdsRoom[place] === 1) this.changeRoom(place, -1);
    for (const dependent of this.plan.executions[place]!.dependents) {
      if (--this.waitingFor[dependent]! === 0) this.addReady(dependent);
    }
  }

  private changeRoom(place: number, sign: 1 | -1): void {
    const { takes, amounts, tool, conflicts } = this.plan.classes[this.classOf[place]!]!;
    for (let index = 0; index < takes.length; index++) this.used[takes[index]!]! += sign * amounts[index]!;
    this.toolRunning[tool]! += sign;
    for (const other of conflicts) this.toolConflicts[other]! += sign;
  }

  private addReady(place: number): void {
    const { ready } = this;
    if (this.readyOf[this.classOf[place]!]!++ === 0) this.readyClasses++;
    let index = this.readyCount++;
    for (; index > 0 && ready[index - 1]! > place; index--) ready[index] = ready[index - 1]!;
    ready[index] = place;
  }
}
