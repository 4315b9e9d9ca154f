import { describe, expect, it } from 'vitest';
import { openRig } from '../support/rig.ts';
import { list, ran, refusal } from './support.ts';

const source = { id: 'source', function: 'list', params: { values: [1] } };
const echo = { id: 'x', function: 'echo' };

describe('tasks are refused when they are added', () => {
  it.each([
    ['a condition with a syntax error', { ...echo, when: 'source.values.(' }, 'INVALID_EXPRESSION'],
    ['a list with a syntax error', { ...echo, for_each: '[1, 2' }, 'INVALID_EXPRESSION'],
    ['an argument with a syntax error', { ...echo, params: { a: [{ $expr: '1 +' }] } }, 'INVALID_EXPRESSION'],
    ['an end with a syntax error', { ...echo, repeat: { until: 'a b' } }, 'INVALID_EXPRESSION'],
    ['all results in a condition', { ...echo, when: 'Object.keys(results).length' }, 'INVALID_EXPRESSION'],
    ['a computed id', { ...echo, when: 'results["a" + "b"]' }, 'INVALID_EXPRESSION'],
    ['an unknown result', { ...echo, when: 'results.sourec.values' }, 'UNKNOWN_DEPENDENCY'],
    ['an unknown name', { ...echo, for_each: 'sourec.values' }, 'UNKNOWN_DEPENDENCY'],
    ['an unknown reference', { ...echo, for_each: '${sourec.values}' }, 'UNKNOWN_DEPENDENCY'],
    ['an unknown typed reference', { ...echo, for_each: { $from: 'sourec' } }, 'UNKNOWN_DEPENDENCY'],
    ['the item of a condition', { ...echo, for_each: [1], when: 'item > 1' }, 'UNKNOWN_DEPENDENCY'],
    ['an item outside of a group', { ...echo, params: { a: { $from: 'item' } } }, 'UNKNOWN_DEPENDENCY'],
    ['itself', { ...echo, when: 'x > 1' }, 'DEPENDENCY_CYCLE'],
    ['brackets in an id', { ...echo, id: 'x[0]' }, 'INVALID_REQUEST'],
    ['an item as a dependency', { ...echo, depends_on: ['source[0]'] }, 'INVALID_REQUEST'],
    ['a list and rounds', { ...echo, for_each: [1], repeat: { max: 1 } }, 'INVALID_REQUEST'],
    ['a limit of items without items', { ...echo, max_concurrent: 2 }, 'INVALID_REQUEST'],
    ['an error of items without items', { ...echo, on_item_error: 'null' }, 'INVALID_REQUEST'],
    ['too many rounds', { ...echo, repeat: { max: 10_001 } }, 'INVALID_REQUEST'],
    ['a list that is none', { ...echo, for_each: { a: 1 } }, 'INVALID_REQUEST'],
    ['a list that is a number', { ...echo, for_each: 3 }, 'INVALID_REQUEST'],
    ['an unknown tool', { ...echo, function: 'eco', for_each: [1] }, 'UNKNOWN_TOOL'],
    [
      'a computation without text',
      { ...echo, function: 'compute', params: { expression: 3 } },
      'INVALID_ARGUMENTS',
    ],
    [
      'a computation with more',
      { ...echo, function: 'compute', params: { expression: '1', a: 2 } },
      'INVALID_ARGUMENTS',
    ],
  ])('for %s', async (_, task, code) => {
    const rig = await openRig([list]);
    expect(await refusal(rig, 'add_batch', { tasks: [source, task] })).toMatchObject({ code });
    expect(await rig.store.batch('default')).toBeUndefined();
  });

  it('with the nearest id and the place', async () => {
    const rig = await openRig([list]);
    const tasks = [source, { ...echo, params: { deep: [{ $expr: 'sorce.values' }] } }];
    expect(await refusal(rig, 'add_batch', { tasks })).toMatchObject({
      code: 'UNKNOWN_DEPENDENCY',
      nearest: 'source',
      id: 'sorce',
      problems: [expect.stringMatching(/^task 2 .*deep/)],
    });
  });

  it('if what they mention forms a cycle', async () => {
    const rig = await openRig();
    const tasks = [
      { id: 'a', function: 'echo', for_each: 'b' },
      { id: 'b', function: 'echo', when: 'c' },
      { id: 'c', function: 'compute', params: { expression: 'a.length' } },
    ];
    expect(await refusal(rig, 'add_batch', { tasks })).toMatchObject({ code: 'DEPENDENCY_CYCLE' });
  });

  it('and a second return is refused', async () => {
    const rig = await openRig();
    await ran(rig, [echo], { return: '1' });
    expect(await refusal(rig, 'add_batch', { tasks: [{ ...echo, id: 'y' }], return: '2' })).toMatchObject({
      code: 'DUPLICATE_ID',
      id: 'return',
    });
  });
});

describe('an element of a group', () => {
  it('is a part of its result, also for tasks that are added later', async () => {
    const rig = await openRig();
    await ran(rig, [{ id: 'each', function: 'echo', params: { v: '${item}' }, for_each: ['a', 'b'] }]);
    await ran(rig, [{ id: 'later', function: 'echo', params: { v: '${each[1].v}' } }]);
    expect(await rig.store.result('default', 'later')).toBe('{"v":"b"}');
    expect((await rig.store.task('default', 'later'))!.options.dependsOn).toEqual(['each']);
  });
});
