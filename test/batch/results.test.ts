import { describe, expect, it } from 'vitest';
import { commonText } from '../../src/batch/results-summary.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { openRig } from './support/rig.ts';

const ids = (answer: { data: Readonly<Record<string, unknown>> }) =>
  (answer.data['results'] as { id: string }[]).map(({ id }) => id);

describe('results', () => {
  it('come in pages, in the order in which tasks were added', async () => {
    const { ask } = await openRig();
    const tasks = Array.from({ length: 5 }, (_, index) => ({
      id: `n${index}`,
      function: index === 2 ? 'broken' : 'echo',
      params: { index },
    }));
    await ask('add_batch', { tasks });
    await ask('start', { wait: true });
    const first = await ask('results', { format: 'detailed', limit: 2 });
    expect(ids(first)).toEqual(['n0', 'n1']);
    const second = await ask('results', { format: 'detailed', limit: 2, cursor: first.data['next_cursor'] });
    expect(ids(second)).toEqual(['n2', 'n3']);
    expect(second.text).toContain('- n2 (broken): failed in');
    const last = await ask('results', { format: 'json', limit: 2, offset: 4 });
    expect(ids(last)).toEqual(['n4']);
    expect(last.data['next_cursor']).toBeUndefined();
    expect(JSON.parse(last.text)).toEqual(last.data);
    expect(ids(await ask('results', { format: 'json', filter_status: 'failed' }))).toEqual(['n2']);
    expect(ids(await ask('results', { format: 'json', offset: 10 }))).toEqual([]);
  });

  it('tell what a coloured message says without its colours, and keep brackets that are none', async () => {
    const { ask } = await openRig();
    const message = '\u001b[1;31mred\u001b[0m\n[info] plain\u001b[K';
    await ask('add', { function: 'broken', params: { message } });
    await ask('start', { wait: true });
    for (const [action, args] of [
      ['results', {}],
      ['results', { format: 'detailed' }],
      ['status', {}],
    ] as const) {
      const { text } = await ask(action, args);
      expect(text).toContain('error: red [info] plain');
      expect(text).not.toContain('\u001b');
    }
  });

  it('of a thousand tasks fit into a context', async () => {
    const { ask } = await openRig();
    const tasks = Array.from({ length: 1000 }, (_, index) => ({
      name: `Task number ${index} ${'with a long name '.repeat(10)}`,
      function: index % 3 === 0 ? 'broken' : 'echo',
      params: index % 3 === 0 ? { message: `cannot do ${index}` } : { text: 'word '.repeat(500) },
    }));
    await ask('add_batch', { tasks });
    await ask('start', { wait: true });
    const summary = await ask('results', { format: 'summary' });
    expect(summary.text).toContain('1000 tasks: 666 completed, 334 failed');
    expect(summary.text).toContain('- 334 × error: cannot do … (t1, t4, t7)');
    expect(summary.text.length).toBeLessThan(5000);
    expect(JSON.stringify(summary.data).length).toBeLessThan(8000);
    const page = await ask('results', { format: 'detailed' });
    expect(page.text.length).toBeLessThan(8000);
    expect(JSON.stringify((await ask('results', { format: 'json', limit: 1000 })).data).length).toBeLessThan(
      700_000,
    );
  });

  it('can be read whole or by range, and the ranges make up the whole', async () => {
    const { ask } = await openRig();
    const value = { text: 'äöü€😀'.repeat(20_000) };
    await ask('add', { id: 'x', function: 'echo', params: value });
    await ask('start', { wait: true });
    let text = '';
    for (let offset: unknown = 0; offset !== undefined; ) {
      const { data } = await ask('results', { id: 'x', range: { offset, length: 50_001 } });
      text += data['part'];
      offset = data['next_offset'];
    }
    expect(JSON.parse(text)).toEqual(value);
    expect((await ask('results', { id: 'x' })).data).toMatchObject({ offset: 0, length: 65_536 });
  });

  it('of a task that has none say why', async () => {
    const { ask } = await openRig();
    await ask('add_batch', {
      tasks: [
        { id: 'a', function: 'broken' },
        { id: 'b', function: 'echo', depends_on: ['a'] },
      ],
    });
    await ask('start', { wait: true });
    expect((await ask('results', { id: 'a' })).data).toMatchObject({ status: 'failed', message: 'it broke' });
    expect((await ask('results', { id: 'b' })).data).toMatchObject({ status: 'skipped', cause: 'a' });
  });

  it('that cannot be written as JSON fail the task', async () => {
    const circular = defineTool({
      name: 'circular',
      retry: { maxRetries: 3 },
      run: () => {
        const value: { self?: unknown } = {};
        value.self = value;
        return value;
      },
    });
    const { ask, store } = await openRig([circular]);
    await ask('add', { id: 'x', function: 'circular' });
    await ask('start', { wait: true });
    expect(await store.task('default', 'x')).toMatchObject({
      status: 'failed',
      attempts: 1,
      code: 'UNSERIALISABLE_RESULT',
    });
  });
});

describe('what texts have in common', () => {
  it.each([
    [['no good', 'no good'], 'no good'],
    [
      ['Cannot analyze "src/a.ts": no', 'Cannot analyze "src/b.ts": no', 'Cannot analyze "src/c.ts": no'],
      'Cannot analyze "src/….ts": no',
    ],
    [['took 12ms of 13', 'took 14ms of 13'], 'took … of 13'],
    [['open "a b" now', 'open "c" now', 'open "d e f" now'], 'open … now'],
    [['see a b', 'see c d'], 'see …'],
    [['aa', 'a'], '…'],
  ])('stays, and the rest is left out: %j', (texts, expected) => {
    expect(texts.reduce(commonText)).toBe(expected);
  });
});
