import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/tools/define-tool.ts';
import { openRig } from './support/rig.ts';

const strict = defineTool({
  name: 'strict',
  input: z.strictObject({ size: z.number() }),
  run: ({ size }) => size,
});
const huge = defineTool({ name: 'huge', resources: { memoryMb: 1e9 }, run: () => 1 });

/** A request and the code of its answer. The texts are in golden/errors.txt. */
const TABLE: readonly (readonly [string, unknown, string])[] = [
  ['nothing', undefined, 'INVALID_REQUEST'],
  ['null', null, 'INVALID_REQUEST'],
  ['a list', [], 'INVALID_REQUEST'],
  ['a number', 5, 'INVALID_REQUEST'],
  ['broken JSON', '{"action": "add",', 'INVALID_REQUEST'],
  ['JSON of something else', '"add"', 'INVALID_REQUEST'],
  ['no action', {}, 'INVALID_REQUEST'],
  ['an action that is no text', { action: 7 }, 'UNKNOWN_ACTION'],
  ['a misspelt action', { action: 'add-bach' }, 'UNKNOWN_ACTION'],
  ['an unlikely action', { action: 'x'.repeat(1e6) }, 'UNKNOWN_ACTION'],
  ['another tool', { tool_name: 'shell', tool_args: {} }, 'INVALID_REQUEST'],
  ['a field outside', { tool_args: { action: 'list' }, batch: 'x' }, 'INVALID_REQUEST'],
  ['no function', { action: 'add' }, 'INVALID_REQUEST'],
  ['an unknown field', { action: 'add', function: 'echo', parms: {} }, 'INVALID_REQUEST'],
  [
    'an unknown field of a task',
    { action: 'add_batch', tasks: [{ function: 'echo' }, { function: 'echo', prioritty: 'high' }] },
    'INVALID_REQUEST',
  ],
  ['a wrong type', { action: 'add', function: 'echo', params: 'x' }, 'INVALID_REQUEST'],
  ['an unknown priority', { action: 'add', function: 'echo', priority: 'urgent' }, 'UNKNOWN_PRIORITY'],
  ['a negative number', { action: 'add', function: 'echo', max_retries: -1 }, 'INVALID_REQUEST'],
  ['half a retry', { action: 'add', function: 'echo', max_retries: 1.5 }, 'INVALID_REQUEST'],
  ['a huge number', { action: 'add', function: 'echo', timeout: 1e300 }, 'INVALID_REQUEST'],
  ['no number', { action: 'add', function: 'echo', timeout: Number.NaN }, 'INVALID_REQUEST'],
  ['no time', { action: 'start', timeout: 0 }, 'INVALID_REQUEST'],
  ['no concurrency', { action: 'start', max_concurrent: 0 }, 'INVALID_REQUEST'],
  ['a word for a concurrency', { action: 'start', max_concurrent: 'all' }, 'INVALID_REQUEST'],
  ['no tasks', { action: 'add_batch', tasks: [] }, 'INVALID_REQUEST'],
  ['NUL in a name', { action: 'add', function: 'echo', name: 'a\0b' }, 'INVALID_REQUEST'],
  ['half a character', { action: 'add', function: 'echo', id: 'a\ud800' }, 'INVALID_REQUEST'],
  ['a line in a batch', { action: 'add', function: 'echo', batch: 'a\nb' }, 'INVALID_REQUEST'],
  ['a long name', { action: 'add', function: 'echo', name: 'x'.repeat(201) }, 'INVALID_REQUEST'],
  ['an empty id', { action: 'add', function: 'echo', id: '' }, 'INVALID_REQUEST'],
  ['a misspelt function', { action: 'add', function: 'code_analyser_tool' }, 'UNKNOWN_TOOL'],
  ['a forbidden function', { action: 'add', function: 'shell' }, 'TOOL_NOT_ALLOWED'],
  ['wrong arguments', { action: 'add', function: 'strict', params: { size: 'big' } }, 'INVALID_ARGUMENTS'],
  ['an impossible demand', { action: 'add', function: 'huge' }, 'IMPOSSIBLE_DEMAND'],
  [
    'an unknown dependency',
    {
      action: 'add_batch',
      tasks: [
        { id: 'first', function: 'echo' },
        { function: 'echo', depends_on: ['frist'] },
      ],
    },
    'UNKNOWN_DEPENDENCY',
  ],
  [
    'an unknown reference',
    { action: 'add', function: 'echo', params: { x: { $from: 'nobody' } } },
    'UNKNOWN_DEPENDENCY',
  ],
  [
    'an id twice',
    {
      action: 'add_batch',
      tasks: [
        { id: 'x', function: 'echo' },
        { id: 'x', function: 'echo' },
      ],
    },
    'DUPLICATE_ID',
  ],
  ['an id that there is', { action: 'add', function: 'echo', id: 'there' }, 'DUPLICATE_ID'],
  [
    'a cycle',
    {
      action: 'add_batch',
      tasks: [
        { id: 'a', function: 'echo', depends_on: ['b'] },
        { id: 'b', function: 'echo', params: { x: '${c}' } },
        { id: 'c', function: 'echo', depends_on: ['a'] },
      ],
    },
    'DEPENDENCY_CYCLE',
  ],
  ['itself', { action: 'add', id: 'me', function: 'echo', depends_on: ['me'] }, 'DEPENDENCY_CYCLE'],
  [
    'params of more than 10 MB',
    { action: 'add', function: 'echo', params: { text: 'x'.repeat(11 * 2 ** 20) } },
    'INVALID_ARGUMENTS',
  ],
  ['a BigInt', { action: 'add', function: 'echo', params: { n: 1n } }, 'INVALID_ARGUMENTS'],
  [
    'deep nesting',
    { action: 'add', function: 'echo', params: JSON.parse(`${'{"a":'.repeat(500)}1${'}'.repeat(500)}`) },
    'INVALID_ARGUMENTS',
  ],
  [
    'some of many',
    { action: 'add_batch', tasks: [{ function: 'echo' }, { function: 'ecko' }, { function: 'strict' }] },
    'UNKNOWN_TOOL',
  ],
  ['an unknown batch', { action: 'start', batch: 'defualt' }, 'UNKNOWN_BATCH'],
  ['an unknown task', { action: 'results', id: 'ther' }, 'UNKNOWN_TASK'],
  ['neither ids nor all', { action: 'cancel' }, 'INVALID_REQUEST'],
  ['a retry of what is open', { action: 'retry', ids: ['there'] }, 'INVALID_REQUEST'],
  ['an unknown format', { action: 'results', format: 'sumary' }, 'INVALID_REQUEST'],
  ['an unknown status', { action: 'results', filter_status: 'done' }, 'INVALID_REQUEST'],
  ['no file', { action: 'export' }, 'INVALID_REQUEST'],
  ['a file outside', { action: 'export', output_file: '../x.json' }, 'PATH_NOT_ALLOWED'],
  ['a folder that is not there', { action: 'export', output_file: 'no/x.json' }, 'EXPORT_FAILED'],
  ['a NUL in a path', { action: 'export', output_file: 'a\0' }, 'PATH_NOT_ALLOWED'],
];

/** Without what depends on the machine and the version of Node. */
function plain(text: string): string {
  return text
    .replace(/(not valid JSON: ).*/, '$1…')
    .replace(/(the limit is )\d+(?!\d| MB)/, '$1…')
    .replace(/(the roots \()"[^"]*"/, '$1"<root>"');
}

describe('bad input', () => {
  it('gets a clear answer, and changes nothing', async () => {
    const { executor, ask, store } = await openRig([strict, huge]);
    await ask('add', { id: 'there', function: 'echo' });
    const texts: string[] = [];
    for (const [what, request, code] of TABLE) {
      const answer = await executor.handle(request);
      expect({ what, ok: answer.ok, code: answer.error?.code }).toEqual({ what, ok: false, code });
      texts.push(`${what}: ${code}\n  ${plain(answer.text)}\n`);
      expect(answer.text.length).toBeLessThan(2500);
      expect((await store.batches()).map(({ name, counts }) => [name, counts.open])).toEqual([
        ['default', 1],
      ]);
    }
    await expect(texts.join('\n')).toMatchFileSnapshot('golden/errors.txt');
    // Ids that were chosen for what was refused are used by the next.
    expect((await ask('add', { function: 'echo' })).data).toMatchObject({ id: 't1' });
  });

  it('is told from odd input, which works', async () => {
    const { ask } = await openRig();
    const odd = '‮ الف 👩‍👩‍👧 ️‍🌈 \u{10FFFF}';
    const params = { text: `\0\ud800 ${odd}`, ['__proto__x']: 1 };
    await ask('add', { batch: odd, id: odd, name: odd, function: 'echo', params });
    await ask('start', { batch: odd, wait: true });
    expect((await ask('results', { batch: odd, id: odd })).data).toMatchObject({ name: odd, result: params });
  });

  it('of 10 MB in a parameter is taken, kept and handed on', async () => {
    const { ask, store } = await openRig();
    const text = 'x'.repeat(10 * 2 ** 20 - 20);
    await ask('add', { id: 'big', function: 'echo', params: { text } });
    await ask('start', { wait: true });
    expect(await store.result('default', 'big')).toBe(JSON.stringify({ text }));
    const part = await ask('results', { id: 'big' });
    expect(part.data).toMatchObject({ next_offset: 65_536, part: expect.stringMatching(/^{"text":"x+$/) });
    expect(part.text.length).toBeLessThan(70_000);
  });
});
