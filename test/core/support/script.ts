import fc from 'fast-check';
import type { ResourceRequirements } from '../../../src/core/demand.ts';
import type { FailureReason } from '../../../src/core/failure.ts';
import type { SchedulerLimits } from '../../../src/core/scheduler-options.ts';
import type { ExecutionSpec, GroupSpec } from '../../../src/core/spec.ts';
import type { AttemptUsage } from '../../../src/core/usage.ts';
import type { WorldOptions } from './world.ts';

/** What a random execution asks for; `after` picks among those that there are when it is submitted. */
export interface RandomDraft {
  readonly spec: Omit<ExecutionSpec, 'id' | 'dependsOn'>;
  readonly after: readonly number[];
  /** Picks among the members of its own group, in whatever direction. */
  readonly within: readonly number[];
}

/** One thing that happens. Numbers called `pick` choose among whatever there is at that moment. */
export type Step =
  | { readonly kind: 'submit'; readonly draft: RandomDraft }
  | { readonly kind: 'submitAll'; readonly drafts: readonly RandomDraft[]; readonly options: GroupSpec }
  | { readonly kind: 'succeed' | 'progress' | 'cancel' | 'lend' | 'reclaim'; readonly pick: number }
  | { readonly kind: 'join' | 'drain' | 'leave'; readonly pick: number }
  | {
      readonly kind: 'fail';
      readonly pick: number;
      readonly reason: FailureReason;
      readonly isPermanent: boolean;
    }
  /** A quota is used up: that of the attempt, or another. */
  | {
      readonly kind: 'refuse';
      readonly pick: number;
      readonly retryAfterMs: number | undefined;
      readonly scope: string | undefined;
    }
  | { readonly kind: 'answerLate'; readonly pick: number; readonly attempt: number }
  | { readonly kind: 'cancelGroup' | 'pauseGroup' | 'resumeGroup'; readonly pick: number }
  | { readonly kind: 'cancelAll' | 'pause' | 'resume' | 'plan' }
  | { readonly kind: 'limit'; readonly limits: SchedulerLimits }
  | { readonly kind: 'used'; readonly toolName: string; readonly usage: AttemptUsage }
  | { readonly kind: 'wait'; readonly ms: number };

/** A whole random run: how the scheduler is made, and what happens to it. */
export interface Script {
  readonly options: WorldOptions & { readonly limits: SchedulerLimits };
  readonly steps: readonly Step[];
}

const TOOLS = ['t0', 't1', 't2', 't3'] as const;
const GROUPS = ['g0', 'g1', 'g2'] as const;
const QUOTAS = ['t0', 'q0', 'q1'] as const;
const LOCKS = ['x', 'y', 'z'] as const;

const pick = fc.nat(1000);

/** A record in which each field is there with a chance of `often` in ten. */
function sparse<T extends object>(
  often: number,
  fields: { [K in keyof T]: fc.Arbitrary<T[K]> },
): fc.Arbitrary<Partial<T>> {
  const maybe = Object.entries<fc.Arbitrary<unknown>>(fields).map(([name, value]) => {
    const there = value.map((chosen): [string, unknown][] => [[name, chosen]]);
    return fc.oneof({ weight: often, arbitrary: there }, { weight: 10 - often, arbitrary: fc.constant([]) });
  });
  return fc.tuple(...maybe).map((entries) => Object.fromEntries(entries.flat()) as Partial<T>);
}

const seldom = <T>(list: fc.Arbitrary<T[]>) =>
  fc.oneof({ weight: 1, arbitrary: list }, { weight: 2, arbitrary: fc.constant([]) });
const names = <T>(from: readonly T[], max: number) => fc.subarray([...from], { maxLength: max });

const resources: fc.Arbitrary<ResourceRequirements> = sparse(5, {
  cpu: fc.constantFrom(0, 0.1, 0.5, 1, 3),
  memoryMb: fc.constantFrom(0, 50, 100, 300),
  io: fc.constantFrom('none', 'low', 'medium', 'high'),
  network: fc.boolean(),
  gpu: fc.constantFrom(0, 0.5, 1, 2),
  license: fc.constantFrom(1, 3),
  exclusive: names(LOCKS, 2),
  shared: names(LOCKS, 2),
});

const priority = fc.constantFrom('critical', 'high', 'normal', 'low', 'background', 'medium');

const retry = sparse(6, {
  maxRetries: fc.nat(2),
  delayMs: fc.constantFrom(0, 5, 40, 200),
  factor: fc.constantFrom(1, 2),
  jitter: fc.constantFrom(0, 0.5, 1),
});

const spec: fc.Arbitrary<RandomDraft['spec']> = fc
  .tuple(
    fc.constantFrom(...TOOLS),
    sparse(4, {
      priority,
      resources,
      retry,
      group: fc.constantFrom(...GROUPS),
      onDependencyFailure: fc.constantFrom('skip', 'run', 'on-failure'),
      idempotent: fc.boolean(),
      estimatedMs: fc.constantFrom(0, 10, 500),
      learnUsage: fc.boolean(),
    }),
    sparse(2, {
      conflictsWith: names(TOOLS, 2),
      timeoutMs: fc.constantFrom(10, 80, Number.POSITIVE_INFINITY),
      stallMs: fc.constantFrom(8, 60),
      deadlineMs: fc.constantFrom(1, 70, 400),
      quota: fc.oneof(
        fc.constantFrom(...QUOTAS),
        fc.subarray([...QUOTAS], { minLength: 1 }) as fc.Arbitrary<readonly string[]>,
      ),
    }),
  )
  .map(([toolName, usual, unusual]) => ({ toolName, ...usual, ...unusual }));

const draft: fc.Arbitrary<RandomDraft> = fc.record({
  spec,
  after: seldom(fc.array(pick, { maxLength: 2 })),
  within: seldom(fc.array(pick, { maxLength: 1 })),
});

const rate = fc.record({ count: fc.integer({ min: 1, max: 3 }), perMs: fc.constantFrom(10, 50) });
const maxConcurrency = fc.integer({ min: 1, max: 3 });
const shared = sparse(4, { maxConcurrency, rate: fc.oneof(rate, fc.constant(null)) });

const groupOptions: fc.Arbitrary<GroupSpec> = sparse(4, {
  name: fc.constantFrom(...GROUPS, 'h'),
  maxConcurrency,
  rate: fc.oneof(rate, fc.constant(null)),
  failFast: fc.boolean(),
  timeoutMs: fc.constantFrom(30, 300),
});

/** May rule out what is queued already. */
const changedLimits: fc.Arbitrary<SchedulerLimits> = sparse(3, {
  concurrency: fc.integer({ min: 1, max: 6 }),
  cpu: fc.constantFrom(0.4, 1, 4, 8),
  memoryMb: fc.constantFrom(60, 300, 900),
  ioOperations: fc.constantFrom(1, 4, 9),
  networkOperations: fc.constantFrom(0, 1, 3),
  // The third name comes late, and nobody asks for it.
  resources: sparse(5, {
    gpu: fc.constantFrom(0, 1, 4),
    license: fc.constantFrom(2, 3),
    late: fc.constantFrom(1, 9),
  }) as fc.Arbitrary<Readonly<Record<string, number>>>,
  tools: fc.dictionary(fc.constantFrom(...TOOLS), shared, { maxKeys: 2 }),
  groups: fc.dictionary(fc.constantFrom(...GROUPS), shared, { maxKeys: 2 }),
});

/** Every single demand is possible within them. */
const firstLimits: fc.Arbitrary<SchedulerLimits> = fc.record({
  concurrency: fc.integer({ min: 1, max: 6 }),
  cpu: fc.constantFrom(3, 4, 8),
  memoryMb: fc.constantFrom(300, 900),
  ioOperations: fc.constantFrom(4, 9),
  networkOperations: fc.constantFrom(1, 3),
  resources: fc.record({ gpu: fc.constantFrom(2, 3), license: fc.constantFrom(3, 5) }),
  tools: fc.record({ t0: shared, t1: shared, t2: shared }),
  groups: fc.record({ g0: shared, g1: shared }),
});

const rarely = fc.nat(4).map((value) => value === 4);
const failure = fc.constantFrom<FailureReason>('error', 'memory', 'cpu', 'crashed', 'budget');
const aimed = <K extends string>(...kinds: K[]) => fc.record({ kind: fc.constantFrom(...kinds), pick });
const weighted = (weight: number, arbitrary: fc.Arbitrary<Step>) => ({ weight, arbitrary });

const stepsWith = (draft: fc.Arbitrary<RandomDraft>) =>
  fc.oneof(
    weighted(36, fc.record({ kind: fc.constant('submit'), draft })),
    weighted(
      10,
      fc.record({
        kind: fc.constant('submitAll'),
        drafts: fc.array(draft, { maxLength: 6 }),
        options: groupOptions,
      }),
    ),
    weighted(24, aimed('succeed')),
    weighted(15, fc.record({ kind: fc.constant('fail'), pick, reason: failure, isPermanent: rarely })),
    weighted(
      8,
      fc.record({
        kind: fc.constant('refuse'),
        pick,
        retryAfterMs: fc.constantFrom(undefined, 0, 10, 40),
        scope: fc.constantFrom(undefined, undefined, ...QUOTAS),
      }),
    ),
    weighted(
      3,
      fc.record({ kind: fc.constant('answerLate'), pick, attempt: fc.integer({ min: 1, max: 3 }) }),
    ),
    weighted(14, aimed('lend', 'reclaim')),
    weighted(6, aimed('cancel', 'progress')),
    weighted(6, aimed('pauseGroup', 'resumeGroup')),
    weighted(1, aimed('cancelGroup')),
    weighted(4, fc.record({ kind: fc.constantFrom('pause', 'resume', 'resume') })),
    weighted(1, fc.record({ kind: fc.constant('cancelAll') })),
    weighted(5, fc.record({ kind: fc.constant('limit'), limits: changedLimits })),
    weighted(
      4,
      fc.record({
        kind: fc.constant('used'),
        toolName: fc.constantFrom(...TOOLS),
        usage: sparse(7, {
          memoryMb: fc.constantFrom(10, 70, 250, 2000),
          cpu: fc.constantFrom(0.05, 0.6, 2, 20),
        }),
      }),
    ),
    weighted(20, fc.record({ kind: fc.constant('wait'), ms: fc.constantFrom(0, 1, 5, 20, 60) })),
  ) as fc.Arbitrary<Step>;

const scriptsWith = (draft: fc.Arbitrary<RandomDraft>): fc.Arbitrary<Script> =>
  fc.record({
    options: fc.record({
      advancesAlone: fc.boolean(),
      limits: firstLimits,
      ageingMs: fc.constantFrom(20, 200),
      reserveAfterMs: fc.constantFrom(0, 10, 50),
      graceMs: fc.constantFrom(0, 15),
      retainSettled: fc.constantFrom(0, 3, 1000),
      seed: fc.nat(1000),
    }),
    steps: fc.array(stepsWith(draft), { minLength: 1, maxLength: 120, size: 'max' }),
  });

/** Everything may happen, in every combination. */
export const scripts = scriptsWith(draft);

/** Most executions want one of two locks, and have little else that keeps them apart. */
export const crowdedScripts = scriptsWith(
  fc.record({
    spec: fc
      .tuple(
        fc.constantFrom('t0', 't1', 't3'),
        sparse(6, {
          exclusive: names(['x', 'y'], 2),
          shared: names(['x', 'y'], 2),
          cpu: fc.constantFrom(0, 1, 3),
        }),
        sparse(3, { priority, group: fc.constantFrom(...GROUPS), retry }),
      )
      .map(([toolName, resources, usual]) => ({ toolName, resources, ...usual })),
    after: seldom(fc.array(pick, { maxLength: 1 })),
    within: fc.constant([]),
  }),
);

/** Estimates are known and wrong, and plans are made in between. Few other things happen, or no plan would last. */
export const plannedScripts: fc.Arbitrary<Script> = fc
  .tuple(
    scriptsWith(
      fc.record({
        spec: fc
          .tuple(
            // Of a tool with several executions it is learned that estimates are wrong, and then nothing is planned.
            fc.oneof(fc.constantFrom(...TOOLS), fc.nat(1000).map(String)),
            resources,
            fc.constantFrom(1, 10, 25, 60),
            sparse(2, { priority, group: fc.constantFrom(...GROUPS), retry, conflictsWith: names(TOOLS, 1) }),
          )
          .map(([toolName, needs, estimatedMs, unusual]) => ({
            toolName,
            resources: needs,
            estimatedMs,
            ...unusual,
          })),
        after: seldom(fc.array(pick, { maxLength: 2 })),
        within: seldom(fc.array(pick, { maxLength: 1 })),
      }),
    ),
    fc.array(fc.nat(5), { minLength: 120, maxLength: 120 }),
  )
  .map(([{ options, steps }, gaps]) => ({
    options: { ...options, limits: { ...options.limits, tools: {}, groups: { g0: { maxConcurrency: 2 } } } },
    steps: steps.flatMap((step, at): Step[] => {
      const isRare = step.kind === 'limit' || step.kind === 'cancelAll' || step.kind === 'pause';
      const kept: Step[] = isRare && at % 4 !== 0 ? [] : [step];
      return gaps[at]! < 2 ? [...kept, { kind: 'plan' }] : kept;
    }),
  }));

/** One on which everything fits, one that is small, and one of few. */
const WORKERS = [
  {
    id: 'large',
    capacity: {
      concurrency: 3,
      cpu: 4,
      memoryMb: 400,
      ioOperations: 9,
      networkOperations: 3,
      resources: { gpu: 2, license: 3 },
    },
    labels: { zone: 'a', kind: 'x' },
  },
  {
    id: 'small',
    capacity: { concurrency: 2, cpu: 1, memoryMb: 100, ioOperations: 4, networkOperations: 1 },
    labels: { zone: 'a' },
  },
  {
    id: 'other',
    capacity: { concurrency: 2, cpu: 3, memoryMb: 300, resources: { gpu: 1 } },
    labels: { zone: 'b' },
  },
];

/** Planned, on workers that join, drain and die. */
export const plannedOnWorkers: fc.Arbitrary<Script> = fc
  .tuple(
    plannedScripts,
    fc.infiniteStream(fc.constantFrom(undefined, undefined, { zone: 'a' }, { kind: 'x' })),
    fc.infiniteStream(
      fc.oneof(
        { weight: 8, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: aimed('join', 'drain', 'leave', 'join') },
      ),
    ),
  )
  .map(([{ options, steps }, labels, changes]) => {
    const withLabels = (one: RandomDraft): RandomDraft => {
      const on = labels.next().value;
      return on === undefined ? one : { ...one, spec: { ...one.spec, on } };
    };
    return {
      options: { ...options, workers: WORKERS },
      steps: steps.flatMap((step): Step[] => {
        // What is learned of use could rule out every worker.
        if (step.kind === 'used') return [];
        const change = changes.next().value as Step | undefined;
        const more = change === undefined ? [] : [change];
        if (step.kind === 'submit') return [{ ...step, draft: withLabels(step.draft) }, ...more];
        if (step.kind === 'submitAll') return [{ ...step, drafts: step.drafts.map(withLabels) }, ...more];
        return [step, ...more];
      }),
    };
  });
