import { describe, expect, it } from 'vitest';
import { openEngine } from './support/engine.ts';
import { codeOf, rejectionOf, thrownBy } from './support/errors.ts';
import { quiet } from './support/gate.ts';
import { HeldTool } from './support/held-tool.ts';
import { readUpdates, typesOf, type Update } from './support/updates.ts';

function idsOf(updates: readonly Update[]): number[] {
  return updates.map((update) => (update.type === 'missed' ? Number.NaN : update.eventId));
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

describe('a subscription', () => {
  it('sees everything from then on, whatever it is', async () => {
    const engine = openEngine();
    await engine.submit({ toolName: 'before' }, () => {}).wait();
    const stream = engine.progress.subscribe();
    const failed = engine.submit({ toolName: 'fails', group: 'g' }, () =>
      Promise.reject(new Error('broken')),
    );
    engine.submit({ toolName: 'skipped', id: 's', dependsOn: [failed] }, () => {});
    await engine.drain();
    engine.submit({ toolName: 'cancelled' }, () => {}).cancel('unwanted');
    await engine.close();
    const updates = await readUpdates(stream);
    expect(updates).toMatchObject([
      { type: 'started', toolName: 'fails', group: 'g', attempt: 1 },
      { type: 'failed', reason: 'error', error: 'broken' },
      { type: 'skipped', executionId: 's', cause: failed.id, group: undefined, attempt: 0 },
      { type: 'cancelled', reason: 'unwanted' },
    ]);
  });

  it('numbers the updates without a gap and dates them in order', async () => {
    const engine = openEngine();
    const stream = engine.progress.subscribe();
    const before = Date.now() - 1000;
    for (let index = 0; index < 20; index++)
      engine.submit({ toolName: 'quick' }, ({ report }) => report(0.5));
    await engine.close();
    const updates = await readUpdates(stream);
    expect(idsOf(updates)).toEqual(range(1, 60));
    const times = updates.map((update) => (update.type === 'missed' ? 0 : update.at));
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times[0]).toBeGreaterThanOrEqual(before);
    expect(times.at(-1)).toBeLessThanOrEqual(Date.now() + 1000);
  });

  it('resumes after any event without a gap', async () => {
    const engine = openEngine();
    const run = () => {};
    engine.submitAll(Array.from({ length: 10 }, () => ({ toolName: 'quick', run })));
    const seen = await readUpdates(engine.progress.subscribe({ after: 0 }), 'completed');
    const lastSeen = idsOf(seen).at(-1)!;
    const resumed = engine.progress.subscribe({ after: lastSeen });
    engine.submitAll(Array.from({ length: 10 }, () => ({ toolName: 'quick', run })));
    await engine.close();
    expect([...idsOf(seen), ...idsOf(await readUpdates(resumed))]).toEqual(range(1, 40));
    expect(engine.progress.lastEventId).toBe(40);
  });

  it('after an event that is yet to come starts with the next', async () => {
    const engine = openEngine();
    const stream = engine.progress.subscribe({ after: 1000 });
    engine.submit({ toolName: 'quick' }, () => {});
    await engine.close();
    expect(idsOf(await readUpdates(stream))).toEqual([1, 2]);
  });

  it('after something that is no event is rejected', () => {
    const { progress } = openEngine();
    for (const after of [Number.NaN, -1, 0.5, '1' as never]) {
      expect(codeOf(thrownBy(() => progress.subscribe({ after })))).toBe('INVALID_VALUE');
    }
  });

  it('that is too slow is told how much it missed, and goes on with what is left', async () => {
    const engine = openEngine({ eventLogSize: 16 });
    const stream = engine.progress.subscribe();
    engine.submitAll(Array.from({ length: 50 }, () => ({ toolName: 'quick', run: () => {} })));
    await engine.close();
    const updates = await readUpdates(stream);
    expect(updates[0]).toEqual({ type: 'missed', count: 84 });
    expect(idsOf(updates.slice(1))).toEqual(range(85, 100));
  });

  it('is told of every gap when it is slow again and again', async () => {
    const engine = openEngine({ eventLogSize: 16 });
    const stream = engine.progress.subscribe();
    const run = () => {};
    let seen = 0;
    let missed = 0;
    for (let round = 0; round < 5; round++) {
      await engine.submitAll(Array.from({ length: 15 }, () => ({ toolName: 'quick', run }))).outcome();
      for (let read = 0; read < 7; read++) {
        const { value } = await stream.next();
        if (value.type === 'missed') missed += value.count;
        else seen++;
      }
    }
    await engine.close();
    for (const update of await readUpdates(stream)) {
      if (update.type === 'missed') missed += update.count;
      else seen++;
    }
    expect(missed).toBeGreaterThan(0);
    expect(seen + missed).toBe(150);
  });

  it('is one of many, each with a position of its own', async () => {
    const engine = openEngine();
    const streams = Array.from({ length: 20 }, () => engine.progress.subscribe());
    const eager = readUpdates(streams[0]!);
    engine.submitAll(Array.from({ length: 5 }, () => ({ toolName: 'quick', run: () => {} })));
    await engine.close();
    const lazy = await Promise.all(streams.slice(1).map((stream) => readUpdates(stream)));
    for (const updates of [await eager, ...lazy]) expect(idsOf(updates)).toEqual(range(1, 10));
  });

  it('ends for its reader with a break, and another goes on', async () => {
    const engine = openEngine();
    const tool = new HeldTool<void>();
    const broken = engine.progress.subscribe();
    const other = engine.progress.subscribe();
    engine.submit({ toolName: 'held' }, tool.run);
    expect(typesOf(await readUpdates(broken, 'started'))).toEqual(['started']);
    expect(await broken.next()).toEqual({ done: true, value: undefined });
    tool.finish();
    await engine.close();
    expect(typesOf(await readUpdates(other))).toEqual(['started', 'completed']);
  });

  it('answers a reader that waits when it is ended from outside', async () => {
    const engine = openEngine();
    const stream = engine.progress.subscribe();
    const waiting = stream.next();
    await quiet();
    await stream.return();
    expect(await waiting).toEqual({ done: true, value: undefined });
  });

  it('refuses to be read twice at a time, and answers the first all the same', async () => {
    const engine = openEngine();
    const stream = engine.progress.subscribe();
    const first = stream.next();
    expect(await rejectionOf(stream.next())).toBeInstanceOf(TypeError);
    engine.submit({ toolName: 'quick' }, () => {});
    expect(await first).toMatchObject({ done: false, value: { type: 'started' } });
  });

  it('ends when the engine is closed, for those who wait and for those who come later', async () => {
    const engine = openEngine();
    const waiting = readUpdates(engine.progress.subscribe());
    await engine.close();
    expect(await waiting).toEqual([]);
    expect(await readUpdates(engine.progress.subscribe())).toEqual([]);
    expect(await readUpdates(engine.progress.subscribe({ after: 0 }))).toEqual([]);
  });
});

describe('a listener', () => {
  it('misses nothing, even where one change causes more updates than the log keeps', async () => {
    const engine = openEngine({ eventLogSize: 16, maxConcurrency: 1 });
    const held = new HeldTool();
    const heard: number[] = [];
    const leave = engine.progress.listen(({ eventId }) => heard.push(eventId));
    const group = engine.submitAll(
      Array.from({ length: 100 }, () => ({ toolName: 'held', run: held.run })),
      { name: 'g' },
    );
    await held.started();
    group.cancel();
    held.finish(undefined);
    await engine.drain();
    const { lastEventId } = engine.progress;
    expect(heard).toEqual(range(1, lastEventId));
    leave();
    await engine.submit({ toolName: 'later' }, () => {}).wait();
    expect(heard).toHaveLength(lastEventId);
  });
});
