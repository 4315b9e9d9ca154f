import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WorkerPlacement, type WorkerSpec } from '../../src/core/placement.ts';
import { seededRandom } from '../../src/core/random.ts';
import { amount } from '../support/depth.ts';
import { type Draft, World } from './support/world.ts';

const AGEING_MS = 100;
const RESERVE_AFTER_MS = 50;
const LONGEST_WORK_MS = 30;
const LONGEST_ESTIMATE_MS = 120;
/** So many competitors are there at any time, running or waiting. */
const COMPETITORS = 8;

const need = fc.record(
  {
    cpu: fc.constantFrom(0, 1, 2, 4),
    io: fc.constantFrom('none', 'low', 'high'),
    exclusive: fc.subarray(['x', 'y']),
    shared: fc.subarray(['x', 'y']),
  },
  { requiredKeys: [] },
);

const draft: fc.Arbitrary<Draft> = fc
  .tuple(
    fc.constantFrom('t0', 't1', 't2'),
    need,
    fc.constantFrom('critical', 'high', 'normal', 'background'),
    fc.oneof(fc.constant([]), fc.subarray(['t0', 't1', 't2'], { maxLength: 1 })),
    fc.constantFrom({}, {}, { group: 'g' }),
    // None is right: the work takes up to 30 ms, at random.
    fc.constantFrom({}, ...[1, 10, 40, LONGEST_ESTIMATE_MS].map((estimatedMs) => ({ estimatedMs }))),
  )
  .map(([toolName, resources, priority, conflictsWith, group, estimate]) => ({
    toolName,
    resources,
    priority,
    conflictsWith,
    ...group,
    ...estimate,
  }));

const CAPACITY = { concurrency: 4, cpu: 4, ioOperations: 8 };
const SHARED = { tools: { t0: { maxConcurrency: 1 } }, groups: { g: { maxConcurrency: 2 } } };

/** Only one is large enough for everything. Its room is taken by what would fit on the others. */
const WORKERS: readonly WorkerSpec[] = [
  { id: 'large', capacity: CAPACITY },
  { id: 'small', capacity: { concurrency: 2, cpu: 2, ioOperations: 4 } },
  { id: 'tiny', capacity: { concurrency: 1, cpu: 1, ioOperations: 1 } },
];

describe('no starvation', () => {
  it.each([
    { where: 'on one machine', workers: undefined, rule: undefined },
    { where: 'among workers that are packed', workers: WORKERS, rule: 'pack' as const },
    { where: 'among workers that share the load', workers: WORKERS, rule: 'spread' as const },
  ])(
    'any execution starts within a bound under an endless stream of any others, however wrong estimates are, $where',
    {
      timeout: 300_000,
    },
    ({ workers, rule }) => {
      fc.assert(
        fc.property(
          draft,
          fc.array(draft, { minLength: 1, maxLength: 6 }),
          fc.nat(1000),
          (wanted, others, seed) => {
            const random = seededRandom(seed);
            const world = new World({
              ageingMs: AGEING_MS,
              reserveAfterMs: RESERVE_AFTER_MS,
              retainSettled: 0,
              limits: workers === undefined ? { ...CAPACITY, ...SHARED } : SHARED,
            });
            if (workers !== undefined) {
              const placement = new WorkerPlacement(rule);
              world.scheduler.usePlacement(placement);
              world.scheduler.changeWorkers(() => {
                for (const worker of workers) placement.join(worker);
              });
            }
            const compete = () => {
              const other = others[Math.floor(random() * others.length)]!;
              world.submit({ ...other, timeoutMs: LONGEST_WORK_MS * 2 });
            };
            for (let index = 0; index < COMPETITORS; index++) compete();
            const victim = world.submit(wanted);
            // Five steps until nothing new goes before it, then what was there before it, and what runs when it is its turn.
            // For as long as what runs is estimated to take, others may pass.
            const turnMs = LONGEST_WORK_MS + LONGEST_ESTIMATE_MS;
            const bound = 5 * AGEING_MS + RESERVE_AFTER_MS + (COMPETITORS + 1) * turnMs;
            while (victim.statusName === 'queued' && world.now <= bound) {
              world.advance(5);
              for (const { execution } of [...world.attempts]) {
                const worked = world.now - execution.startedAt;
                if (execution === victim || (worked < LONGEST_WORK_MS && random() > 0.3)) continue;
                world.succeed(execution);
                compete();
              }
            }
            expect(victim.statusName).toBe('running');
          },
        ),
        { numRuns: amount({ quick: 15, deep: 200 }) },
      );
    },
  );
});
