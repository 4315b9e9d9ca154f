import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defineTool } from '../../../src/tools/define-tool.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { HeldCalls, openRig } from '../support/rig.ts';
import { list, mayFail, ran, resultOf } from './support.ts';

describe('for_each', () => {
  it('runs a task for each element of a literal list, and its result is the list of results', async () => {
    const rig = await openRig();
    await ran(rig, [
      {
        id: 'each',
        function: 'echo',
        params: { text: '${item.name} is ${index}', value: { $from: 'item', path: '/name' } },
        for_each: [{ name: 'a' }, { name: 'b' }],
      },
    ]);
    expect(await rig.standing()).toEqual(['each completed', 'each[0] completed', 'each[1] completed']);
    expect(await resultOf(rig, 'each')).toEqual([
      { text: 'a is 0', value: 'a' },
      { text: 'b is 1', value: 'b' },
    ]);
  });

  it.each([
    ['an expression', 'source.values.filter((value) => value > 1)'],
    ['an expression over results by id', "results['source'].values.slice(1)"],
    ['a marked expression', { $expr: 'source.values.slice(1)' }],
    ['data with references', [{ $from: 'source', path: '/values/1' }, 3]],
  ])('takes its list from %s', async (_, for_each) => {
    const rig = await openRig([list]);
    await ran(rig, [
      { id: 'source', function: 'list', params: { values: [1, 2, 3] } },
      { id: 'each', function: 'echo', params: { value: { $from: 'item' } }, for_each },
    ]);
    expect(await resultOf(rig, 'each')).toEqual([{ value: 2 }, { value: 3 }]);
  });

  it.each([
    ['a typed reference', { $from: 'source', path: '/values' }],
    ['a reference in a string', '${source.values}'],
  ])('takes its list from %s', async (_, for_each) => {
    const rig = await openRig([list]);
    await ran(rig, [
      { id: 'source', function: 'list', params: { values: ['x', 'y'] } },
      { id: 'each', function: 'echo', params: { value: '${item}' }, for_each },
    ]);
    expect(await resultOf(rig, 'each')).toEqual([{ value: 'x' }, { value: 'y' }]);
  });

  it('takes its list from a glob: sorted, without what is protected', async () => {
    const rig = await openRig();
    mkdirSync(join(rig.folder, 'src/deep'), { recursive: true });
    mkdirSync(join(rig.folder, 'src/node_modules'));
    for (const name of ['b.ts', 'a.ts', 'deep/c.ts', 'note.md', 'node_modules/d.ts'])
      writeFileSync(join(rig.folder, 'src', name), name);
    await ran(rig, [
      { id: 'each', function: 'read_file', params: { path: '${item}' }, for_each: { glob: 'src/**/*.ts' } },
    ]);
    expect(await resultOf(rig, 'each')).toMatchObject([
      { content: 'a.ts' },
      { content: 'b.ts' },
      { content: 'deep/c.ts' },
    ]);
  });

  it('computes arguments from the item, the index and results', async () => {
    const rig = await openRig([list]);
    await ran(rig, [
      { id: 'source', function: 'list', params: { values: [10, 20] } },
      {
        id: 'each',
        function: 'echo',
        params: { sum: { $expr: 'source.values[index] + item.n' }, none: { $expr: 'item.missing' } },
        for_each: [{ n: 1 }, { n: 2 }],
      },
    ]);
    expect(await resultOf(rig, 'each')).toEqual([{ sum: 11 }, { sum: 22 }]);
  });

  it('completes with an empty list if there is nothing to do', async () => {
    const rig = await openRig();
    const answer = await ran(rig, [
      { id: 'each', function: 'echo', for_each: [] },
      { id: 'after', function: 'echo', params: { all: { $from: 'each' } } },
    ]);
    expect(answer).toMatchObject({ succeeded: true });
    expect(await resultOf(rig, 'after')).toEqual({ all: [] });
  });

  it('never takes the text of an item or a result for a reference or an expression', async () => {
    const hostile = ['${source.values}', '$${x}', '${item}', { $from: 'source' }, { $expr: '1 + 1' }];
    const source = defineTool({ name: 'hostile', run: () => ({ values: hostile }) }) as Tool;
    const rig = await openRig([source]);
    const for_each = '${source.values}';
    await ran(rig, [
      { id: 'source', function: 'hostile' },
      { id: 'typed', function: 'echo', params: { v: { $from: 'item' } }, for_each },
      { id: 'expression', function: 'echo', params: { v: { $expr: 'item' } }, for_each },
      { id: 'computed', function: 'compute', params: { expression: 'item' }, for_each },
      {
        id: 'text',
        function: 'echo',
        params: { v: '${item} ${source.values[0]}' },
        for_each: 'source.values.slice(0, 2)',
      },
    ]);
    expect(await resultOf(rig, 'typed')).toEqual(hostile.map((v) => ({ v })));
    expect(await resultOf(rig, 'expression')).toEqual(hostile.map((v) => ({ v })));
    expect(await resultOf(rig, 'computed')).toEqual(hostile);
    expect(await resultOf(rig, 'text')).toEqual([
      { v: '${source.values} ${source.values}' },
      { v: '$${x} ${source.values}' },
    ]);
  });

  it('fails after all items have run, and names the first that failed', async () => {
    const rig = await openRig();
    await ran(rig, [
      { id: 'each', function: 'code_analyzer_tool', params: { file_path: '${item}' }, for_each: ['a', 'b'] },
      { id: 'after', function: 'echo', params: { x: '${each}' } },
    ]);
    expect(await rig.standing()).toEqual([
      'each failed error: ITEM_FAILED',
      'after skipped because of each',
      expect.stringContaining('each[0] failed'),
      expect.stringContaining('each[1] failed'),
    ]);
    expect((await rig.store.task('default', 'each'))?.message).toContain('each[0]');
  });

  it('keeps null in place of a failed item if that is allowed', async () => {
    const rig = await openRig([mayFail]);
    await ran(rig, [
      {
        id: 'each',
        function: 'may_fail',
        params: { fails: { $expr: 'item === 2' } },
        for_each: [1, 2, 3],
        on_item_error: 'null',
      },
    ]);
    expect(await resultOf(rig, 'each')).toEqual(['fine', null, 'fine']);
    expect((await rig.ask('wait')).data).toMatchObject({ counts: { failed: 1 }, succeeded: true });
  });

  it('fails only the item whose arguments cannot be computed', async () => {
    const rig = await openRig();
    await ran(rig, [
      {
        id: 'each',
        function: 'echo',
        params: { a: '${item.name}', b: { $expr: 'item.list.length' } },
        for_each: [{ name: 'a', list: [] }, { list: [] }, { name: 'c' }],
        on_item_error: 'null',
      },
    ]);
    expect(await resultOf(rig, 'each')).toEqual([{ a: 'a', b: 0 }, null, null]);
    expect(await rig.standing()).toEqual([
      'each completed',
      'each[0] completed',
      'each[1] failed error: UNRESOLVED_REFERENCE',
      'each[2] failed error: EXPRESSION_FAILED',
    ]);
  });

  it('runs at most as many items at once as its own limit allows', async () => {
    const held = new HeldCalls();
    const rig = await openRig([held.tool()]);
    await rig.ask('add_batch', {
      tasks: [
        {
          id: 'each',
          function: 'held',
          params: { key: '${item}' },
          for_each: ['a', 'b', 'c'],
          max_concurrent: 2,
        },
      ],
    });
    await rig.ask('start', { max_concurrent: 10 });
    await Promise.all([held.started('a'), held.started('b')]);
    const waiting = await rig.executor.explain('default', 'each[2]');
    expect(waiting).toContain('at most 2');
    held.finish('a');
    await held.started('c');
    for (const key of ['b', 'c']) held.finish(key);
    await rig.ask('wait');
    expect(await resultOf(rig, 'each')).toEqual(['a', 'b', 'c']);
  });

  it('runs more items than are submitted at once, and keeps their order', async () => {
    const rig = await openRig();
    const answer = await ran(
      rig,
      [
        {
          id: 'each',
          function: 'echo',
          params: { n: { $from: 'item' } },
          for_each: 'Array.from({ length: 1203 }, (_, i) => i)',
        },
      ],
      { return: 'each.every(({ n }, index) => n === index) && each.length' },
    );
    expect(answer).toMatchObject({ returned: 1203, counts: { completed: 1205 } });
  });

  it('cannot be used as one list if that is too large to be kept', async () => {
    const rig = await openRig();
    await rig.ask('add_batch', { tasks: [{ id: 'each', function: 'echo', for_each: [1] }] });
    await rig.store.completed('default', [{ seq: 1, result: undefined, endedAt: 1, startedAt: 1 }]);
    await ran(rig, [
      { id: 'typed', function: 'echo', params: { all: { $from: 'each' } } },
      { id: 'mention', function: 'compute', params: { expression: 'each.length' } },
    ]);
    expect((await rig.standing()).slice(1)).toEqual([
      'typed failed error: RESULT_TOO_LARGE',
      'mention failed error: RESULT_TOO_LARGE',
    ]);
    expect((await rig.executor.handle({ action: 'results', id: 'each' })).text).toContain('each');
    expect((await rig.ask('results', { format: 'json' })).ok).toBe(true);
    expect((await rig.ask('export', { format: 'json', output_file: 'out.json' })).ok).toBe(true);
  });

  it('does not deadlock where only one task may run at once', async () => {
    const rig = await openRig();
    await rig.ask('add_batch', {
      tasks: [
        { id: 'one', function: 'echo', params: { v: '${item}' }, for_each: [1, 2] },
        { id: 'two', function: 'echo', params: { v: '${item.v}' }, for_each: 'one' },
      ],
    });
    await rig.ask('start', { wait: true, max_concurrent: 1 });
    expect(await resultOf(rig, 'two')).toEqual([{ v: '1' }, { v: '2' }]);
  });

  it.each([
    ['something that is no list', '({ a: 1 })', 'INVALID_ITEMS'],
    ['too many items', 'Array.from({ length: 100001 }, () => 0)', 'INVALID_ITEMS'],
    ['an error', '[].missing.field', 'EXPRESSION_FAILED'],
  ])('fails if the expression gives %s', async (_, for_each, code) => {
    const rig = await openRig();
    await ran(rig, [{ id: 'each', function: 'echo', for_each }]);
    expect(await rig.standing()).toEqual([`each failed error: ${code}`]);
  });
});
