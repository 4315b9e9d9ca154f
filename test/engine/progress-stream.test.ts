import { describe, expect, it } from 'vitest';
import { openEngine, openTimedEngine } from './support/engine.ts';
import { quiet } from './support/gate.ts';
import { HeldTool, obedient } from './support/held-tool.ts';
import { readUpdates, typesOf } from './support/updates.ts';

describe('the progress of one execution', () => {
  it('starts with what happened before, leaves out the others, and ends by itself', async () => {
    const engine = openEngine();
    const tool = new HeldTool<void>();
    const handle = engine.submit({ toolName: 'held' }, tool.run);
    const { task } = await tool.started();
    await engine.submit({ toolName: 'other' }, ({ report }) => report(0.1)).wait();
    task.report(0.5);
    const reading = readUpdates(handle.progress());
    await quiet();
    task.report('nearly done');
    tool.finish();
    expect(typesOf(await reading)).toEqual(['started', 'progress', 'step', 'completed']);
  });

  it.each([
    ['completed', 'completed'],
    ['failed', 'failed'],
    ['cancelled', 'cancelled'],
  ])('ends with %s for those who ask after the end', async (_, ending) => {
    const engine = openEngine();
    const tool = new HeldTool<void>();
    const handle = engine.submit({ toolName: 'held' }, tool.run);
    await tool.started();
    if (ending === 'cancelled') handle.cancel('unwanted');
    if (ending === 'failed') tool.fail(new Error('broken'));
    else tool.finish();
    await engine.drain();
    expect(typesOf(await readUpdates(handle.progress()))).toEqual(['started', ending]);
  });

  it('ends with skipped for what never started', async () => {
    const engine = openEngine();
    const failed = engine.submit({ toolName: 'fails' }, () => Promise.reject(new Error('broken')));
    const skipped = engine.submit({ toolName: 'skipped', dependsOn: [failed] }, () => {});
    const updates = await readUpdates(skipped.progress());
    expect(updates).toMatchObject([{ type: 'skipped', cause: failed.id }]);
  });

  it('ends with the ending even when that has left the log', async () => {
    const engine = openEngine({ eventLogSize: 16 });
    const handle = engine.submit({ toolName: 'quick' }, () => {});
    await handle.wait();
    await engine
      .submitAll(Array.from({ length: 20 }, () => ({ toolName: 'other', run: () => {} })))
      .outcome();
    expect(await readUpdates(handle.progress())).toMatchObject([
      { type: 'completed', executionId: handle.id },
    ]);
  });

  it('keeps a bounded number of updates for a slow reader, and tells how many more there were', async () => {
    const engine = openEngine({ eventLogSize: 4096 });
    const tool = new HeldTool<void>();
    const handle = engine.submit({ toolName: 'held' }, tool.run);
    const stream = handle.progress();
    const { task } = await tool.started();
    for (let step = 1; step <= 1500; step++) task.report(step / 1500);
    tool.finish();
    await handle.wait();
    const [missed, ...kept] = await readUpdates(stream);
    expect(kept.length).toBeLessThanOrEqual(1024);
    expect(missed).toEqual({ type: 'missed', count: 1502 - kept.length });
    expect(kept.at(-1)).toMatchObject({ type: 'completed' });
  });

  it('tells a slow reader how much it missed', async () => {
    const engine = openEngine({ eventLogSize: 16 });
    const tool = new HeldTool<void>();
    const handle = engine.submit({ toolName: 'held' }, tool.run);
    const stream = handle.progress();
    const { task } = await tool.started();
    for (let step = 1; step <= 40; step++) task.report(step / 40);
    tool.finish();
    await handle.wait();
    const updates = await readUpdates(stream);
    // Of 42 updates the log holds 16.
    expect(updates[0]).toEqual({ type: 'missed', count: 26 });
    expect(updates).toHaveLength(17);
    expect(updates.at(-1)).toMatchObject({ type: 'completed' });
  });

  it('tells a reader who missed all but the end how much that was', async () => {
    const engine = openEngine({ eventLogSize: 16 });
    const handle = engine.submit({ toolName: 'quick' }, ({ report }) => report(0.5));
    const stream = handle.progress();
    await handle.wait();
    await engine
      .submitAll(Array.from({ length: 20 }, () => ({ toolName: 'other', run: () => {} })))
      .outcome();
    expect(await readUpdates(stream)).toMatchObject([{ type: 'missed', count: 2 }, { type: 'completed' }]);
  });

  it('tells how long it waited and ran, as the outcome does', async () => {
    const { engine, clock } = openTimedEngine({ maxConcurrency: 1 });
    const tool = new HeldTool<void>();
    engine.submit({ toolName: 'first' }, () => clock.skip(5));
    const handle = engine.submit({ toolName: 'held' }, tool.run);
    await tool.started();
    clock.skip(7);
    tool.finish();
    expect(await handle.outcome()).toMatchObject({ waitedMs: 5, durationMs: 7 });
    expect(await readUpdates(handle.progress())).toMatchObject([
      { type: 'started', waitedMs: 5, at: clock.epoch + 5 },
      { type: 'completed', durationMs: 7, at: clock.epoch + 12 },
    ]);
  });

  it('says in few words why an attempt failed or was ended, however many there are', async () => {
    const engine = openEngine();
    const long = 'x'.repeat(100_000);
    const failing = engine.submit({ toolName: 'fails', retry: { maxRetries: 1, delayMs: 0 } }, () =>
      Promise.reject(new Error(long)),
    );
    const error = 'x'.repeat(2000);
    expect(await readUpdates(failing.progress())).toMatchObject([
      { type: 'started' },
      { type: 'retrying', error },
      { type: 'started' },
      { type: 'failed', error },
    ]);
    const unwanted = engine.submit({ toolName: 'unwanted' }, () => {});
    unwanted.cancel(long);
    expect(await readUpdates(unwanted.progress())).toMatchObject([{ type: 'cancelled', reason: error }]);
  });

  it('says that a limit in time ended an attempt', async () => {
    const { engine, clock } = openTimedEngine();
    const retry = { maxRetries: 1, delayMs: 0 };
    const handle = engine.submit({ toolName: 'slow', timeoutMs: 5, retry }, obedient);
    await clock.pass(10);
    const [, retrying] = await readUpdates(handle.progress());
    expect(retrying).toMatchObject({ type: 'retrying', reason: 'timeout', error: 'timeout' });
  });

  it('has many readers, also at the same time', async () => {
    const engine = openEngine();
    const tool = new HeldTool<void>();
    const handle = engine.submit({ toolName: 'held' }, tool.run);
    const readings = Array.from({ length: 10 }, () => readUpdates(handle.progress()));
    const { task } = await tool.started();
    task.report(0.5);
    tool.finish();
    for (const updates of await Promise.all(readings)) {
      expect(typesOf(updates)).toEqual(['started', 'progress', 'completed']);
    }
  });

  it('ends for a reader that breaks out of the loop, and nothing stays behind', async () => {
    const engine = openEngine();
    const tool = new HeldTool<void>();
    const handle = engine.submit({ toolName: 'held' }, tool.run);
    const { task } = await tool.started();
    const stream = handle.progress();
    expect(typesOf(await readUpdates(stream, 'started'))).toEqual(['started']);
    task.report(0.5);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect(followersOf(handle)).toBe(0);
    tool.finish();
    await handle.wait();
  });

  it('is followed by nobody any more when the execution has settled', async () => {
    const engine = openEngine();
    const handle = engine.submit({ toolName: 'quick' }, () => {});
    handle.progress();
    await handle.wait();
    expect(followersOf(handle)).toBe(0);
    handle.progress();
    expect(followersOf(handle)).toBe(0);
  });
});

/** How many readers an execution keeps for itself. */
function followersOf(handle: object): number {
  return (handle as { extras?: { followers: Set<unknown> } }).extras?.followers.size ?? 0;
}
