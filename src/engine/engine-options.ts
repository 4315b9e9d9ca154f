import { availableParallelism, totalmem } from 'node:os';
import type { SharedLimits } from '../core/catalog.ts';
import { checkKnown } from '../core/check-known.ts';
import { checkNumber, checkObject } from '../core/numbers.ts';
import type { NamedResources } from '../core/resource-names.ts';
import { defaultLimits, RESOURCE_TABLE, type ResourceLimits } from '../core/resource-table.ts';
import type { SchedulerLimits } from '../core/scheduler-options.ts';
import { type Clock, SystemClock } from './clock.ts';
import type { RuntimeOptions } from './runtime.ts';

/** Limits that can be changed at any time; those left out stay as they are. */
export interface EngineLimits {
  /** How many executions may run at once. */
  readonly maxConcurrency?: number;
  readonly limits?: ResourceLimits;
  /** How much there is of each named resource, such as `{ gpu: 2 }`. A new name declares it. */
  readonly resources?: NamedResources;
  /** Limits for each tool by name. */
  readonly tools?: Readonly<Record<string, SharedLimits>>;
  /** Limits for each group by name. */
  readonly groups?: Readonly<Record<string, SharedLimits>>;
}

/** Options of an engine; all have a default. */
export interface EngineOptions extends EngineLimits {
  /** How much waiting time makes up for one step of priority. Default 30000. */
  readonly ageingMs?: number;
  /** How long an execution that does not fit waits before resources are reserved for it. Default 5000. */
  readonly reserveAfterMs?: number;
  /** The grace period: how long a stopped function may keep its resources. Default 5000. */
  readonly graceMs?: number;
  /** How many settled executions can still be found by their id. Default 1000. */
  readonly retainSettled?: number;
  /** How many updates are remembered for slow readers. Default 4096. */
  readonly eventLogSize?: number;
  /** How many past allocations are remembered. Default 1000. */
  readonly allocationHistorySize?: number;
  /**
   * Whether starts are planned ahead where durations are known and that is faster by estimate; `off` keeps to the order
   * of urgency. Default auto.
   */
  readonly plan?: 'auto' | 'off';
  /** The seed for the jitter of retries. Default: random. */
  readonly seed?: number;
  /**
   * The time source, for tests. Default: the machine's clock.
   *
   * @internal
   */
  readonly clock?: Clock;
}

const LIMITS = ['maxConcurrency', 'limits', 'resources', 'tools', 'groups'] as const;
const LIMIT_NAMES: ReadonlySet<string> = new Set<keyof EngineLimits>(LIMITS);
const OPTION_NAMES: ReadonlySet<string> = new Set<keyof EngineOptions>([
  ...LIMITS,
  'ageingMs',
  'reserveAfterMs',
  'graceMs',
  'retainSettled',
  'eventLogSize',
  'allocationHistorySize',
  'plan',
  'seed',
  'clock',
]);
const BUILT_IN: ReadonlySet<string> = new Set(RESOURCE_TABLE.map(({ name }) => name));
const DEFAULT_CONCURRENCY = 64;

/** Checks the options and fills in the defaults. */
export function runtimeOptions(options: EngineOptions): RuntimeOptions {
  checkObject('The options of an engine', options);
  checkKnown('option of an engine', options, OPTION_NAMES);
  const {
    maxConcurrency = DEFAULT_CONCURRENCY,
    limits = {},
    resources,
    tools,
    groups,
    eventLogSize = 4096,
    allocationHistorySize = 1000,
    clock = new SystemClock(),
    ...rest
  } = options;
  checkResources(limits);
  return {
    ...rest,
    clock,
    seed: options.seed ?? Math.floor(Math.random() * 2 ** 32),
    limits: checkEngineLimits({
      maxConcurrency,
      limits: {
        ...defaultLimits('name', {
          cores: availableParallelism(),
          memoryMb: Math.floor(totalmem() / 2 ** 20),
        }),
        ...Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined)),
      },
      ...(resources !== undefined && { resources }),
      ...(tools !== undefined && { tools }),
      ...(groups !== undefined && { groups }),
    }),
    eventLogSize: checkNumber('eventLogSize', eventLogSize, { min: 16, max: 2 ** 24, integer: true }),
    allocationHistorySize: checkNumber('allocationHistorySize', allocationHistorySize, {
      min: 1,
      max: 2 ** 24,
      integer: true,
    }),
  };
}

/** Converts limits for the scheduler and checks what the scheduler does not. */
export function checkEngineLimits(given: EngineLimits): SchedulerLimits {
  checkObject('The limits of an engine', given);
  checkKnown('limit of an engine that can be changed', given, LIMIT_NAMES);
  const { maxConcurrency, limits, resources, tools, groups } = given;
  if (limits !== undefined) checkResources(limits);
  if (maxConcurrency !== undefined) {
    checkNumber('maxConcurrency', maxConcurrency, { min: 1, integer: true, allowInfinity: true });
  }
  return {
    ...limits,
    ...(maxConcurrency !== undefined && { concurrency: maxConcurrency }),
    ...(resources !== undefined && { resources }),
    ...(tools !== undefined && { tools }),
    ...(groups !== undefined && { groups }),
  };
}

function checkResources(limits: ResourceLimits): void {
  checkObject('limits', limits);
  checkKnown('limit of a resource', limits, BUILT_IN);
}
