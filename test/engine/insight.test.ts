import { describe, expect, it } from 'vitest';
import { openEngine, openTimedEngine } from './support/engine.ts';
import { codeOf, thrownBy } from './support/errors.ts';
import { quiet } from './support/gate.ts';
import { HeldTool } from './support/held-tool.ts';

describe('explain()', () => {
  it('says of each execution where it stands, as data and in words', async () => {
    const engine = openEngine();
    const tool = new HeldTool<void>();
    const resources = { exclusive: ['db'] };
    engine.submit({ toolName: 'migrate', id: 'holder', resources }, tool.run);
    await tool.started();
    engine.submit({ toolName: 'query', id: 'waiting', resources }, () => {});
    engine.submit({ toolName: 'report', id: 'pending', dependsOn: ['waiting'] }, () => {});
    await quiet();
    expect(engine.explain('holder').text).toContain('run');
    expect(engine.explain('waiting').text).toContain('"db"');
    expect(engine.explain('waiting').text).toContain('holder');
    expect(engine.explain('pending').text).toContain('waiting');
    tool.finish();
    await engine.drain();
    expect(engine.explain('pending').text).toContain('completed');
  });

  it('changes nothing', async () => {
    const engine = openEngine();
    engine.submit({ toolName: 'quick', id: 'q' }, () => {});
    const before = engine.statistics();
    engine.explain('q');
    expect(engine.statistics()).toEqual(before);
    await engine.drain();
    expect(engine.handle('q')!.status).toBe('completed');
  });

  it('knows nothing of an id that nobody has', () => {
    const engine = openEngine();
    expect(codeOf(thrownBy(() => engine.explain('nobody')))).toBe('UNKNOWN_EXECUTION');
  });
});

describe('timeLeft()', () => {
  it('is a range, learned from what the tool took before', async () => {
    const { engine, clock } = openTimedEngine({ maxConcurrency: 1 });
    for (let round = 0; round < 5; round++)
      await engine.submit({ toolName: 'work' }, () => clock.skip(20)).wait();
    const tool = new HeldTool<void>();
    const items = Array.from({ length: 10 }, () => ({ toolName: 'work', run: tool.run }));
    const group = engine.submitAll(items, { name: 'batch' });
    await tool.started();
    const left = group.timeLeft()!;
    expect(left.lowMs).toBeGreaterThan(50);
    expect(left.lowMs).toBeLessThanOrEqual(left.highMs);
    expect(engine.timeLeft('batch')).toBeDefined();
    expect(engine.timeLeft()).toBeDefined();
  });

  it('of a group that nobody knows is an error', () => {
    const engine = openEngine();
    expect(codeOf(thrownBy(() => engine.timeLeft('nobody')))).toBe('UNKNOWN_GROUP');
  });
});

it('queued() counts those who wait for a lock, too', async () => {
  const engine = openEngine();
  const tool = new HeldTool<void>();
  for (let index = 0; index < 4; index++)
    engine.submit({ toolName: 'write', resources: { exclusive: ['db'] } }, tool.run);
  await tool.started();
  expect([engine.queued().normal, engine.statistics().counts.queued]).toEqual([3, 3]);
  engine.cancelAll();
});
