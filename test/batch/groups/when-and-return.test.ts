import { describe, expect, it } from 'vitest';
import { openRig } from '../support/rig.ts';
import { list, ran, resultOf } from './support.ts';

const source = { id: 'source', function: 'list', params: { values: [1, 2, 3] } };

describe('when', () => {
  it('runs a task whose condition holds, and skips one whose condition does not', async () => {
    const rig = await openRig([list]);
    const answer = await ran(rig, [
      source,
      { id: 'yes', function: 'echo', when: 'source.values.length === 3' },
      { id: 'no', function: 'echo', when: 'source.values.length === 4' },
    ]);
    expect(await rig.standing()).toEqual(['source completed', 'yes completed', 'no skipped']);
    expect(await rig.store.task('default', 'no')).toMatchObject({
      code: 'WHEN_FALSE',
      cause: undefined,
      attempts: 0,
      message: expect.stringContaining('source.values.length === 4'),
    });
    expect(answer).toMatchObject({ succeeded: true });
  });

  it('skips dependents too, but is undefined in their expressions', async () => {
    const rig = await openRig([list]);
    await ran(rig, [
      source,
      { id: 'no', function: 'echo', params: { x: 1 }, when: 'source.values.length === 0' },
      { id: 'follower', function: 'echo', params: { x: '${no.x}' } },
      { id: 'ordered', function: 'echo', depends_on: ['no'] },
      {
        id: 'either',
        function: 'compute',
        params: { expression: '(no ?? follower ?? source).values.length' },
      },
      { id: 'both', function: 'echo', params: { a: { $expr: 'no?.x ?? 0' }, b: '${follower}' } },
    ]);
    expect(await rig.standing()).toEqual([
      'source completed',
      'no skipped',
      'follower skipped because of no',
      'ordered skipped because of no',
      'either completed',
      'both skipped because of no',
    ]);
    expect(await resultOf(rig, 'either')).toBe(3);
  });

  it('does not hide a failure: what mentions a failed task is skipped because of it', async () => {
    const rig = await openRig([list]);
    await ran(rig, [
      { id: 'bad', function: 'broken' },
      { id: 'next', function: 'compute', params: { expression: 'bad ?? 1' } },
      { id: 'last', function: 'echo', depends_on: ['next'] },
      { id: 'anyway', function: 'compute', params: { expression: 'bad ?? 1' }, on_dependency_failure: 'run' },
    ]);
    expect(await rig.standing()).toEqual([
      'bad failed error: it broke',
      'next skipped because of bad',
      'last skipped because of bad',
      'anyway completed',
    ]);
    expect(await resultOf(rig, 'anyway')).toBe(1);
  });

  it('decides in the same way if the dependency ended in an earlier run', async () => {
    const rig = await openRig([list]);
    await ran(rig, [
      { id: 'bad', function: 'broken' },
      { id: 'no', function: 'echo', when: 'false' },
    ]);
    await ran(rig, [
      { id: 'skipped', function: 'compute', params: { expression: 'bad ?? 1' } },
      { id: 'fine', function: 'compute', params: { expression: 'no ?? 1' } },
    ]);
    expect((await rig.standing()).slice(2)).toEqual(['skipped skipped because of bad', 'fine completed']);
  });

  it('decides once for a group, before its list', async () => {
    const rig = await openRig([list]);
    await ran(
      rig,
      [
        source,
        { id: 'no', function: 'echo', when: 'source.values.length > 5', for_each: 'missing.nowhere ?? []' },
        { id: 'yes', function: 'echo', params: { v: '${item}' }, when: 'source', for_each: 'source.values' },
      ].map((task) => (task.id === 'no' ? { ...task, for_each: 'source.nowhere.x' } : task)),
    );
    expect((await rig.standing()).slice(0, 3)).toEqual(['source completed', 'no skipped', 'yes completed']);
  });

  it('fails a task whose condition throws', async () => {
    const rig = await openRig([list]);
    await ran(rig, [source, { id: 'odd', function: 'echo', when: 'source.nowhere.x' }]);
    expect(await rig.standing()).toEqual(['source completed', 'odd failed error: EXPRESSION_FAILED']);
  });
});

describe('return', () => {
  it('is what the caller of start and wait gets, and comes first in the results', async () => {
    const rig = await openRig([list]);
    const answer = await ran(rig, [source], { return: 'source.values.map((value) => value * 2)' });
    expect(answer).toMatchObject({ succeeded: true, returned: [2, 4, 6] });
    expect((await rig.ask('wait')).data).toMatchObject({ returned: [2, 4, 6] });
    const summary = await rig.ask('results');
    expect(summary.data).toMatchObject({ returned: [2, 4, 6] });
    expect(summary.text.split('\n')[0]).toContain('[2,4,6]');
  });

  it('may use all results', async () => {
    const rig = await openRig([list]);
    const answer = await ran(rig, [source, { id: 'b-1', function: 'echo', params: { x: 1 } }], {
      return: 'Object.keys(results).sort()',
    });
    expect(answer).toMatchObject({ returned: ['b-1', 'source'] });
  });

  it('says why there is nothing if a task it mentions failed', async () => {
    const rig = await openRig();
    await rig.ask('add_batch', { tasks: [{ id: 'bad', function: 'broken' }], return: 'bad' });
    const { data, text } = await rig.ask('start', { wait: true });
    expect(data).not.toHaveProperty('returned');
    expect(text).toContain('because of bad');
  });
});
