import { readdirSync, readlinkSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { LargeTaskFile } from '../../../src/cli/input/large-file.ts';
import { type PlainObject, parseTaskFile } from '../../../src/cli/input/task-file.ts';
import { folderWith, say } from '../support/program.ts';

async function readAll(name: string, text: string) {
  const file = await LargeTaskFile.open(name, folderWith({ [name]: text }), 0);
  if (file === undefined) return undefined;
  const tasks: PlainObject[] = [];
  const places: unknown[] = [];
  for await (const part of file.parts()) {
    for (const index of part.tasks.keys()) places.push(part.file.placeOf(index));
    tasks.push(...part.tasks);
  }
  return { tasks, places, settings: file.settings };
}

async function messageOf(name: string, text: string): Promise<string> {
  try {
    await readAll(name, text);
  } catch (error) {
    expect(error).toMatchObject({ code: 'INVALID_TASK_FILE' });
    return (error as Error).message;
  }
  throw new Error('it was read');
}

const LIST =
  '[\n  {"id": "a", "function": "f", "params": {"text": "]},\\"\\\\"}},\n  {"function": "g"} ,{"function":"h"}\n]\n';

describe('a large file', () => {
  it.each([
    ['a list', 'a.json', LIST],
    ['a list without spaces', 'a.json', JSON.stringify(JSON.parse(LIST))],
    ['an empty list and lists in lists', 'a.json', '[{"function":"f","params":{"a":[[],[1,{"b":[]}]]}}]'],
    [
      'an object with settings on both sides',
      'a.json',
      `{"batch": "b", "x-note": {"a": [1]}, "tasks": ${LIST}, "max_concurrent": 4}`,
    ],
    ['an object that returns something', 'a.json', `{"tasks": ${LIST}, "return": "a"}`],
    [
      'lines',
      'a.jsonl',
      '{"function":"f"}\n\n  {"id":"b","function":"g","params":{"t":"\\n"}}\r\n{"return":"b"}',
    ],
    [
      'letters of all lengths',
      'a.jsonl',
      `${JSON.stringify({ function: 'f', params: { t: 'aé漢😀' } })}\n`.repeat(3),
    ],
  ])('is read like a small one: %s', async (_what, name, text) => {
    const { tasks, settings, placeOf } = parseTaskFile({ name, text });
    const read = await readAll(name, text);
    expect(read?.tasks).toEqual(tasks);
    expect(read?.settings).toEqual(settings);
    if (!text.includes('return')) expect(read?.places[0]).toMatchObject({ ...placeOf(0), length: 1 });
  });

  it('is read like a small one wherever its chunks end', async () => {
    const tasks = Array.from({ length: 3000 }, (_, index) => ({
      id: `t${index}`,
      function: 'f',
      params: { text: 'é"\\]}'.repeat(index % 100) },
    }));
    for (const [name, text] of [
      ['a.json', JSON.stringify({ tasks, batch: 'b' }, undefined, 1)],
      ['a.jsonl', tasks.map((task) => JSON.stringify(task)).join('\n')],
    ] as const)
      expect((await readAll(name, text))?.tasks).toEqual(tasks);
  });

  it.each([
    [
      'a.jsonl',
      '{"function":"f"}\n{"function":"f",}\n',
      /^a\.jsonl:2:17: invalid JSON: trailing comma.*\n.*2 \| \{"function":"f",\}/,
    ],
    [
      'a.jsonl',
      '{"function":"f"}\n{"tool":"f"}\n',
      /^a\.jsonl:2:\d+: the task has no "function".*instead of "tool"/,
    ],
    [
      'a.json',
      '[\n{"function":"f"},\n  {"function":"f", "params": {"a": tru}}\n]',
      /^a\.json:3:\d+: invalid JSON/,
    ],
    [
      'a.json',
      '[{"function":"f"}\n{"function":"f"}]',
      /^a\.json:2:1: invalid JSON: unexpected "\{"; expected ","/,
    ],
    ['a.json', '[{"function":"f"},]', /^a\.json:1:19: invalid JSON.*after the comma/],
    ['a.json', '[{"function":"f"}', /^a\.json:1:18: invalid JSON: unexpected end/],
    ['a.json', '[{"function":"f', /^a\.json:1:\d+: invalid JSON: unexpected end/],
    ['a.json', '[{"function":"f"}] x', /^a\.json:1:20: invalid JSON: unexpected "x"; expected the end/],
    [
      'a.json',
      '{"tasks": [{"function":"f"}], "max_concurent": 3}',
      /^a\.json:1:48: unknown field "max_concurent".*did you mean "max_concurrent"/,
    ],
    ['a.json', '[{"function":"f","params":{"n":12345678901234567890}}]', /^a\.json:1:32: /],
    ['a.jsonl', '\n\n', /no tasks/],
    ['a.json', '[]', /no tasks/],
    ['a.jsonl', '{"function":"f"}\n{"return":"1"}\n{"return":"2"}', /^a\.jsonl:3:.*only one "return"/],
  ])('has the place of a mistake: %s %j', async (name, text, expected) => {
    expect(await messageOf(name, text)).toMatch(expected);
  });

  it.each([
    ['a.yaml', '- function: f\n'],
    ['a.json', '{"function": "f"}'],
    ['a.json', '{"tool_name": "t", "tool_args": {"action": "add", "function": "f"}}'],
  ])('is read whole if it is no list: %s %j', async (name, text) => {
    expect(await readAll(name, text)).toBeUndefined();
  });
});

const compute = (id: string, expression: string, more: object = {}) => ({
  id,
  function: 'compute',
  params: { expression },
  ...more,
});

it.runIf(process.platform === 'linux')('closes a large file whose JSON is wrong', async () => {
  const folder = folderWith({ 'a.json': '[{"function":"f"} {"function":"g"}]' });
  const file = await LargeTaskFile.open('a.json', folder, 0);
  await expect(file!.count()).rejects.toMatchObject({ code: 'INVALID_TASK_FILE' });
  const opened = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      // It was open for the listing itself.
      return '';
    }
  });
  expect(opened.filter((path) => path.startsWith(folder))).toEqual([]);
});

describe('the command line with a large file', () => {
  /** Larger than what is read whole. */
  const padded = (tasks: readonly object[]) =>
    `${tasks.map((task) => JSON.stringify(task)).join('\n')}\n${' '.repeat(8 * 2 ** 20)}\n`;
  const tasks = [
    compute('later', 'first + 1'),
    compute('first', '1'),
    { function: 'compute', params: { expression: '2' } },
    { function: 'compute', params: { expression: '2' } },
  ];

  it('runs it, and the same command runs nothing twice', async () => {
    const folder = folderWith({ 'big.jsonl': padded(tasks) });
    const dry = await say(folder, ['run', 'big.jsonl', '--dry-run']);
    expect(dry).toMatchObject({ status: 0, stderr: '' });
    expect(dry.stdout).toContain('4 tasks, all valid');
    expect(JSON.parse((await say(folder, ['run', 'big.jsonl', '--dry-run', '--json'])).stdout)).toEqual({
      ok: true,
      batch: 'big',
      tasks: 4,
      waves: [3, 1],
    });
    const said = await say(folder, ['run', 'big.jsonl', '--json']);
    expect(JSON.parse(said.stdout).data).toMatchObject({ batch: 'big', counts: { completed: 4 } });
    const again = await say(folder, ['run', 'big.jsonl', '--json']);
    expect(JSON.parse(again.stdout).data).toMatchObject({ counts: { completed: 4, open: 0 } });
    expect((await say(folder, ['simulate', 'big.jsonl'])).status).toBe(2);
  });

  it('is needed for more than 100,000 tasks', async () => {
    const said = await say(folderWith(), ['run', '-', '--json'], '{"function":"compute"}\n'.repeat(100_001));
    expect(said.status).toBe(2);
    expect(JSON.parse(said.stdout).error).toMatchObject({
      code: 'INVALID_TASK_FILE',
      message: expect.stringContaining('.jsonl'),
    });
  });

  it('adds it once, and refuses tasks that the batch has', async () => {
    const folder = folderWith({ 'big.jsonl': padded(tasks.slice(2)) });
    const add = () => say(folder, ['add-batch', 'big.jsonl', '--batch', 'b', '--json']);
    expect(JSON.parse((await add()).stdout).data).toMatchObject({
      batch: 'b',
      added: 2,
      counts: { open: 2 },
    });
    const again = await add();
    expect(again.status).toBe(2);
    expect(JSON.parse(again.stdout)).toMatchObject({ ok: false, error: { code: 'DUPLICATE_ID' } });
  });

  it.each([
    ['an unknown function', [compute('a', '1'), { id: 'b', function: 'nothing' }], 'UNKNOWN_TOOL', 2],
    [
      'an unknown field',
      [compute('a', '1'), { ...compute('b', '1'), prioritty: 'high' }],
      'INVALID_REQUEST',
      2,
    ],
    ['an unknown dependency', [compute('a', '1', { depends_on: ['c'] })], 'UNKNOWN_DEPENDENCY', 1],
    ['a duplicate', [compute('a', '1'), compute('b', '1'), compute('a', '1')], 'DUPLICATE_ID', 3],
    [
      'a cycle',
      [compute('a', '1', { depends_on: ['b'] }), compute('b', '1', { depends_on: ['a'] })],
      'DEPENDENCY_CYCLE',
      undefined,
    ],
  ])('adds nothing if there is %s, and names the line', async (_what, wrong, code, line) => {
    const folder = folderWith({ 'big.jsonl': padded(wrong) });
    const said = await say(folder, ['run', 'big.jsonl', '--json']);
    expect(said.status).toBe(2);
    const { error } = JSON.parse(said.stdout);
    expect(error.code).toBe(code);
    if (line !== undefined) expect(error.message).toContain(`big.jsonl:${line}:`);
    expect(JSON.parse((await say(folder, ['list', '--json'])).stdout).data.batches).toEqual([]);
  });
});
