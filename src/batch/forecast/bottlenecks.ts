import { type LimitBound, type ScheduleBounds, scheduleBounds } from '../../core/schedule-bounds.ts';
import type { SchedulerLimits } from '../../core/scheduler-options.ts';
import { type SimulatedExecution, simulate } from '../../core/simulate.ts';

/** What a batch gains if there were more of something. */
export interface Gain {
  readonly limit: LimitBound;
  /** How much more: one, or the least that a task uses of it if that is more. */
  readonly more: number;
  /** How long the batch would take then. */
  readonly expectedMs: number;
}

/** How close a batch comes to the shortest possible time, and what keeps it from being faster. */
export interface Bottlenecks extends ScheduleBounds {
  readonly expectedMs: number;
  /** How long it would take in the order of urgency, without a plan. */
  readonly unplannedMs: number;
  /** For everything that is scarce, the largest gain first. */
  readonly gains: readonly Gain[];
}

/** How many limits are tried, and how many executions are simulated for that. */
const MAX_TRIED = 8;
const MAX_SIMULATED = 200_000;

/** Finds the bottlenecks of executions with known durations. */
export function bottlenecksOf(
  executions: readonly SimulatedExecution[],
  limits: SchedulerLimits,
): Bottlenecks {
  const bounds = scheduleBounds(executions, limits);
  const tried = Math.min(MAX_TRIED, Math.floor(MAX_SIMULATED / (executions.length + 1)));
  const expectedMs = simulate(executions, limits).makespanMs;
  const gains = bounds.limits
    .filter(({ kind }) => kind !== 'lock' && kind !== 'conflict')
    .slice(0, tried)
    .map((limit): Gain => {
      const more = Math.max(1, limit.leastUse);
      const raised = raisedLimits(limits, limit, limit.capacity + more);
      return { limit, more, expectedMs: simulate(executions, raised).makespanMs };
    })
    .sort((a, b) => a.expectedMs - b.expectedMs);
  return {
    ...bounds,
    expectedMs,
    unplannedMs: simulate(executions, limits, { plan: 'off' }).makespanMs,
    gains,
  };
}

function raisedLimits(limits: SchedulerLimits, { kind, name }: LimitBound, value: number): SchedulerLimits {
  if (kind === 'resource')
    return Object.hasOwn(limits.resources ?? {}, name)
      ? { ...limits, resources: { ...limits.resources, [name]: value } }
      : { ...limits, [name]: value };
  const key = kind === 'tool' ? 'tools' : 'groups';
  const known = limits[key] ?? {};
  return { ...limits, [key]: { ...known, [name]: { ...known[name], maxConcurrency: value } } };
}
