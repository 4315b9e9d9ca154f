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

/** A request, the code of its answer, and a part of its text. */
const TABLE: readonly (readonly [string, unknown, string, string])[] = [
  ['nothing', undefined, 'INVALID_REQUEST', 'must be an object'],
  ['null', null, 'INVALID_REQUEST', 'must be an object'],
  ['a list', [], 'INVALID_REQUEST', 'must be an object'],
  ['a number', 5, 'INVALID_REQUEST', 'but it is 5'],
  ['broken JSON', '{"action": "add",', 'INVALID_REQUEST', 'is not valid JSON'],
  ['JSON of something else', '"add"', 'INVALID_REQUEST', 'must be an object'],
  ['no action', {}, 'INVALID_REQUEST', 'has no "action": use add, add_batch'],
  ['an action that is no text', { action: 7 }, 'UNKNOWN_ACTION', 'There is no action 7'],
  ['a misspelt action', { action: 'add-bach' }, 'UNKNOWN_ACTION', 'did you mean "add_batch"?'],
  ['an unlikely action', { action: 'x'.repeat(1e6) }, 'UNKNOWN_ACTION', 'use add, '],
  ['another tool', { tool_name: 'shell', tool_args: {} }, 'INVALID_REQUEST', 'must be "batch_executor_tool"'],
  ['a field outside', { tool_args: { action: 'list' }, batch: 'x' }, 'INVALID_REQUEST', 'inside tool_args'],
  ['no function', { action: 'add' }, 'INVALID_REQUEST', 'function is missing'],
  [
    'an unknown field',
    { action: 'add', function: 'echo', parms: {} },
    'INVALID_REQUEST',
    'did you mean "params"?',
  ],
  [
    'an unknown field of a task',
    { action: 'add_batch', tasks: [{ function: 'echo' }, { function: 'echo', prioritty: 'high' }] },
    'INVALID_REQUEST',
    '"prioritty" (did you mean "priority"?) in tasks[1]',
  ],
  [
    'a wrong type',
    { action: 'add', function: 'echo', params: 'x' },
    'INVALID_REQUEST',
    'params must be an object',
  ],
  [
    'an unknown priority',
    { action: 'add', function: 'echo', priority: 'urgent' },
    'UNKNOWN_PRIORITY',
    'priority must be one of critical, high, normal, low, background, medium, but it is "urgent"',
  ],
  [
    'a negative number',
    { action: 'add', function: 'echo', max_retries: -1 },
    'INVALID_REQUEST',
    'at least 0',
  ],
  [
    'half a retry',
    { action: 'add', function: 'echo', max_retries: 1.5 },
    'INVALID_REQUEST',
    'a whole number',
  ],
  [
    'a huge number',
    { action: 'add', function: 'echo', timeout: 1e300 },
    'INVALID_REQUEST',
    'at most 2147483',
  ],
  ['no number', { action: 'add', function: 'echo', timeout: Number.NaN }, 'INVALID_REQUEST', 'but it is NaN'],
  ['no time', { action: 'start', timeout: 0 }, 'INVALID_REQUEST', 'more than 0'],
  ['no concurrency', { action: 'start', max_concurrent: 0 }, 'INVALID_REQUEST', 'at least 1'],
  ['a word for a concurrency', { action: 'start', max_concurrent: 'all' }, 'INVALID_REQUEST', 'or "auto"'],
  ['no tasks', { action: 'add_batch', tasks: [] }, 'INVALID_REQUEST', 'tasks must not be empty'],
  [
    'NUL in a name',
    { action: 'add', function: 'echo', name: 'a\0b' },
    'INVALID_REQUEST',
    'control characters',
  ],
  ['half a character', { action: 'add', function: 'echo', id: 'a\ud800' }, 'INVALID_REQUEST', 'halves'],
  ['a line in a batch', { action: 'add', function: 'echo', batch: 'a\nb' }, 'INVALID_REQUEST', 'control'],
  [
    'a long name',
    { action: 'add', function: 'echo', name: 'x'.repeat(201) },
    'INVALID_REQUEST',
    'at most 200',
  ],
  ['an empty id', { action: 'add', function: 'echo', id: '' }, 'INVALID_REQUEST', 'id must not be empty'],
  [
    'a misspelt function',
    { action: 'add', function: 'code_analyser_tool' },
    'UNKNOWN_TOOL',
    'code_analyzer_tool',
  ],
  ['a forbidden function', { action: 'add', function: 'shell' }, 'TOOL_NOT_ALLOWED', 'may not be called'],
  [
    'wrong arguments',
    { action: 'add', function: 'strict', params: { size: 'big' } },
    'INVALID_ARGUMENTS',
    '/size expected number',
  ],
  ['an impossible demand', { action: 'add', function: 'huge' }, 'IMPOSSIBLE_DEMAND', 'memoryMb'],
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
    'did you mean "first"?',
  ],
  [
    'an unknown reference',
    { action: 'add', function: 'echo', params: { x: { $from: 'nobody' } } },
    'UNKNOWN_DEPENDENCY',
    '"nobody"',
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
    'Two tasks have the id "x"',
  ],
  ['an id that there is', { action: 'add', function: 'echo', id: 'there' }, 'DUPLICATE_ID', '"there"'],
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
    'a → b → c → a',
  ],
  [
    'itself',
    { action: 'add', id: 'me', function: 'echo', depends_on: ['me'] },
    'DEPENDENCY_CYCLE',
    'me → me',
  ],
  [
    'params of more than 10 MB',
    { action: 'add', function: 'echo', params: { text: 'x'.repeat(11 * 2 ** 20) } },
    'INVALID_ARGUMENTS',
    'at most 10 MB',
  ],
  ['a BigInt', { action: 'add', function: 'echo', params: { n: 1n } }, 'INVALID_ARGUMENTS', 'as JSON'],
  [
    'deep nesting',
    { action: 'add', function: 'echo', params: JSON.parse(`${'{"a":'.repeat(500)}1${'}'.repeat(500)}`) },
    'INVALID_ARGUMENTS',
    'levels deep',
  ],
  [
    'some of many',
    { action: 'add_batch', tasks: [{ function: 'echo' }, { function: 'ecko' }, { function: 'strict' }] },
    'UNKNOWN_TOOL',
    '2 tasks of 3 cannot be added, so none was. task 2 ("ecko"): ',
  ],
  ['an unknown batch', { action: 'start', batch: 'defualt' }, 'UNKNOWN_BATCH', 'did you mean "default"?'],
  ['an unknown task', { action: 'results', id: 'ther' }, 'UNKNOWN_TASK', 'did you mean "there"?'],
  ['neither ids nor all', { action: 'cancel' }, 'INVALID_REQUEST', 'either "ids" or "all"'],
  ['a retry of what is open', { action: 'retry', ids: ['there'] }, 'INVALID_REQUEST', 'is open'],
  ['an unknown format', { action: 'results', format: 'sumary' }, 'INVALID_REQUEST', 'did you mean summary?'],
  ['an unknown status', { action: 'results', filter_status: 'done' }, 'INVALID_REQUEST', 'open, running'],
  ['no file', { action: 'export' }, 'INVALID_REQUEST', 'output_file is missing'],
  ['a file outside', { action: 'export', output_file: '../x.json' }, 'PATH_NOT_ALLOWED', 'outside the roots'],
  [
    'a folder that is not there',
    { action: 'export', output_file: 'no/x.json' },
    'EXPORT_FAILED',
    'no such file',
  ],
  ['a NUL in a path', { action: 'export', output_file: 'a\0' }, 'PATH_NOT_ALLOWED', 'NUL'],
];

describe('bad input', () => {
  it('gets a clear answer, and changes nothing', async () => {
    const { executor, ask, store } = await openRig([strict, huge]);
    await ask('add', { id: 'there', function: 'echo' });
    for (const [what, request, code, text] of TABLE) {
      const answer = await executor.handle(request);
      expect({ what, ok: answer.ok, code: answer.error?.code, text: answer.text }).toEqual({
        what,
        ok: false,
        code,
        text: expect.stringContaining(text),
      });
      expect(answer.text.length).toBeLessThan(2500);
      expect((await store.batches()).map(({ name, counts }) => [name, counts.open])).toEqual([
        ['default', 1],
      ]);
    }
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
