import { describe, expect, it } from 'vitest';
import { Execution } from '../../src/core/execution.ts';
import { Scheduler } from '../../src/core/scheduler.ts';
import { validate } from '../../src/core/validate.ts';
import { SILENT_EFFECTS } from './support/silent-effects.ts';
import { World } from './support/world.ts';

describe('what the scheduler knows by name', () => {
  it('keeps every tool that has work, however many there are', () => {
    const scheduler = new Scheduler(SILENT_EFFECTS);
    const specs = Array.from({ length: 10_050 }, (_, index) => ({ toolName: `tool ${index}` }));
    scheduler.submitAll(
      specs.map(() => new Execution()),
      specs,
      0,
    );
    expect(scheduler.catalog.tools.size).toBe(10_050);
    expect(scheduler.catalog.tools.get('tool 0')?.unsettled).toBe(1);
  });

  it('forgets tools without work, once there are very many', () => {
    const scheduler = new Scheduler(SILENT_EFFECTS, {
      retainSettled: 0,
      limits: { tools: { 'tool 7': {} } },
    });
    for (let index = 0; index < 12_000; index++) {
      const execution = new Execution();
      scheduler.submit(execution, { toolName: `tool ${index}` }, 0);
      scheduler.advance(0);
      scheduler.succeed(execution, 1, 0);
    }
    expect(scheduler.catalog.tools.size).toBe(10_000);
    expect(scheduler.catalog.tools.has('tool 7')).toBe(true);
    validate(scheduler);
  });

  it('forgets tools that were named in vain, once there are very many', () => {
    const scheduler = new Scheduler(SILENT_EFFECTS);
    for (let index = 0; index < 12_000; index++) {
      const spec = { toolName: `tool ${index}`, dependsOn: ['ghost'] };
      expect(() => scheduler.submit(new Execution(), spec, 0)).toThrow('ghost');
    }
    expect(scheduler.catalog.tools.size).toBe(10_000);
  });

  it.each<[string, (index: number) => { toolName: string; conflictsWith: string[] }]>([
    ['others', (index) => ({ toolName: 'tool', conflictsWith: [`other ${index}`] })],
    ['themselves', (index) => ({ toolName: `tool ${index}`, conflictsWith: [`tool ${index}`] })],
    ['each other', (index) => ({ toolName: `tool ${index}`, conflictsWith: [`tool ${index ^ 1}`] })],
  ])('forgets tools that conflicted with %s, once there are very many', (_, specOf) => {
    const scheduler = new Scheduler(SILENT_EFFECTS, { retainSettled: 0 });
    for (let index = 0; index < 12_000; index++) {
      const execution = new Execution();
      scheduler.submit(execution, specOf(index), 0);
      scheduler.advance(0);
      scheduler.succeed(execution, 1, 0);
    }
    expect(scheduler.catalog.tools.size).toBeLessThanOrEqual(10_001);
    validate(scheduler);
  });

  it('counts once that a class has gone, however many of a refused group had it', () => {
    const world = new World();
    world.submit({ id: 'open', toolName: 'other', conflictsWith: ['rival'] });
    for (let cpu = 0; cpu < 12; cpu++) world.submit({ resources: { cpu } });
    const members = Array.from({ length: 5 }, () => ({ conflictsWith: ['rival'] }));
    expect(() => world.submitAll([...members, { dependsOn: ['ghost'] }])).toThrow('ghost');
    expect(world.scheduler.catalog.tools.get('rival')!.namedBy).toBe(1);
  });

  it('keeps few idle classes of a tool, and every class in use', () => {
    const world = new World();
    const open = Array.from({ length: 20 }, (_, cpu) => world.submit({ resources: { cpu } }));
    const { classes } = world.scheduler.catalog.tools.get('tool')!;
    expect(classes).toHaveLength(20);
    for (const execution of open) world.succeed(execution);
    expect(classes.length).toBeLessThanOrEqual(8);
  });

  it('puts executions into one class if they need exactly the same', () => {
    const world = new World();
    world.submitAll([{}, {}, { resources: { cpu: 0.1 } }, { resources: { exclusive: ['db'] } }]);
    world.submit({ resources: { cpu: 0.2 } });
    world.submit({ conflictsWith: ['other'] });
    world.submit({ group: 'g' });
    expect(world.scheduler.catalog.tools.get('tool')!.classes).toHaveLength(4);
  });
});
