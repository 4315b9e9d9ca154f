import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ExecutionContext } from '../../src/index.ts';
import { openEngine, openTimedEngine } from './support/engine.ts';
import { codeOf, thrownBy } from './support/errors.ts';
import { HeldTool } from './support/held-tool.ts';

const fails = () => Promise.reject(new Error('broken'));

describe('submitAll', () => {
  it('takes members that refer forward', async () => {
    const engine = openEngine();
    const order: string[] = [];
    const run = ({ id }: { id: string }) => order.push(id);
    const group = engine.submitAll([
      { toolName: 'step', id: 'last', dependsOn: ['middle'], run },
      { toolName: 'step', id: 'middle', dependsOn: ['first'], run },
      { toolName: 'step', id: 'first', run },
    ]);
    expect((await group.outcome()).succeeded).toBe(true);
    expect(order).toEqual(['first', 'middle', 'last']);
  });

  it.each<[string, string, ExecutionContext]>([
    ['a cycle', 'DEPENDENCY_CYCLE', { toolName: 'bad', id: 'b', dependsOn: ['a'] }],
    ['an unknown dependency', 'UNKNOWN_DEPENDENCY', { toolName: 'bad', dependsOn: ['nobody'] }],
    ['an id that is used twice', 'DUPLICATE_ID', { toolName: 'bad', id: 'a' }],
    ['an impossible demand', 'IMPOSSIBLE_DEMAND', { toolName: 'bad', resources: { cpu: 99 } }],
    ['an invalid value', 'INVALID_VALUE', { toolName: 'bad', timeoutMs: Number.NaN }],
  ])('submits nothing if one member has %s', async (_, code, bad) => {
    const engine = openEngine({ limits: { cpu: 4 } });
    let calls = 0;
    const run = () => ++calls;
    const good = {
      toolName: 'good',
      id: 'a',
      dependsOn: bad.id === 'b' ? ['b'] : [],
      resources: { exclusive: ['x'] },
    };
    const submit = () =>
      engine.submitAll(
        [
          { ...good, run },
          { toolName: 'good', run },
          { ...bad, run },
        ],
        { name: 'g' },
      );
    expect(codeOf(thrownBy(submit))).toBe(code);
    await engine.drain();
    expect(calls).toBe(0);
    expect(engine.statistics().submitted).toBe(0);
    expect(codeOf(thrownBy(() => engine.pause('g')))).toBe('UNKNOWN_GROUP');
    // The id and the lock are free again.
    await engine.submit({ toolName: 'good', id: 'a', resources: { exclusive: ['x'] } }, run).wait();
    expect(calls).toBe(1);
  });

  it('does not keep the callbacks of a group that has ended, although its history names the executions', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const engine = openEngine();
    const run = () => 1;
    const runGroup = async () => {
      const held = { bytes: new Uint8Array(1000) };
      const group = engine.submitAll([{ toolName: 'step', run }]);
      group.onRetry(() => held);
      group.onSettled(() => held);
      await group.outcome();
      return new WeakRef(held);
    };
    const held = await runGroup();
    expect(engine.allocationHistory()).toHaveLength(1);
    await expect
      .poll(() => {
        collectGarbage();
        return held.deref() === undefined;
      })
      .toBe(true);
  });

  it('ends at once with nothing in it', async () => {
    const engine = openEngine();
    const group = engine.submitAll([], { name: 'nothing' });
    expect(await group.outcome()).toMatchObject({ name: 'nothing', succeeded: true, total: 0 });
    expect(await group.outcomes()).toEqual([]);
    expect(group.handles).toEqual([]);
    expect(group.progress()).toMatchObject({ total: 0 });
  });

  it('gives a group without a name one of its own', () => {
    const engine = openEngine();
    const item = { toolName: 'quick', run: () => {} };
    const names = [engine.submitAll([item]).name, engine.submitAll([item]).name];
    expect(new Set(names).size).toBe(2);
  });

  it('may depend on what was submitted before', async () => {
    const engine = openEngine();
    const before = engine.submit({ toolName: 'before', id: 'before' }, () => 20);
    const group = engine.submitAll([
      { toolName: 'after', dependsOn: ['before', before], run: ({ outcomes }) => outcomes.get('before') },
    ]);
    expect(await group.handles[0]!.wait()).toMatchObject({ status: 'completed', value: 20 });
  });
});

describe('a group handle', () => {
  it('gives the outcomes in the order of the input', async () => {
    const engine = openEngine();
    const slow = new HeldTool<string>();
    const group = engine.submitAll([
      { toolName: 'slow', run: slow.run },
      { toolName: 'fails', id: 'failed', run: fails },
      { toolName: 'skipped', dependsOn: ['failed'], run: () => {} },
      { toolName: 'quick', run: () => 'quick' },
    ]);
    await group.handles[3]!.wait();
    slow.finish('slow');
    expect(await group.outcomes()).toMatchObject([
      { status: 'completed', value: 'slow' },
      { status: 'failed' },
      { status: 'skipped', cause: 'failed' },
      { status: 'completed', value: 'quick' },
    ]);
    expect(group.handles.map((handle) => handle.toolName)).toEqual(['slow', 'fails', 'skipped', 'quick']);
  });

  it('sums up how it ended, once and later', async () => {
    const engine = openEngine();
    const group = engine.submitAll(
      [
        { toolName: 'fails', id: 'failed', run: fails },
        { toolName: 'skipped', dependsOn: ['failed'], run: () => {} },
        { toolName: 'quick', run: () => {} },
      ],
      { name: 'mixed' },
    );
    const outcome = await group.outcome();
    expect(outcome).toMatchObject({ name: 'mixed', succeeded: false, total: 3 });
    expect(outcome.counts).toMatchObject({ completed: 1, failed: 1, skipped: 1, running: 0 });
    expect(await group.outcome()).toEqual(outcome);
  });

  it('tells how long it took since its submission', async () => {
    const { engine, clock } = openTimedEngine();
    await clock.pass(20);
    const group = engine.submitAll([{ toolName: 'step', run: () => clock.skip(5) }]);
    expect((await group.outcome()).durationMs).toBe(5);
  });

  it('tells how far it has come', async () => {
    const engine = openEngine({ maxConcurrency: 1 });
    const tool = new HeldTool<void>();
    const group = engine.submitAll([
      { toolName: 'held', run: tool.run },
      { toolName: 'held', run: tool.run },
    ]);
    const first = await tool.started();
    expect(group.progress()).toMatchObject({ total: 2, running: 1, queued: 1, progress: 0 });
    first.task.report(0.5);
    expect(group.progress().progress).toBe(0.25);
    first.finish();
    await tool.started(2);
    expect(group.progress()).toMatchObject({ total: 2, running: 1, completed: 1, progress: 0.5 });
    tool.finish();
    await group.outcome();
    expect(group.progress()).toMatchObject({ completed: 2, progress: 1 });
  });
});

describe('two groups with the same name', () => {
  it('at the same time are one group, with the outcomes of each for itself', async () => {
    const engine = openEngine();
    const tool = new HeldTool<string>();
    const first = engine.submitAll([{ toolName: 'held', run: tool.run }], { name: 'crawl' });
    const second = engine.submitAll([{ toolName: 'held', run: tool.run }], { name: 'crawl' });
    await tool.started(2);
    first.cancel('all of the name');
    expect(await first.outcomes()).toMatchObject([{ status: 'cancelled' }]);
    expect(await second.outcomes()).toMatchObject([{ status: 'cancelled' }]);
  });

  it('one after the other have nothing to do with each other', async () => {
    const engine = openEngine();
    const first = engine.submitAll([{ toolName: 'fails', run: fails }], { name: 'crawl' });
    expect(await first.outcome()).toMatchObject({ succeeded: false, total: 1 });
    const second = engine.submitAll([{ toolName: 'quick', run: () => {} }], { name: 'crawl' });
    expect(await second.outcome()).toMatchObject({ succeeded: true, total: 1 });
  });

  it('one after the other are told apart even where limits are set for the name', async () => {
    const engine = openEngine({ groups: { crawl: { maxConcurrency: 2 } } });
    const first = engine.submitAll([{ toolName: 'fails', run: fails }], { name: 'crawl', failFast: true });
    const ended = await first.outcome();
    expect(ended).toMatchObject({ succeeded: false, total: 1 });
    const tool = new HeldTool<void>();
    const second = engine.submitAll(
      [
        { toolName: 'held', run: tool.run },
        { toolName: 'fails', run: fails },
      ],
      { name: 'crawl' },
    );
    await second.handles[1]!.outcome();
    expect(await first.outcome()).toBe(ended);
    expect(second.progress()).toMatchObject({ total: 2, failed: 1, running: 1 });
    tool.finish();
    expect(await second.outcome()).toMatchObject({ total: 2, counts: { completed: 1, failed: 1 } });
  });
});

describe('a caller who asks how the executions of a group end', () => {
  it('is told of each once, also of those that ended at once, and of no others', async () => {
    const engine = openEngine();
    const broken = engine.submit({ toolName: 'other', id: 'broken' }, fails);
    await broken.outcome();
    const told: string[] = [];
    const follow = () => {
      const group = engine.submitAll(
        [
          { toolName: 'step', dependsOn: [broken], run: () => 1 },
          { toolName: 'step', run: () => 2 },
          { toolName: 'step', run: fails },
        ],
        { name: 'g' },
      );
      group.onSettled(({ status }) => told.push(status));
      return group;
    };
    const groups = [follow(), follow()];
    engine.submit({ toolName: 'other' }, () => 3);
    expect(told).toEqual([]);
    await Promise.all(groups.map((group) => group.outcome()));
    await engine.drain();
    expect(told.sort()).toEqual(['completed', 'completed', 'failed', 'failed', 'skipped', 'skipped']);
  });

  it('is told once, and only the last who asks', async () => {
    const engine = openEngine();
    const broken = engine.submit({ toolName: 'other' }, fails);
    await broken.outcome();
    const told: string[] = [];
    const group = engine.submitAll([{ toolName: 'step', dependsOn: [broken], run: () => 1 }]);
    group.onSettled(() => told.push('not the last'));
    group.onSettled(({ status }) => told.push(status));
    await engine.drain();
    expect(told).toEqual(['skipped']);
  });

  it('is not told of a later group, even where limits are set for the name', async () => {
    const engine = openEngine({ groups: { g: { maxConcurrency: 2 } } });
    const told: unknown[] = [];
    const submit = (id: string) => engine.submitAll([{ id, toolName: 'step', run: () => id }], { name: 'g' });
    const first = submit('a');
    first.onSettled(({ id }) => told.push(id));
    await first.outcome();
    await engine.drain();
    await submit('b').outcome();
    await engine.drain();
    expect(told).toEqual(['a']);
  });

  it('is told of the others where a callback throws, and of what it submits to a group that has ended', async () => {
    const engine = openEngine();
    const thrown: unknown[] = [];
    const told: string[] = [];
    const listeners = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', (error) => thrown.push(error));
    onTestFinished(() => {
      process.removeAllListeners('uncaughtException');
      for (const listener of listeners) process.on('uncaughtException', listener);
    });
    const items = ['a', 'b'].map((id) => ({ id, toolName: 'step', run: () => id }));
    engine.submitAll(items, { name: 'g' }).onSettled(({ id }) => {
      told.push(id);
      if (id === 'a') throw new Error('not my day');
      if (id === 'b') follow('c');
    });
    const follow = (id: string) =>
      engine
        .submitAll([{ id, toolName: 'step', run: () => id }], { name: 'g' })
        .onSettled((outcome) => told.push(outcome.id));
    await engine.drain();
    await expect.poll(() => told).toEqual(['a', 'b', 'c']);
    expect(thrown).toMatchObject([{ message: 'not my day' }]);
  });
});
