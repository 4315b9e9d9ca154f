import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { HeldCalls, openRig } from './support/rig.ts';

/** The examples of the tool's description, as they stand there. */
const ADD = {
  thoughts: [
    'I need to analyze 20 Python files',
    "Instead of doing them one by one, I'll use batch executor",
    'First, let me add a task to the queue',
  ],
  tool_name: 'batch_executor_tool',
  tool_args: {
    action: 'add',
    name: 'Analyze user_model.py',
    function: 'code_analyzer_tool',
    params: { action: 'analyze', file_path: '/project/models/user_model.py' },
    priority: 'high',
    max_retries: 3,
  },
};
const ADD_BATCH = {
  thoughts: ['I have a list of 50 files to process', 'Let me add them all at once as a batch'],
  tool_name: 'batch_executor_tool',
  tool_args: {
    action: 'add_batch',
    tasks: [
      {
        name: 'Analyze file 1',
        function: 'code_analyzer_tool',
        params: { action: 'analyze', file_path: '/project/file1.py' },
        priority: 'medium',
      },
      {
        name: 'Analyze file 2',
        function: 'code_analyzer_tool',
        params: { action: 'analyze', file_path: '/project/file2.py' },
        priority: 'medium',
      },
    ],
  },
};
const START = {
  thoughts: ['All tasks are queued', 'Let me start processing them in parallel'],
  tool_name: 'batch_executor_tool',
  tool_args: { action: 'start', max_concurrent: 5, timeout: 300 },
};
const STATUS = {
  thoughts: ['I want to see how the batch is progressing', 'Let me check the current status'],
  tool_name: 'batch_executor_tool',
  tool_args: { action: 'status', detailed: true },
};
const RESULTS = {
  thoughts: ['Batch execution is complete', 'Let me retrieve all the results'],
  tool_name: 'batch_executor_tool',
  tool_args: { action: 'results', format: 'summary' },
};

describe('the seed', () => {
  it('has examples that are accepted exactly as they stand', async () => {
    const { executor, standing } = await openRig();
    expect(await executor.handle(ADD)).toMatchObject({ ok: true, action: 'add', data: { id: 't1' } });
    expect(await executor.handle(ADD_BATCH)).toMatchObject({
      ok: true,
      data: { added: 2, ids: ['t2', 't3'] },
    });
    expect(await executor.handle(START)).toMatchObject({ ok: true, data: { max_concurrent: 5 } });
    expect(await executor.handle(STATUS)).toMatchObject({ ok: true, data: { total: 3 } });
    await executor.handle({ action: 'wait' });
    const results = await executor.handle(RESULTS);
    expect(results).toMatchObject({ ok: true, data: { counts: { failed: 3 } } });
    expect(results.text).toContain('3 × error:');
    expect((await standing())[0]).toContain('t1 failed error:');
    // The path of the example is outside of the roots.
    expect(
      await executor.handle({ action: 'export', format: 'json', output_file: '/results.json' }),
    ).toMatchObject({ ok: false, error: { code: 'PATH_NOT_ALLOWED' } });
    expect(await executor.handle({ action: 'clear' })).toMatchObject({ ok: true, data: { cleared: 3 } });
  });

  it('has a workflow that works from the first to the last step', async () => {
    const { folder, ask } = await openRig();
    const names = ['a.py', 'b.py', 'c.py'];
    for (const name of names) writeFileSync(join(folder, name), 'def f(x):\n    return x\n');
    const tasks = names.map((name) => ({
      name: `Analyze ${name}`,
      function: 'code_analyzer_tool',
      params: { action: 'analyze', file_path: name },
    }));
    await ask('add_batch', { tasks });
    const ended = await ask('start', { max_concurrent: 5, wait: true });
    expect(ended.data).toMatchObject({ succeeded: true, counts: { completed: 3 } });
    expect((await ask('status')).data).toMatchObject({ state: 'idle', percent: 100 });
    expect((await ask('results')).data).toMatchObject({ first: [{ id: 't1' }, { id: 't2' }, { id: 't3' }] });
    await ask('export', { format: 'json', output_file: 'results.json' });
    const exported = JSON.parse(readFileSync(join(folder, 'results.json'), 'utf8'));
    expect(exported.tasks.map(({ name }: { name: string }) => name)).toEqual(tasks.map(({ name }) => name));
    expect(exported.tasks[0].result).toMatchObject({ language: 'python' });
    await ask('clear');
    expect((await ask('list')).data).toMatchObject({ total: 0 });
  });
});

describe('a request', () => {
  it('may be JSON text, also inside the envelope', async () => {
    const { executor } = await openRig();
    expect(await executor.handle('{"action":"list"}')).toMatchObject({ ok: true });
    expect(await executor.handle({ tool_args: '{"action":"list"}' })).toMatchObject({ ok: true });
  });

  it('speaks of the batch it names, and batches are kept apart', async () => {
    const { ask, standing } = await openRig();
    await ask('add', { function: 'echo', batch: 'one', id: 'x' });
    await ask('add', { function: 'echo', batch: 'two', id: 'x' });
    await ask('start', { batch: 'one', wait: true });
    expect([await standing('one'), await standing('two')]).toEqual([['x completed'], ['x open']]);
    expect((await ask('list')).data).toMatchObject({
      batches: [
        { batch: 'one', counts: { completed: 1 } },
        { batch: 'two', counts: { open: 1 } },
      ],
    });
  });
});

describe('tasks', () => {
  it('use results of others, which are read from the store', async () => {
    const { ask, executor } = await openRig();
    await ask('add_batch', {
      tasks: [
        { id: 'text', function: 'echo', params: { text: '${list.items.1} of ${list.items}' } },
        { id: 'whole', function: 'echo', params: { got: { $from: 'list', path: '/items' } } },
        { id: 'list', function: 'echo', params: { items: ['x', 'y'] } },
      ],
    });
    await ask('start', { wait: true });
    expect((await ask('results', { id: 'text' })).data).toMatchObject({ result: { text: 'y of ["x","y"]' } });
    expect((await ask('results', { id: 'whole' })).data).toMatchObject({ result: { got: ['x', 'y'] } });
    // Also of those that completed in an earlier run.
    await ask('add', {
      id: 'late',
      function: 'echo',
      params: { first: { $from: 'list', path: '/items/0' } },
    });
    await ask('start', { wait: true });
    expect((await executor.handle({ action: 'results', id: 'late' })).data).toMatchObject({
      result: { first: 'x' },
    });
  });

  it('are skipped, run or compensate when what they depend on fails, in this run or in an earlier one', async () => {
    const { ask, standing } = await openRig();
    await ask('add_batch', {
      tasks: [
        { id: 'bad', function: 'broken' },
        { id: 'skipped', function: 'echo', depends_on: ['bad'] },
        { id: 'deeper', function: 'echo', depends_on: ['skipped'] },
        { id: 'anyway', function: 'echo', depends_on: ['bad'], on_dependency_failure: 'run' },
        { id: 'undo', function: 'echo', depends_on: ['bad'], on_dependency_failure: 'on-failure' },
        { id: 'good', function: 'echo' },
        { id: 'unneeded', function: 'echo', depends_on: ['good'], on_dependency_failure: 'on-failure' },
      ],
    });
    const expected = [
      'bad failed error: it broke',
      'skipped skipped because of bad',
      'deeper skipped because of bad',
      'anyway completed',
      'undo completed',
      'good completed',
      'unneeded skipped',
    ];
    await ask('start', { wait: true });
    expect(await standing()).toEqual(expected);
    await ask('add_batch', {
      tasks: [
        {
          id: 'late-undo',
          function: 'echo',
          depends_on: ['bad', 'good'],
          on_dependency_failure: 'on-failure',
        },
        { id: 'late-skip', function: 'echo', depends_on: ['deeper'] },
        { id: 'late-deeper', function: 'echo', depends_on: ['late-skip', 'good'] },
        { id: 'late-unneeded', function: 'echo', depends_on: ['good'], on_dependency_failure: 'on-failure' },
      ],
    });
    await ask('start', { wait: true });
    expect(await standing()).toEqual([
      ...expected,
      'late-undo completed',
      'late-skip skipped because of bad',
      'late-deeper skipped because of bad',
      'late-unneeded skipped',
    ]);
  });

  it('join the batch when they are added while it runs', async () => {
    const held = new HeldCalls();
    const { ask, standing } = await openRig([held.tool()]);
    await ask('add', { id: 'a', function: 'held', params: { key: 'a' } });
    await ask('start');
    await held.started('a');
    const added = await ask('add', { id: 'b', function: 'echo', params: { x: { $from: 'a' } } });
    expect(added.data).toMatchObject({ state: 'running' });
    await ask('add', { id: 'c', function: 'held', params: { key: 'c' } });
    await held.started('c');
    held.finish('a', 1);
    held.finish('c');
    await ask('wait');
    expect(await standing()).toEqual(['a completed', 'b completed', 'c completed']);
    expect((await ask('results', { id: 'b' })).data).toMatchObject({ result: { x: 1 } });
  });

  it('get ids that are short, told, and unlike those that there are', async () => {
    const { ask } = await openRig();
    await ask('add_batch', {
      tasks: [{ function: 'echo', id: 't2' }, { function: 'echo' }, { function: 'echo' }],
    });
    const added = await ask('add_batch', { tasks: [{ function: 'echo' }, { function: 'echo' }] });
    expect(added.data['ids']).toEqual(['t4', 't5']);
    await ask('start', { wait: true });
    await ask('add', { function: 'echo', id: 't6' });
    await ask('clear', { filter_status: 'completed' });
    expect((await ask('add', { function: 'echo' })).data['id']).toMatch(/^t\d+$/);
  });
});
