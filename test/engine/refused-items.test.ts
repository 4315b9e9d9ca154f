import { describe, expect, it } from 'vitest';
import { type ProgressUpdate, ToolFailure } from '../../src/index.ts';
import { openEngine } from './support/engine.ts';
import { codeOf, thrownBy } from './support/errors.ts';
import { HeldTool } from './support/held-tool.ts';

const refusal = new Error('no such file');
const run = () => 'done';

describe('An item that fails at once', () => {
  it('has failed when submitAll returns, without an attempt and whatever it depends on', async () => {
    const engine = openEngine();
    const group = engine.submitAll([
      { toolName: 'read', id: 'late', run },
      { toolName: 'read', id: 'refused', dependsOn: ['late'], error: refusal },
    ]);
    expect(group.handles.map(({ status }) => status)).toEqual(['queued', 'failed']);
    expect(await group.handles[1]!.outcome()).toMatchObject({
      status: 'failed',
      reason: 'error',
      error: refusal,
      attempts: 0,
    });
    await expect(group.handles[1]!.wait()).rejects.toBe(refusal);
    expect((await group.outcome()).counts).toMatchObject({ completed: 1, failed: 1 });
    expect(engine.statistics()).toMatchObject({ submitted: 2, counts: { completed: 1, failed: 1 } });
    expect(engine.allocationHistory()).toHaveLength(1);
  });

  it('rules out what depends on it, however long the chain, and lets a compensation run', async () => {
    const engine = openEngine();
    const group = engine.submitAll([
      { toolName: 'read', id: 'end', dependsOn: ['middle'], run },
      { toolName: 'read', id: 'middle', dependsOn: ['refused'], run },
      { toolName: 'read', id: 'refused', error: refusal },
      { toolName: 'read', id: 'anyway', dependsOn: ['refused'], onDependencyFailure: 'run', run },
      { toolName: 'read', id: 'repair', dependsOn: ['refused'], onDependencyFailure: 'on-failure', run },
    ]);
    expect(await group.outcomes()).toMatchObject([
      { status: 'skipped', cause: 'refused' },
      { status: 'skipped', cause: 'refused' },
      { status: 'failed' },
      { status: 'completed' },
      { status: 'completed' },
    ]);
  });

  it('ends a group that has nothing else, and everybody hears of it', async () => {
    const engine = openEngine();
    const updates = engine.progress.subscribe();
    const group = engine.submitAll([{ toolName: 'read', error: new ToolFailure('x', { reason: 'memory' }) }]);
    const told: string[] = [];
    group.onSettled(({ status }) => told.push(status));
    expect(await group.outcome()).toMatchObject({ succeeded: false, counts: { failed: 1 } });
    expect(((await updates.next()).value as ProgressUpdate).type).toBe('failed');
    expect(await group.handles[0]!.outcome()).toMatchObject({ reason: 'memory' });
    expect(told).toEqual(['failed']);
  });

  it('takes no place of a group that is full', async () => {
    const engine = openEngine();
    const held = new HeldTool<string>();
    const group = engine.submitAll(
      [
        { toolName: 'read', run: held.run },
        { toolName: 'read', resources: { exclusive: ['file'] }, error: refusal },
        { toolName: 'read', resources: { exclusive: ['file'] }, run },
      ],
      { maxConcurrency: 1 },
    );
    await held.started();
    expect(group.progress()).toMatchObject({ running: 1, failed: 1, queued: 1 });
    held.finish('done');
    expect((await group.outcome()).counts).toMatchObject({ completed: 2, failed: 1 });
  });

  it('cancels the rest of a failFast group, but no other refused item', async () => {
    const engine = openEngine();
    const group = engine.submitAll(
      [
        { toolName: 'read', run },
        { toolName: 'read', error: refusal },
        { toolName: 'read', error: refusal },
      ],
      { failFast: true },
    );
    expect((await group.outcomes()).map(({ status }) => status)).toEqual(['cancelled', 'failed', 'failed']);
  });

  it('needs an error or a function', () => {
    const engine = openEngine();
    const submit = (item: object) => () => engine.submitAll([{ toolName: 'read', ...item } as never]);
    expect(codeOf(thrownBy(submit({})))).toBe('INVALID_VALUE');
    expect(codeOf(thrownBy(submit({ run: 'x', error: refusal })))).toBe('INVALID_VALUE');
    expect(engine.statistics().submitted).toBe(0);
  });
});
