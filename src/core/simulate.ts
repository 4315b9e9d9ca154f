import { checkKnown } from './check-known.ts';
import { SCALE } from './demand.ts';
import type { Effects } from './effects.ts';
import { VolleyError } from './errors.ts';
import { Execution } from './execution.ts';
import type { FailureReason } from './failure.ts';
import { NumberHeap } from './number-heap.ts';
import { checkNumber, checkObject, MAX_SPAN_MS, show } from './numbers.ts';
import { type PlacementRule, WorkerPlacement, type WorkerSpec } from './placement.ts';
import { type Random, seededRandom } from './random.ts';
import type { ByResource } from './resource-names.ts';
import { Scheduler } from './scheduler.ts';
import type { SchedulerLimits, SchedulerOptions } from './scheduler-options.ts';
import type { ExecutionSpec, GroupSpec } from './spec.ts';
import type { ExecutionStatus } from './status.ts';

/** An execution whose work is a span of virtual time. */
export interface SimulatedExecution extends Omit<ExecutionSpec, 'dependsOn'> {
  readonly dependsOn?: readonly string[];
  /** How long an attempt takes; a function is called anew for each attempt. */
  readonly durationMs: number | ((random: Random) => number);
  /** How many attempts fail before one succeeds. Default 0. */
  readonly failures?: number;
  /** The reason for those failures. Default error. */
  readonly failureReason?: FailureReason;
}

/** Options of {@link simulate}: the engine's options, and a seed. */
export interface SimulationOptions extends Omit<SchedulerOptions, 'limits'> {
  readonly seed?: number;
  readonly group?: GroupSpec;
  /** The workers on which executions are placed. Default none: everything runs on one machine with the given limits. */
  readonly workers?: readonly WorkerSpec[];
  /** How a worker is chosen. Default spread. */
  readonly placement?: PlacementRule;
}

/** One attempt on the virtual timeline. */
export interface SimulatedAttempt {
  /** The index of the execution in the given list. */
  readonly index: number;
  readonly attempt: number;
  readonly startMs: number;
  readonly endMs: number;
  /** The worker it ran on, if there are workers. */
  readonly worker?: string;
}

/** The result of {@link simulate}. */
export interface SimulationResult {
  /** The virtual time at which the last execution settled. */
  readonly makespanMs: number;
  /** Every attempt, in start order. */
  readonly schedule: readonly SimulatedAttempt[];
  /** The final status of each execution, in the order of the given list. */
  readonly statuses: readonly ExecutionStatus[];
  /** The mean usage of each resource over the makespan, and its limit. */
  readonly utilization: ByResource<{ readonly meanUsed: number; readonly limit: number }>;
}

const OPTIONS: ReadonlySet<string> = new Set<keyof SimulationOptions>([
  'ageingMs',
  'reserveAfterMs',
  'graceMs',
  'retainSettled',
  'seed',
  'plan',
  'group',
  'workers',
  'placement',
]);
/** The fields of an execution that only a simulation reads. */
export const SIMULATION_FIELDS = [
  'durationMs',
  'failures',
  'failureReason',
] satisfies (keyof SimulatedExecution)[];
const DURATIONS = { min: 0, max: MAX_SPAN_MS };
const FAILURES = { min: 0, integer: true, allowInfinity: true };

class VirtualExecution extends Execution {
  /** The index of its latest attempt in the schedule, and when that ends. */
  scheduleIndex = -1;
  endMs = 0;
  /** Copied from the specification, which is cold in memory by the time of a start. */
  readonly durationMs: SimulatedExecution['durationMs'];
  readonly failures: number;

  constructor(
    { durationMs, failures = 0 }: SimulatedExecution,
    readonly index: number,
  ) {
    super();
    this.durationMs =
      typeof durationMs === 'function' ? durationMs : checkNumber('durationMs', durationMs, DURATIONS);
    this.failures = failures === 0 ? 0 : checkNumber('failures', failures, FAILURES);
  }
}

/** Runs virtual attempts in place of real ones. */
class VirtualWorld implements Effects {
  /**
   * A small simulation that is kept alive. When a garbage collection finds no instance alive, V8 discards the compiled
   * code, and the next simulation would start cold.
   */
  static kept: Played | undefined;
  now = 0;
  lastSettledAt = 0;
  /** Attempt ends, then start order. A stopped attempt leaves an entry that is ignored. */
  private readonly agenda = new NumberHeap();
  readonly members: readonly VirtualExecution[];
  readonly schedule: { index: number; attempt: number; startMs: number; endMs: number; worker?: string }[] =
    [];
  readonly statuses: ExecutionStatus[];

  constructor(
    private readonly executions: readonly SimulatedExecution[],
    private readonly random: Random,
  ) {
    this.members = Array.from(executions, (execution, index) => {
      checkObject('An execution', execution);
      return new VirtualExecution(execution, index);
    });
    this.statuses = executions.map(() => 'pending');
  }

  start(execution: VirtualExecution): void {
    const { index, attempt, durationMs } = execution;
    const spanMs =
      typeof durationMs === 'number'
        ? durationMs
        : checkNumber('durationMs', durationMs(this.random), DURATIONS);
    const endMs = this.now + Math.round(spanMs);
    execution.scheduleIndex = this.schedule.length;
    execution.endMs = endMs;
    const { worker } = execution;
    const at = { index, attempt, startMs: this.now, endMs };
    this.schedule.push(worker === undefined ? at : { ...at, worker });
    this.agenda.add(endMs, execution.scheduleIndex, index);
  }

  /** A virtual attempt stops at once. */
  stop(execution: VirtualExecution): void {
    if (execution.endMs === this.now) return;
    const { scheduleIndex, index } = execution;
    execution.endMs = this.now;
    this.schedule[scheduleIndex]!.endMs = this.now;
    this.agenda.add(this.now, scheduleIndex, index);
  }

  settled(execution: VirtualExecution): void {
    this.statuses[execution.index] = execution.statusName;
    this.lastSettledAt = this.now;
  }

  retrying(): void {}
  released(): void {}
  abandoned(): void {}
  resumed(): void {}

  /** When the next attempt ends; Infinity if none runs. */
  nextEnd(): number {
    const { agenda, members } = this;
    while (agenda.size > 0) {
      const { scheduleIndex, endMs } = members[agenda.first]!;
      if (scheduleIndex === agenda.firstTie && endMs === agenda.firstKey) break;
      agenda.dropFirst();
    }
    return agenda.firstKey;
  }

  /** Ends every attempt that is due. */
  finishDue(scheduler: Scheduler): void {
    while (this.nextEnd() <= this.now) {
      const due = this.members[this.agenda.first]!;
      this.agenda.dropFirst();
      const { attempt } = due;
      if (attempt > due.failures) {
        scheduler.succeed(due, attempt, this.now);
      } else {
        const { failureReason = 'error' } = this.executions[due.index]!;
        scheduler.fail(due, attempt, { reason: failureReason }, this.now);
      }
    }
  }
}

/** A bit of everything: a retry, dependencies, a shortage, and one that becomes ready late and goes first. */
const KEPT: readonly SimulatedExecution[] = [
  { id: 'a', toolName: 'kept', durationMs: 1, failures: 1, retry: { maxRetries: 1 } },
  { id: 'b', toolName: 'kept', durationMs: 1, dependsOn: ['a'] },
  { id: 'c', toolName: 'kept', durationMs: 1, dependsOn: ['b'] },
  { toolName: 'kept', durationMs: 5000 },
  { toolName: 'kept', durationMs: 1 },
  { toolName: 'kept too', durationMs: 1 },
];

interface Played {
  readonly world: VirtualWorld;
  readonly scheduler: Scheduler;
  /** The usage of each resource, integrated over virtual time. */
  readonly usedTime: readonly number[];
}

/** Places what a scheduler starts on workers. */
export function placeOn(
  scheduler: Scheduler,
  workers: readonly WorkerSpec[],
  rule: PlacementRule | undefined,
): void {
  if (!Array.isArray(workers))
    throw new VolleyError('INVALID_VALUE', `workers must be a list, but it is ${show(workers)}.`);
  const placement = new WorkerPlacement(rule);
  scheduler.usePlacement(placement);
  for (const worker of workers) placement.join(worker);
}

function play(
  executions: readonly SimulatedExecution[],
  limits: SchedulerLimits,
  { group, workers, placement, ...options }: SimulationOptions,
): Played {
  const world = new VirtualWorld(executions, seededRandom(options.seed ?? 1));
  const scheduler = new Scheduler(
    world,
    { retainSettled: executions.length, ...options, limits },
    SIMULATION_FIELDS,
  );
  if (workers !== undefined) placeOn(scheduler, workers, placement);
  const { used } = scheduler.dispatcher.resources;
  const usedTime = used.map(() => 0);

  scheduler.submitAll(world.members, executions, 0, group);
  planAhead(scheduler, 0);
  scheduler.advance(0);
  for (;;) {
    const at = Math.min(world.nextEnd(), scheduler.nextWakeAt());
    if (at === Number.POSITIVE_INFINITY) break;
    for (let index = 0; index < used.length; index++) usedTime[index]! += used[index]! * (at - world.now);
    world.now = at;
    world.finishDue(scheduler);
    planAhead(scheduler, at);
    scheduler.advance(at);
  }
  return { world, scheduler, usedTime };
}

/** Planning takes no virtual time. */
function planAhead(scheduler: Scheduler, now: number): void {
  if (!scheduler.wantsPlan) return;
  const draft = scheduler.draftPlan(now);
  if (draft === undefined) return;
  draft.search.step(Number.POSITIVE_INFINITY);
  scheduler.adoptPlan(draft);
}

/**
 * Runs executions on virtual time, with the same scheduler that runs real ones. The same input and seed always give the
 * same schedule. Shows how long a batch would take under given limits, and where the time goes.
 */
export function simulate(
  executions: readonly SimulatedExecution[],
  limits: SchedulerLimits,
  options: SimulationOptions = {},
): SimulationResult {
  if (!Array.isArray(executions))
    throw new VolleyError('INVALID_VALUE', `simulate takes a list, but it got ${show(executions)}.`);
  checkObject('The limits of a simulation', limits);
  checkObject('The options of a simulation', options);
  checkKnown('option of a simulation', options, OPTIONS);
  const { world, scheduler, usedTime } = play(executions, limits, options);
  VirtualWorld.kept ??= play(KEPT, { cpu: 0.1 }, {});
  const makespanMs = world.lastSettledAt;
  const mean = (index: number) => (makespanMs === 0 ? 0 : usedTime[index]! / makespanMs / SCALE);
  const { limits: scaledLimits, names } = scheduler.dispatcher.resources;
  return {
    makespanMs,
    schedule: world.schedule,
    statuses: world.statuses,
    utilization: names.byResource((index) => ({
      meanUsed: mean(index),
      limit: scaledLimits[index]! / SCALE,
    })),
  };
}
