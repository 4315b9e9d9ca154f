import { describe, expect, it } from 'vitest';
import type { GroupItem } from '../../src/engine/engine.ts';
import { openTimedEngine } from './support/engine.ts';
import { codeOf, thrownBy } from './support/errors.ts';

const LIMITS = { maxConcurrency: 4, limits: { cpu: 2 } };

/** Runs four functions of which one should wait although it fits, and returns when each started. */
async function startsOf(options: object): Promise<Record<string, number>> {
  const { engine, clock } = openTimedEngine({ ...LIMITS, ...options });
  const starts: Record<string, number> = {};
  const begin = clock.now();
  const item = (id: string, estimatedMs: number, cpu: number, dependsOn: string[] = []): GroupItem => ({
    id,
    toolName: id,
    estimatedMs,
    resources: { cpu },
    dependsOn,
    run: () => {
      starts[id] = clock.now() - begin;
      return clock.sleep(estimatedMs);
    },
  });
  const group = engine.submitAll([
    item('a', 1000, 1),
    item('wide', 5000, 2, ['a']),
    item('narrow', 4000, 1),
    item('last', 4000, 1, ['wide']),
  ]);
  await clock.pass(20_000);
  await group.outcome();
  return starts;
}

describe('an engine', () => {
  it('plans starts where durations are known and that is faster', async () => {
    expect(await startsOf({})).toEqual({ a: 0, wide: 1000, narrow: 6000, last: 6000 });
  });

  it('starts the most urgent that fits if planning is off', async () => {
    expect(await startsOf({ plan: 'off' })).toEqual({ a: 0, narrow: 0, wide: 4000, last: 9000 });
  });

  it('explains what the plan holds back', async () => {
    const { engine, clock } = openTimedEngine(LIMITS);
    const work = (estimatedMs: number) => () => clock.sleep(estimatedMs);
    const group = engine.submitAll([
      { id: 'a', toolName: 'a', estimatedMs: 1000, resources: { cpu: 1 }, run: work(1000) },
      {
        id: 'wide',
        toolName: 'b',
        estimatedMs: 5000,
        resources: { cpu: 2 },
        dependsOn: ['a'],
        run: work(5000),
      },
      { id: 'narrow', toolName: 'c', estimatedMs: 4000, resources: { cpu: 1 }, run: work(4000) },
      {
        id: 'last',
        toolName: 'd',
        estimatedMs: 4000,
        resources: { cpu: 1 },
        dependsOn: ['wide'],
        run: work(4000),
      },
    ]);
    await clock.pass(10);
    expect(engine.explain('narrow')).toMatchObject({ reason: 'plan', status: 'queued' });
    await clock.pass(20_000);
    await group.outcome();
  });

  it('refuses an unknown way of planning', () => {
    expect(codeOf(thrownBy(() => openTimedEngine({ plan: 'maybe' as never })))).toBe('INVALID_VALUE');
  });
});
