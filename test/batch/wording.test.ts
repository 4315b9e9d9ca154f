import { describe, expect, it } from 'vitest';
import { HeldCalls, openRig } from './support/rig.ts';

/** Without times, sizes of this machine and process ids. */
function plain(text: string): string {
  return text
    .replace(/\b\d{4}-\d\d-\d\dT\S+Z/g, '<time>')
    .replace(/\b\d+(\.\d+)? (ms|s|min)\b/g, '… s')
    .replace(/\b[\d.]+ tasks a second.*/g, '… tasks a second.')
    .replace(/at most \d+ at once/g, 'at most … at once')
    .replace(/process \d+ on \S+/g, 'process … on host');
}

describe('wording', () => {
  it('of answers', async () => {
    const calls = new HeldCalls();
    const { ask, executor } = await openRig([calls.tool()]);
    const texts: string[] = [];
    const note = async (action: string, args: object = {}) => {
      const { text } = await ask(action, args);
      texts.push(`${action} ${JSON.stringify(args).slice(0, 120)}\n${plain(text).replaceAll(/^/gm, '  ')}\n`);
    };
    const explain = async (id: string) => {
      const { text } = await executor.report('default', id);
      texts.push(`explain ${id}\n${plain(text).replaceAll(/^/gm, '  ')}\n`);
    };
    await note('list');
    await note('clear');
    await note('add', { id: 'held', function: 'held', params: { key: 'held' } });
    await note('add_batch', {
      tasks: [
        { id: 'good', name: 'A good one', function: 'echo', params: { text: 'x'.repeat(300) } },
        { id: 'bad', function: 'broken' },
        { id: 'after', function: 'echo', depends_on: ['bad'] },
        { id: 'undo', function: 'echo', depends_on: ['good'], on_dependency_failure: 'on-failure' },
        { id: 'late', function: 'echo', depends_on: ['held'] },
      ],
    });
    await explain('late');
    await note('start', { max_concurrent: 4 });
    await calls.started('held');
    await expect.poll(async () => (await executor.view())?.counts.completed).toBe(1);
    await explain('held');
    await note('add', { id: 'more', function: 'echo', depends_on: ['held'] });
    await note('stop');
    calls.finish('held');
    await note('wait');
    await note('start', { wait: true });
    await note('status', { detailed: true });
    for (const id of ['good', 'bad', 'after', 'undo']) await explain(id);
    await note('results', { format: 'detailed', limit: 2 });
    await note('results', { id: 'bad' });
    await note('results', { id: 'after' });
    await note('results', { id: 'good', range: { offset: 0, length: 20 } });
    await note('results', { id: 'good', range: { offset: 5000, length: 20 } });
    await note('retry');
    await note('cancel', { ids: ['bad'] });
    await note('retry', { ids: ['bad'] });
    await note('list');
    await note('clear');
    await note('clear');
    await expect(texts.join('\n')).toMatchFileSnapshot('golden/answers.txt');
  });
});
