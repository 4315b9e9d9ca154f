import { describe, expect, it } from 'vitest';
import { cancellationText } from '../../src/core/failure.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { openRig } from './support/rig.ts';

type Rig = Awaited<ReturnType<typeof openRig>>;

const fails = defineTool({
  name: 'fails',
  run: () => {
    throw new Error('boom');
  },
});

async function standing({ store }: Rig, batch = 'default'): Promise<string[]> {
  const tasks = await store.tasks(batch, { limit: 100 });
  return tasks.map(({ id, status, code, cause }) =>
    [id, status, ...(code === undefined ? [] : [code]), ...(cause === undefined ? [] : [`by ${cause}`])].join(
      ' ',
    ),
  );
}

/** Adds tasks to a store with another executor, whose tool is unknown to the one under test. */
async function withVanishedTool(tasks: readonly object[]): Promise<Rig> {
  const before = await openRig([defineTool({ name: 'gone', run: () => 'x' })]);
  await before.ask('add_batch', { tasks });
  return openRig([fails], undefined, before.file);
}

describe('a task that cannot run', () => {
  it('fails without an attempt, and what depends on it is skipped because of it, to the end of the chain', async () => {
    const rig = await withVanishedTool([
      { id: 'a', function: 'gone' },
      { id: 'b', function: 'echo', depends_on: ['a'] },
      { id: 'c', function: 'echo', depends_on: ['b'] },
      { id: 'd', function: 'echo', depends_on: ['a'], on_dependency_failure: 'run' },
      { id: 'e', function: 'echo', depends_on: ['b'], on_dependency_failure: 'on-failure' },
      { id: 'f', function: 'echo' },
    ]);
    await rig.ask('start', { wait: true });
    expect(await standing(rig)).toEqual([
      'a failed UNKNOWN_TOOL',
      'b skipped by a',
      'c skipped by a',
      'd completed',
      'e completed',
      'f completed',
    ]);
    expect(await rig.store.task('default', 'a')).toMatchObject({ attempts: 0, reason: 'error' });
  });

  it('cancels the rest of a batch that fails fast', async () => {
    const rig = await withVanishedTool([
      { id: 'a', function: 'echo' },
      { id: 'b', function: 'gone' },
    ]);
    await rig.ask('start', { wait: true, fail_fast: true });
    expect(await standing(rig)).toEqual(['a cancelled', 'b failed UNKNOWN_TOOL']);
    expect(await rig.store.task('default', 'a')).toMatchObject({
      message: cancellationText({ event: 'fail-fast', id: 'b' }),
    });
  });

  it('is written before "start" answers', async () => {
    const rig = await withVanishedTool([{ id: 'a', function: 'gone' }]);
    const { data } = await rig.ask('start', {});
    expect(data).toMatchObject({ counts: { failed: 1 } });
  });
});

describe('a task whose dependency ended in an earlier run', () => {
  it('is skipped because of the root cause of that run, and so is what depends on it', async () => {
    const rig = await openRig([fails]);
    await rig.ask('add_batch', {
      tasks: [
        { id: 'root', function: 'fails' },
        { id: 'skipped', function: 'echo', depends_on: ['root'] },
        { id: 'done', function: 'echo' },
      ],
    });
    await rig.ask('start', { wait: true });
    await rig.ask('add_batch', {
      tasks: [
        { id: 'b', function: 'echo', depends_on: ['skipped'] },
        { id: 'c', function: 'echo', depends_on: ['b', 'done'] },
        { id: 'd', function: 'echo', depends_on: ['root'], on_dependency_failure: 'on-failure' },
        { id: 'e', function: 'echo', depends_on: ['done'], on_dependency_failure: 'on-failure' },
        { id: 'f', function: 'echo', depends_on: ['e'] },
        { id: 'g', function: 'echo', depends_on: ['done'] },
      ],
    });
    // What earlier runs have decided is no failure of this one.
    await rig.ask('start', { wait: true, fail_fast: true });
    expect((await standing(rig)).slice(3)).toEqual([
      'b skipped by root',
      'c skipped by root',
      'd completed',
      'e skipped',
      'f skipped by e',
      'g completed',
    ]);
  });
});
