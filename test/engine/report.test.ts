import { describe, expect, it } from 'vitest';
import type { Report } from '../../src/index.ts';
import { openEngine } from './support/engine.ts';
import { codeOf, thrownBy } from './support/errors.ts';
import { HeldTool } from './support/held-tool.ts';
import { readUpdates } from './support/updates.ts';

describe('report()', () => {
  it('takes a share, a step, or both', async () => {
    const engine = openEngine();
    const handle = engine.submit({ toolName: 'work', id: 'w' }, ({ report }) => {
      report(0.5);
      report('reading');
      report(0.75, 'writing');
      report(0);
      report(1);
    });
    const updates = await readUpdates(handle.progress());
    expect(updates.slice(1, -1)).toMatchObject([
      { type: 'progress', progress: 0.5, step: undefined, executionId: 'w', toolName: 'work', attempt: 1 },
      { type: 'step', step: 'reading' },
      { type: 'progress', progress: 0.75, step: 'writing' },
      { type: 'progress', progress: 0 },
      { type: 'progress', progress: 1 },
    ]);
  });

  it.each([
    ['less than nothing', [-0.1]],
    ['more than all', [1.1]],
    ['no number', [Number.NaN]],
    ['endlessly much', [Number.POSITIVE_INFINITY]],
    ['nothing', []],
    ['null', [null]],
    ['a list', [[]]],
    ['true', [true]],
    ['a step that is no text', [0.5, 7]],
  ])('rejects %s, and nothing is reported', async (_, args) => {
    const engine = openEngine();
    const handle = engine.submit({ toolName: 'work' }, ({ report }) => {
      return codeOf(thrownBy(() => (report as (...values: unknown[]) => void)(...args)));
    });
    expect(await handle.wait()).toBe('INVALID_VALUE');
    const updates = await readUpdates(handle.progress());
    expect(updates.map((update) => update.type)).toEqual(['started', 'completed']);
  });

  it('cuts a step that is much too long', async () => {
    const engine = openEngine();
    const handle = engine.submit({ toolName: 'work' }, ({ report }) => report('x'.repeat(100_000)));
    const [, update] = await readUpdates(handle.progress());
    expect(update).toMatchObject({ type: 'step', step: 'x'.repeat(2000) });
  });

  it('does nothing any more when the execution has settled', async () => {
    const engine = openEngine();
    let late: Report | undefined;
    await engine
      .submit({ toolName: 'work' }, ({ report }) => {
        late = report;
      })
      .wait();
    const { lastEventId } = engine.progress;
    late!(0.5);
    late!('too late');
    expect(engine.progress.lastEventId).toBe(lastEventId);
  });
});

describe('the aggregated progress', () => {
  it('counts what is settled and what running ones have reported', async () => {
    const engine = openEngine();
    const tool = new HeldTool<void>();
    expect(engine.progress.aggregated()).toMatchObject({ total: 0, progress: 0 });
    await engine.submit({ toolName: 'quick' }, () => {}).wait();
    engine.submit({ toolName: 'held' }, tool.run);
    engine.submit({ toolName: 'held', group: 'g' }, tool.run);
    const first = await tool.started();
    const second = await tool.started(2);
    first.task.report(0.5);
    second.task.report(0.25);
    second.task.report(0.7);
    const { progress, total, running } = engine.progress.aggregated();
    expect([total, running]).toEqual([3, 2]);
    expect(progress).toBeCloseTo(2.2 / 3);
    first.finish();
    second.fail(new Error('broken'));
    await engine.drain();
    expect(engine.progress.aggregated()).toMatchObject({ completed: 2, failed: 1, progress: 1 });
  });

  it('of a group leaves out what others have reported', async () => {
    const engine = openEngine();
    const tool = new HeldTool<void>();
    const [first, second] = ['a', 'b'].map((name) =>
      engine.submitAll([{ toolName: 'held', run: tool.run }], { name }),
    );
    const { task } = await tool.started();
    await tool.started(2);
    task.report(0.5);
    expect([first!.progress().progress, second!.progress().progress]).toEqual([0.5, 0]);
  });

  it('falls back when an attempt is tried again', async () => {
    const engine = openEngine();
    const tool = new HeldTool<void>();
    engine.submit({ toolName: 'flaky', retry: { maxRetries: 1, delayMs: 0 } }, tool.run);
    const first = await tool.started();
    first.task.report(0.8);
    expect(engine.progress.aggregated().progress).toBe(0.8);
    first.fail(new Error('once'));
    await tool.started(2);
    expect(engine.progress.aggregated().progress).toBe(0);
    tool.finish();
  });
});
