import { describe, expect, it } from 'vitest';
import { broken, echo, openTestCoordinator, summary } from './support.ts';

async function results(
  calls: Parameters<ReturnType<typeof openTestCoordinator>['coordinator']['executeParallel']>[0],
) {
  const { coordinator } = openTestCoordinator();
  coordinator.register(echo, broken);
  return (await coordinator.executeParallel(calls)).map(summary);
}

const list = { id: 'list', name: 'echo', arguments: { values: [3, 1, 2] } };

describe('expressions in calls', () => {
  it('stand for their value, anywhere in the arguments', async () => {
    const args = {
      deep: [{ $expr: 'list.values.length' }, { $expr: 'undefined' }],
      top: { $expr: 'undefined' },
    };
    expect(await results([list, { id: 'x', name: 'echo', arguments: args }])).toEqual([
      'list: completed {"values":[3,1,2]}',
      'x: completed {"deep":[3,null]}',
    ]);
  });

  it('may be all of the arguments', async () => {
    const call = { id: 'x', name: 'echo', arguments: { $expr: '({ sorted: [...list.values].sort() })' } };
    expect((await results([list, call]))[1]).toBe('x: completed {"sorted":[1,2,3]}');
  });

  it('are what compute computes', async () => {
    const call = {
      id: 'sum',
      name: 'compute',
      arguments: { expression: "results['list'].values.reduce((a, b) => a + b)" },
    };
    expect((await results([call, list]))[0]).toBe('sum: completed 6');
  });

  it('make the call depend on what they mention', async () => {
    const bad = { id: 'bad', name: 'broken', arguments: {} };
    const after = { id: 'after', name: 'compute', arguments: { expression: 'bad ?? 1' } };
    const anyway = { ...after, id: 'anyway', onDependencyFailure: 'run' as const };
    expect(await results([bad, after, anyway])).toEqual([
      'bad: failed error: it broke',
      'after: skipped because of bad',
      'anyway: completed 1',
    ]);
  });

  it('fail only their own call if they are wrong', async () => {
    const calls = ['1 +', 'lst.values', 'list.missing.field', 'Object.keys(results)'].map(
      (expression, index) => ({
        id: `c${index}`,
        name: 'compute',
        arguments: { expression },
      }),
    );
    expect(await results([list, ...calls])).toEqual([
      'list: completed {"values":[3,1,2]}',
      'c0: failed error: INVALID_EXPRESSION',
      'c1: failed error: UNKNOWN_DEPENDENCY',
      'c2: failed error: EXPRESSION_FAILED',
      'c3: failed error: INVALID_EXPRESSION',
    ]);
  });

  it('are plain data if there is more next to them', async () => {
    const call = { id: 'x', name: 'echo', arguments: { a: { $expr: '1', b: 2 }, c: { $expr: 3 } } };
    expect(await results([call])).toEqual(['x: completed {"a":{"$expr":"1","b":2},"c":{"$expr":3}}']);
  });

  it('are allowed by a list of allowed tools that does not name compute', async () => {
    const { coordinator } = openTestCoordinator((config) => ({
      ...config,
      tools: { ...config.tools, allow: ['read_file'] },
    }));
    const [result] = await coordinator.executeParallel([
      { name: 'compute', arguments: { expression: '1 + 1' } },
    ]);
    expect(result).toMatchObject({ status: 'completed', value: 2 });
    expect(coordinator.tools().map(({ name }) => name)).toEqual(['read_file']);
  });
});
