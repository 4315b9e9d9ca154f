import { describe, expect, it } from 'vitest';
import { ProgressTracker } from '../../src/index.ts';
import { openEngine, openTimedEngine } from './support/engine.ts';
import { codeOf, thrownBy } from './support/errors.ts';
import { HeldTool } from './support/held-tool.ts';
import { readUpdates, typesOf } from './support/updates.ts';

describe('a tracker of its own', () => {
  it('takes updates, and passes them to its readers', async () => {
    const tracker = new ProgressTracker();
    const reading = readUpdates(tracker.subscribe(), 'cancelled');
    tracker.start('a', 'build');
    tracker.update('a', 0.5, 'linking');
    tracker.update('a', 'packing');
    tracker.complete('a');
    tracker.start('b', 'test');
    tracker.fail('b', new Error('3 tests failed'));
    tracker.start('c', 'test');
    tracker.cancel('c', 'not needed');
    expect(await reading).toMatchObject([
      { type: 'started', executionId: 'a', toolName: 'build', attempt: 1, eventId: 1 },
      { type: 'progress', progress: 0.5, step: 'linking' },
      { type: 'step', step: 'packing' },
      { type: 'completed', executionId: 'a' },
      { type: 'started', executionId: 'b' },
      { type: 'failed', executionId: 'b', reason: 'error', error: '3 tests failed' },
      { type: 'started', executionId: 'c' },
      { type: 'cancelled', executionId: 'c', reason: 'not needed' },
    ]);
    expect(typesOf(await readUpdates(tracker.subscribe({ after: 5 }), 'cancelled'))).toHaveLength(3);
  });

  it('sums up how far all have come, with statistics', () => {
    const tracker = new ProgressTracker();
    expect(tracker.aggregated()).toMatchObject({ total: 0, progress: 0 });
    for (const id of ['a', 'b', 'c', 'd']) tracker.start(id, 'work');
    tracker.complete('a');
    tracker.fail('b');
    tracker.update('c', 0.5);
    tracker.update('d', 0.1);
    tracker.update('d', 0.9);
    expect(tracker.aggregated()).toMatchObject({
      total: 4,
      running: 2,
      completed: 1,
      failed: 1,
      progress: (1 + 1 + 0.5 + 0.9) / 4,
      statistics: {
        submitted: 4,
        counts: { running: 2, completed: 1, failed: 1 },
        duration: { count: 1 },
      },
    });
    tracker.complete('c');
    tracker.cancel('d');
    expect(tracker.aggregated()).toMatchObject({ running: 0, progress: 1 });
  });

  it('has a snapshot of each execution, for as long as it is remembered', () => {
    const tracker = new ProgressTracker({ retainSettled: 1 });
    const before = Date.now();
    tracker.start('a', 'build');
    tracker.update('a', 0.25, 'compiling');
    const running = tracker.snapshot('a')!;
    expect(running).toMatchObject({
      id: 'a',
      toolName: 'build',
      status: 'running',
      attempt: 1,
      progress: 0.25,
      step: 'compiling',
      error: undefined,
      settledAt: undefined,
    });
    expect(running.startedAt).toBeGreaterThanOrEqual(before - 1);
    tracker.fail('a', new Error('no space left'));
    expect(tracker.snapshot('a')).toMatchObject({ status: 'failed', progress: 0.25, error: 'no space left' });
    expect(tracker.snapshot('a')!.settledAt).toBeGreaterThanOrEqual(running.startedAt!);
    tracker.start('a', 'build');
    expect(tracker.snapshot('a')).toMatchObject({ status: 'running', progress: 0, step: undefined });
    tracker.complete('a');
    tracker.start('b', 'build');
    tracker.complete('b');
    expect(tracker.snapshot('a')).toBeUndefined();
    expect(tracker.snapshot('b')).toMatchObject({ status: 'completed', progress: 1 });
  });

  it('refuses what cannot have happened', () => {
    const tracker = new ProgressTracker();
    tracker.start('a', 'build');
    expect(codeOf(thrownBy(() => tracker.start('a', 'build')))).toBe('DUPLICATE_ID');
    expect(codeOf(thrownBy(() => tracker.start('', 'build')))).toBe('INVALID_VALUE');
    expect(codeOf(thrownBy(() => tracker.update('b', 0.5)))).toBe('UNKNOWN_EXECUTION');
    expect(codeOf(thrownBy(() => tracker.update('a', 1.5)))).toBe('INVALID_VALUE');
    tracker.complete('a');
    expect(codeOf(thrownBy(() => tracker.fail('a')))).toBe('UNKNOWN_EXECUTION');
    expect(codeOf(thrownBy(() => new ProgressTracker({ eventLogSize: 1 })))).toBe('INVALID_VALUE');
  });

  it('is written by the engine alone if it is that of an engine', () => {
    const { progress } = openEngine();
    expect(codeOf(thrownBy(() => progress.start('a', 'build')))).toBe('INVALID_VALUE');
    expect(progress.aggregated()).toMatchObject({ total: 0, statistics: { submitted: 0 } });
  });
});

describe('the snapshot of a handle', () => {
  it('says how far the execution has come', async () => {
    const { engine, clock } = openTimedEngine();
    const tool = new HeldTool<void>();
    const retry = { maxRetries: 1, delayMs: 0 };
    clock.skip(10);
    const handle = engine.submit({ toolName: 'work', id: 'w', retry }, tool.run);
    expect(handle.snapshot()).toEqual({
      id: 'w',
      toolName: 'work',
      status: 'queued',
      attempt: 0,
      progress: 0,
      step: undefined,
      error: undefined,
      submittedAt: clock.epoch + 10,
      startedAt: undefined,
      settledAt: undefined,
    });
    const first = await tool.started();
    first.task.report(0.5, 'half');
    first.task.report('polishing');
    expect(handle.snapshot()).toMatchObject({
      status: 'running',
      attempt: 1,
      progress: 0.5,
      step: 'polishing',
    });
    first.fail(new Error('again'));
    const second = await tool.started(2);
    expect(handle.snapshot()).toMatchObject({ status: 'running', attempt: 2, progress: 0, step: undefined });
    clock.skip(5);
    second.fail(new Error('broken'));
    await handle.outcome();
    expect(handle.snapshot()).toMatchObject({
      status: 'failed',
      error: 'broken',
      startedAt: clock.epoch + 10,
      settledAt: clock.epoch + 15,
    });
  });
});
