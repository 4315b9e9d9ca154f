import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { explain } from '../../src/core/explain.ts';
import { MAX_PLANNED } from '../../src/core/plan.ts';
import { seededRandom } from '../../src/core/random.ts';
import { type SimulatedExecution, simulate } from '../../src/core/simulate.ts';
import { amount } from '../support/depth.ts';
import { heal, play } from './support/play.ts';
import { plannedOnWorkers, plannedScripts } from './support/script.ts';
import { type Draft, World } from './support/world.ts';

/** `narrow` fits beside `a`, but then `wide` and `last` would wait for it. */
const WIDE_SECOND: readonly (Draft & { readonly estimatedMs: number })[] = [
  { id: 'a', toolName: 'a', estimatedMs: 1000, resources: { cpu: 1 } },
  { id: 'wide', toolName: 'wide', estimatedMs: 5000, resources: { cpu: 2 }, dependsOn: ['a'] },
  { id: 'narrow', toolName: 'narrow', estimatedMs: 4000, resources: { cpu: 1 } },
  { id: 'last', toolName: 'last', estimatedMs: 4000, resources: { cpu: 1 }, dependsOn: ['wide'] },
];

function toSimulated(drafts: readonly (Draft & { readonly estimatedMs: number })[]): SimulatedExecution[] {
  return drafts.map(({ dependsOn, ...draft }) => ({
    toolName: 'tool',
    ...draft,
    durationMs: draft.estimatedMs,
    ...(dependsOn !== undefined && { dependsOn: dependsOn as string[] }),
  }));
}

/** Drafts a plan, searches to the end and adopts it. */
function plan({ scheduler, now }: World): boolean {
  const draft = scheduler.draftPlan(now);
  if (draft === undefined) return false;
  draft.search.step(Number.POSITIVE_INFINITY);
  return scheduler.adoptPlan(draft);
}

/** Nothing starts before `plan` is called. */
function heldWorld(drafts: readonly Draft[], limits: object): World {
  const world = new World({ advancesAlone: false, limits });
  world.submitAll(drafts);
  return world;
}

describe('planned schedules', () => {
  it('holds back what fits if that makes the whole shorter', () => {
    const executions = toSimulated(WIDE_SECOND);
    const limits = { concurrency: 4, cpu: 2 };
    expect(simulate(executions, limits, { plan: 'off' }).makespanMs).toBe(13_000);
    expect(simulate(executions, limits).makespanMs).toBe(10_000);
  });

  it('plans on workers, each with its own capacity and labels', () => {
    const executions = toSimulated(WIDE_SECOND).map((execution) => ({ ...execution, on: { zone: 'a' } }));
    const workers = [
      { id: 'there', capacity: { concurrency: 4, cpu: 2 }, labels: { zone: 'a' } },
      { id: 'elsewhere', capacity: { concurrency: 4, cpu: 9 }, labels: { zone: 'b' } },
    ];
    expect(simulate(executions, {}, { workers, plan: 'off' }).makespanMs).toBe(13_000);
    const { makespanMs, schedule } = simulate(executions, {}, { workers });
    expect(makespanMs).toBe(10_000);
    expect(new Set(schedule.map(({ worker }) => worker))).toEqual(new Set(['there']));
  });

  it('starts on a free worker what would wait for something overdue on another', () => {
    const workers = ['a', 'b'].map((id) => ({ id, capacity: { concurrency: 1 } }));
    const world = new World({ advancesAlone: false, workers });
    const group = [3, 3, 2, 2, 2].map((seconds, index) => ({
      id: `e${index}`,
      toolName: `t${index}`,
      estimatedMs: 1000 * seconds,
      resources: { cpu: 0, memoryMb: 0, io: 'none' as const },
    }));
    world.submitAll(group);
    expect(plan(world)).toBe(true);
    world.advance();
    const [first, second] = world.attempts;
    world.advance(20_000);
    world.succeed(second!.execution);
    world.advance();
    expect(world.attempts.map(({ execution }) => execution)).toContain(first!.execution);
    expect(world.running).toHaveLength(2);
    world.validate();
  });

  it('plans nothing while calls are so short that some wait on workers, nor with too many workers', () => {
    const workers = Array.from({ length: 20 }, (_, index) => ({ id: `w${index}` }));
    const world = new World({ advancesAlone: false, workers });
    world.submitAll(Array.from({ length: 800 }, () => ({ estimatedMs: 1000 })));
    expect(world.scheduler.wantsPlan).toBe(true);
    world.scheduler.changeWorkers((placement) => placement.setSpare('w0', 4));
    expect(world.scheduler.wantsPlan).toBe(false);
    world.scheduler.changeWorkers((placement) => placement.setSpare('w0', 0));
    world.join({ id: 'one more' });
    expect(world.scheduler.wantsPlan).toBe(false);
  });

  it('says of one that is held back when it is planned to start', () => {
    const world = heldWorld(WIDE_SECOND, { concurrency: 4, cpu: 2 });
    expect(plan(world)).toBe(true);
    world.advance();
    expect(world.running).toEqual(['a']);
    expect(explain(world.scheduler, world.find('narrow'), 0)).toMatchObject({
      reason: 'plan',
      startsInMs: 6000,
    });
  });

  it('leaves list scheduling in charge where a plan is no better', () => {
    const world = heldWorld(
      [1, 2, 3, 4].map((index) => ({ id: `e${index}`, estimatedMs: 1000, resources: { cpu: 1 } })),
      { cpu: 2 },
    );
    expect(plan(world)).toBe(false);
    expect(world.scheduler.dispatcher.plan).toBeUndefined();
  });

  it('plans nothing while a duration is unknown, and does once it is learned', () => {
    const world = new World({ limits: { concurrency: 1 } });
    world.submit({ id: 'first', toolName: 'unknown' });
    world.submitAll(['x', 'y', 'z'].map((id) => ({ id, toolName: 'unknown' })));
    expect(world.scheduler.wantsPlan).toBe(true);
    expect(world.scheduler.draftPlan(world.now)).toBeUndefined();
    expect(world.scheduler.wantsPlan).toBe(false);
    world.advance(50);
    world.succeed(world.find('first'));
    expect(world.scheduler.wantsPlan).toBe(true);
    expect(world.scheduler.draftPlan(world.now)).toBeDefined();
  });

  it.each([
    ['something is submitted', (world: World) => void world.submit({ id: 'late', estimatedMs: 1 })],
    ['a limit changes', (world: World) => world.limit({ cpu: 3 })],
    ['it is paused', (world: World) => world.pause()],
    ['it was paused and goes on', (world: World) => world.resume()],
  ])('is of no use after %s', (_, change) => {
    const world = heldWorld(WIDE_SECOND, { concurrency: 4, cpu: 2 });
    const draft = world.scheduler.draftPlan(0)!;
    draft.search.step(Number.POSITIVE_INFINITY);
    change(world);
    expect(world.scheduler.adoptPlan(draft)).toBe(false);
  });

  it('plans nothing beyond its largest window, nor if it is off', () => {
    const drafts = (count: number) => Array.from({ length: count }, () => ({ estimatedMs: 10 }));
    expect(heldWorld(drafts(MAX_PLANNED), {}).scheduler.wantsPlan).toBe(true);
    expect(heldWorld(drafts(MAX_PLANNED + 1), {}).scheduler.wantsPlan).toBe(false);
    const off = new World({ plan: 'off', advancesAlone: false });
    off.submitAll(drafts(10));
    expect(off.scheduler.wantsPlan).toBe(false);
    expect(() => new World({ plan: 'no' as never })).toThrow('plan must be auto or off');
  });

  it('lets a lower priority pass only if by estimate that delays no higher one', { timeout: 300_000 }, () => {
    const task = fc.record({
      cpu: fc.constantFrom(1, 2, 3),
      ms: fc.integer({ min: 1, max: 10 }),
      after: fc.option(fc.nat(20), { nil: undefined }),
    });
    const tasks = fc.array(task, { minLength: 2, maxLength: 10 });
    const toDrafts = (
      list: readonly { cpu: number; ms: number; after: number | undefined }[],
      priority: string,
    ) =>
      list.map(({ cpu, ms, after }, index) => ({
        id: `${priority}${index}`,
        toolName: `${priority}${index}`,
        priority: priority as 'high',
        estimatedMs: ms * 1000,
        resources: { cpu },
        ...(after !== undefined && index > 0 && { dependsOn: [`${priority}${after % index}`] }),
      }));
    const endOf = (executions: SimulatedExecution[], only: string) => {
      const { schedule } = simulate(executions, { concurrency: 4, cpu: 4 });
      return Math.max(
        ...schedule.map(({ index, endMs }) => (executions[index]!.id!.startsWith(only) ? endMs : 0)),
      );
    };
    fc.assert(
      fc.property(tasks, tasks, (high, low) => {
        const urgent = toSimulated(toDrafts(high, 'high'));
        const both = [...urgent, ...toSimulated(toDrafts(low, 'low'))];
        const list = simulate(urgent, { concurrency: 4, cpu: 4 }, { plan: 'off' }).makespanMs;
        expect(endOf(both, 'high')).toBeLessThanOrEqual(list);
      }),
      { numRuns: amount({ quick: 6, deep: 100 }) },
    );
  });

  it.each([
    ['one machine', plannedScripts],
    ['workers that join, drain and die', plannedOnWorkers],
  ])(
    'breaks no promise whatever happens to a plan on %s, and comes to rest',
    { timeout: 300_000 },
    (_, scripts) => {
      let adopted = 0;
      fc.assert(
        fc.property(scripts, (script) => {
          const world = play(script);
          adopted += world.plansAdopted;
          heal(world, script);
        }),
        { numRuns: amount({ quick: 60, deep: 1000 }) },
      );
      expect(adopted).toBeGreaterThan(10);
    },
  );

  it.each([
    ['one machine', plannedScripts],
    ['workers', plannedOnWorkers],
  ])('does the same again for the same events on %s', { timeout: 300_000 }, (_, scripts) => {
    fc.assert(
      fc.property(scripts, (script) => {
        expect(play(script).log).toEqual(play(script).log);
      }),
      { numRuns: amount({ quick: 5, deep: 100 }) },
    );
  });

  it.each([
    ['one machine', {}],
    // Each execution fits on both, so together they are no slower than one.
    ['workers', { workers: ['a', 'b'].map((id) => ({ id, capacity: { concurrency: 4, cpu: 4 } })) }],
  ])(
    'starts everything within a bound under an endless stream on %s, however wrong estimates are',
    {
      timeout: 300_000,
    },
    (_, workers) => {
      const draft: fc.Arbitrary<Draft> = fc.record({
        toolName: fc.constantFrom('t0', 't1', 't2'),
        resources: fc.record({
          cpu: fc.constantFrom(0, 1, 2, 4),
          exclusive: fc.subarray(['x', 'y'], { maxLength: 1 }),
        }),
        priority: fc.constantFrom('critical', 'normal', 'background'),
        estimatedMs: fc.constantFrom(1, 10, 40, 120),
      });
      let adopted = 0;
      fc.assert(
        fc.property(
          draft,
          fc.array(draft, { minLength: 1, maxLength: 6 }),
          fc.nat(1000),
          (wanted, others, seed) => {
            const random = seededRandom(seed);
            const world = new World({
              ageingMs: 100,
              reserveAfterMs: 50,
              retainSettled: 0,
              limits: { concurrency: 4, cpu: 4 },
              ...workers,
            });
            // Each has a tool of its own: otherwise it would be learned that the estimates are wrong.
            let competitors = 0;
            const compete = () => {
              const other = others[Math.floor(random() * others.length)]!;
              world.submit({ ...other, toolName: `${other.toolName}-${competitors++}` });
            };
            for (let index = 0; index < 8 + 8 * (world.workers.length >> 1); index++) compete();
            const victim = world.submit(wanted);
            // As without plans: five steps, the reservation, and a turn of each that was there before.
            const bound = 5 * 100 + 50 + 9 * (30 + 120);
            while (victim.statusName === 'queued' && world.now <= bound) {
              if (random() < 0.5 && world.plan()) adopted++;
              world.advance(5);
              for (const { execution } of [...world.attempts]) {
                if (execution === victim || (world.now - execution.startedAt < 30 && random() > 0.3))
                  continue;
                world.succeed(execution);
                compete();
              }
            }
            expect(victim.statusName).toBe('running');
          },
        ),
        { numRuns: amount({ quick: 8, deep: 200 }) },
      );
      expect(adopted).toBeGreaterThan(2);
    },
  );
});
