import { describe, expect, it } from 'vitest';
import { openEngine } from './support/engine.ts';
import { codeOf, thrownBy } from './support/errors.ts';
import { quiet } from './support/gate.ts';
import { HeldTool } from './support/held-tool.ts';

describe('setLimits', () => {
  it('lets more start at once when a limit is raised', async () => {
    const engine = openEngine({ maxConcurrency: 1 });
    const tool = new HeldTool<void>();
    for (let index = 0; index < 4; index++) engine.submit({ toolName: 'held' }, tool.run);
    await tool.started();
    await quiet();
    expect(tool.calls).toBe(1);
    engine.setLimits({ maxConcurrency: 3 });
    await tool.started(3);
    await quiet();
    expect(tool.calls).toBe(3);
  });

  it('takes nothing from what runs when a limit is lowered, and starts nothing until there is room', async () => {
    const engine = openEngine({ maxConcurrency: 3 });
    const tool = new HeldTool<void>();
    for (let index = 0; index < 5; index++) engine.submit({ toolName: 'held' }, tool.run);
    const running = [await tool.started(1), await tool.started(2), await tool.started(3)];
    engine.setLimits({ maxConcurrency: 1 });
    await quiet();
    expect(running.map(({ task }) => task.signal.aborted)).toEqual([false, false, false]);
    running[0]!.finish();
    running[1]!.finish();
    await quiet();
    expect(tool.calls).toBe(3);
    running[2]!.finish();
    await tool.started(4);
    await quiet();
    expect(tool.calls).toBe(4);
    tool.finish();
    await tool.started(5);
    tool.finish();
  });

  it('changes one resource and leaves the others', async () => {
    const engine = openEngine({ maxConcurrency: 9, limits: { cpu: 1, memoryMb: 1000, ioOperations: 5 } });
    const tool = new HeldTool<void>();
    for (let index = 0; index < 2; index++)
      engine.submit({ toolName: 'held', resources: { cpu: 1 } }, tool.run);
    await tool.started();
    await quiet();
    expect(tool.calls).toBe(1);
    engine.setLimits({ limits: { cpu: 2 } });
    await tool.started(2);
    const { concurrency, cpu, memoryMb } = engine.statistics().utilization;
    expect([concurrency.limit, cpu.limit, memoryMb.limit]).toEqual([9, 2, 1000]);
  });

  it('decides about what is submitted from then on', () => {
    const engine = openEngine({ limits: { cpu: 1 } });
    const submit = () => engine.submit({ toolName: 'heavy', resources: { cpu: 2 } }, () => {});
    expect(codeOf(thrownBy(submit))).toBe('IMPOSSIBLE_DEMAND');
    engine.setLimits({ limits: { cpu: 2 } });
    submit();
    expect(engine.statistics().submitted).toBe(1);
  });

  it('limits a tool and a group by name, both ways', async () => {
    const engine = openEngine({ tools: { fetch: { maxConcurrency: 1 } } });
    const fetch = new HeldTool<void>();
    const crawl = new HeldTool<void>();
    for (let index = 0; index < 3; index++) engine.submit({ toolName: 'fetch' }, fetch.run);
    for (let index = 0; index < 3; index++) engine.submit({ toolName: 'parse', group: 'crawl' }, crawl.run);
    await crawl.started(3);
    await quiet();
    expect(fetch.calls).toBe(1);
    engine.setLimits({ tools: { fetch: { maxConcurrency: 2 } }, groups: { crawl: { maxConcurrency: 1 } } });
    await fetch.started(2);
    const more = engine.submit({ toolName: 'parse', group: 'crawl' }, crawl.run);
    for (let call = 1; call <= 2; call++) (await crawl.started(call)).finish();
    await quiet();
    expect([fetch.calls, crawl.calls]).toEqual([2, 3]);
    (await crawl.started(3)).finish();
    await crawl.started(4);
    crawl.finish();
    await more.wait();
  });

  it('never keeps a parent from going on with the room that it had lent', async () => {
    const engine = openEngine({ limits: { cpu: 4 } });
    const child = new HeldTool<void>();
    const parent = engine.submit({ toolName: 'parent', resources: { cpu: 4 } }, async ({ submit }) => {
      await submit({ toolName: 'child' }, child.run).wait();
      return 'went on';
    });
    await child.started();
    engine.setLimits({ limits: { cpu: 1 } });
    child.finish();
    expect(await parent.wait()).toBe('went on');
  });
});

describe('a rate', () => {
  it('lets only so many start in a span of time', async () => {
    const engine = openEngine({ tools: { api: { rate: { count: 2, perMs: 60 } } } });
    const items = Array.from({ length: 6 }, () => ({ toolName: 'api', run: () => undefined }));
    const { handles } = engine.submitAll(items);
    const outcomes = await Promise.all(handles.map((handle) => handle.outcome()));
    // When the engine let them start: a busy machine calls a function later, and some later than others.
    const starts = outcomes.map(({ waitedMs }) => waitedMs).sort((one, other) => one - other);
    for (let index = 2; index < 6; index++)
      expect(starts[index]! - starts[index - 2]!).toBeGreaterThanOrEqual(60);
  });
});
