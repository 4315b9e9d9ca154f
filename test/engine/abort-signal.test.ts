import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { GroupItem } from '../../src/index.ts';
import { openEngine } from './support/engine.ts';
import { codeOf, thrownBy } from './support/errors.ts';
import { HeldTool } from './support/held-tool.ts';

function listenersOf(signal: AbortSignal): number {
  return getEventListeners(signal, 'abort').length;
}

/** Puts a prefix before the ids of the members of a group. */
function named(prefix: string) {
  return ({ id, dependsOn = [], ...item }: GroupItem): GroupItem => ({
    ...item,
    id: prefix + id,
    dependsOn: dependsOn.map((other) => `${prefix}${String(other)}`),
  });
}

describe('an AbortSignal of the caller', () => {
  it('that is aborted already cancels the execution before it is called', async () => {
    const engine = openEngine();
    const tool = new HeldTool();
    const handle = engine.submit({ toolName: 'held', signal: AbortSignal.abort('gone') }, tool.run);
    expect(handle.status).toBe('cancelled');
    await engine.drain();
    expect(tool.calls).toBe(0);
    expect(await handle.outcome()).toMatchObject({ status: 'cancelled', reason: 'gone' });
  });

  it('cancels the execution while it runs, in the same turn', async () => {
    const engine = openEngine();
    const controller = new AbortController();
    const tool = new HeldTool();
    const handle = engine.submit({ toolName: 'held', signal: controller.signal }, tool.run);
    const { task } = await tool.started();
    expect(task.signal.aborted).toBe(false);
    controller.abort(new Error('the request ended'));
    expect([handle.status, task.signal.aborted]).toEqual(['cancelled', true]);
    expect(await handle.outcome()).toMatchObject({ reason: 'the request ended' });
  });

  it('cancels the execution while it waits', async () => {
    const engine = openEngine();
    const controller = new AbortController();
    const tool = new HeldTool<void>();
    const first = engine.submit({ toolName: 'held' }, tool.run);
    const handle = engine.submit(
      { toolName: 'next', dependsOn: [first], signal: controller.signal },
      () => {},
    );
    controller.abort();
    expect(handle.status).toBe('cancelled');
  });

  it('is not listened to any more when the execution has settled, however it did', async () => {
    const engine = openEngine();
    const { signal } = new AbortController();
    const completed = engine.submit({ toolName: 'completes', signal }, () => {});
    const failed = engine.submit({ toolName: 'fails', signal }, () => Promise.reject(new Error('broken')));
    const skipped = engine.submit({ toolName: 'skipped', signal, dependsOn: [failed] }, () => {});
    const cancelled = engine.submit({ toolName: 'cancelled', signal }, () => {});
    // One for all of them: a warning is printed for more than ten on one signal.
    expect(listenersOf(signal)).toBe(1);
    cancelled.cancel();
    expect(listenersOf(signal)).toBe(1);
    await engine.drain();
    expect([completed.status, failed.status, skipped.status]).toEqual(['completed', 'failed', 'skipped']);
    expect(listenersOf(signal)).toBe(0);
    engine.submit({ toolName: 'skipped at once', signal, dependsOn: [failed] }, () => {});
    expect(listenersOf(signal)).toBe(0);
  });

  it('may be shared by the members of a group', async () => {
    const engine = openEngine();
    const controller = new AbortController();
    const { signal } = controller;
    const tool = new HeldTool<void>();
    const group = engine.submitAll([
      { toolName: 'held', signal, run: tool.run },
      { toolName: 'next', signal, run: tool.run },
      { toolName: 'free', run: () => 'free' },
    ]);
    await tool.started(2);
    controller.abort('all of you');
    expect(await group.outcomes()).toMatchObject([
      { status: 'cancelled', reason: 'all of you' },
      { status: 'cancelled', reason: 'all of you' },
      { status: 'completed', value: 'free' },
    ]);
    expect(listenersOf(signal)).toBe(0);
  });

  it('cancels all it is for, and skips none of them because of another', async () => {
    const engine = openEngine();
    const controller = new AbortController();
    const chain = (signal: AbortSignal) => [
      { id: 'last', toolName: 'last', signal, dependsOn: ['first'], run: () => {} },
      { id: 'first', toolName: 'first', signal, run: () => {} },
      { id: 'middle', toolName: 'middle', signal, dependsOn: ['first'], run: () => {} },
    ];
    const aborted = engine.submitAll(chain(AbortSignal.abort('too late')).map(named('a-')));
    const waiting = engine.submitAll(chain(controller.signal).map(named('b-')));
    const other = engine.submit({ toolName: 'other', dependsOn: ['b-last'] }, () => {});
    controller.abort('not needed');
    for (const { handles } of [aborted, waiting])
      expect(handles.map(({ status }) => status)).toEqual(['cancelled', 'cancelled', 'cancelled']);
    expect(other.status).toBe('skipped');
  });

  it('that is none is rejected, and nothing is submitted', () => {
    const engine = openEngine();
    for (const signal of [{}, null, 'abort', new AbortController()]) {
      const submit = () =>
        engine.submit({ toolName: 'quick', signal: signal as unknown as AbortSignal }, () => {});
      expect(codeOf(thrownBy(submit))).toBe('INVALID_VALUE');
      const submitAll = () =>
        engine.submitAll([{ toolName: 'quick', signal: signal as unknown as AbortSignal, run: () => {} }]);
      expect(codeOf(thrownBy(submitAll))).toBe('INVALID_VALUE');
    }
    expect(engine.statistics().submitted).toBe(0);
  });
});
