import { describe, expect, it } from 'vitest';
import { defineTool } from '../../../src/tools/define-tool.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { openRig } from '../support/rig.ts';
import { mayFail, ran, resultOf } from './support.ts';

/** Pages of a list of five numbers, two at a time. */
const pages = defineTool<{ cursor?: number }>({
  name: 'pages',
  run: ({ cursor = 0 }) => {
    const values = [0, 1, 2, 3, 4].slice(cursor, cursor + 2);
    return { values, next: cursor + 2 < 5 ? cursor + 2 : null };
  },
}) as Tool;

const paginated = {
  id: 'all',
  function: 'pages',
  params: { cursor: { $expr: 'last?.next' } },
  repeat: { until: 'result.next === null' },
};

describe('repeat', () => {
  it('runs again until an expression holds, and each round sees the last result', async () => {
    const rig = await openRig([pages]);
    const answer = await ran(rig, [paginated], { return: 'all.flatMap((page) => page.values)' });
    expect(answer).toMatchObject({ returned: [0, 1, 2, 3, 4] });
    expect(await rig.standing()).toEqual([
      'all completed',
      'return completed',
      'all[0] completed',
      'all[1] completed',
      'all[2] completed',
    ]);
  });

  it('runs a number of rounds if nothing is said about the end', async () => {
    const rig = await openRig();
    await ran(rig, [
      { id: 'r', function: 'echo', params: { i: '${index}' }, repeat: { max: 3, delay: 0.001 } },
    ]);
    expect(await resultOf(rig, 'r')).toEqual([{ i: '0' }, { i: '1' }, { i: '2' }]);
  });

  it('fails when the limit is reached, and a retry starts over', async () => {
    const rig = await openRig();
    await ran(rig, [{ id: 'r', function: 'echo', params: {}, repeat: { until: 'false', max: 2 } }]);
    const ended = ['r failed error: REPEAT_LIMIT', 'r[0] completed', 'r[1] completed'];
    expect(await rig.standing()).toEqual(ended);
    const before = (await rig.store.task('default', 'r[0]'))!.seq;
    await rig.ask('retry');
    expect(await rig.standing()).toEqual(['r open']);
    await rig.ask('start', { wait: true });
    expect(await rig.standing()).toEqual(ended);
    expect((await rig.store.task('default', 'r[0]'))!.seq).toBeGreaterThan(before);
  });

  it('ends with the first round that fails, unless that is allowed', async () => {
    const rig = await openRig([mayFail]);
    const task = {
      function: 'may_fail',
      params: { fails: { $expr: 'index === 1' } },
      repeat: { until: 'index === 2', max: 5 },
    };
    await ran(rig, [
      { id: 'strict', ...task },
      { id: 'lax', ...task, on_item_error: 'null' },
    ]);
    expect(await rig.standing()).toEqual(
      expect.arrayContaining([
        'strict failed error: ITEM_FAILED',
        'strict[1] failed error: it failed',
        'lax completed',
      ]),
    );
    expect(await rig.store.task('default', 'strict[2]')).toBeUndefined();
    expect(await resultOf(rig, 'lax')).toEqual(['fine', null, 'fine']);
  });
});
