import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parseTaskFile, readTaskFile } from '../../../src/cli/input/task-file.ts';
import { VolleyError } from '../../../src/core/errors.ts';

const parse = (name: string, text: string) => {
  const { tasks, settings } = parseTaskFile({ name, text });
  return { tasks, settings };
};

function messageOf(name: string, text: string): string {
  try {
    parseTaskFile({ name, text });
  } catch (error) {
    expect(error).toBeInstanceOf(VolleyError);
    expect((error as VolleyError).code).toBe('INVALID_TASK_FILE');
    return (error as VolleyError).message;
  }
  throw new Error('it was read');
}

const TASKS = [{ name: 'one', function: 'f', params: { a: 1, b: 'x' } }, { function: 'g' }];
const LIST = '[{"name":"one","function":"f","params":{"a":1,"b":"x"}},{"function":"g"}]';

describe('a file of tasks', () => {
  it.each([
    ['a list of JSON', 'a.json', LIST],
    ['JSON Lines', 'a.jsonl', LIST.slice(1, -1).replace('},{"f', '}\r\n\n{"f')],
    ['YAML', 'a.yaml', '- name: one\n  function: f\n  params: {a: 1, b: x}\n- function: g\n'],
    [
      'TOML',
      'a.toml',
      '[[tasks]]\nname = "one"\nfunction = "f"\nparams = {a = 1, b = "x"}\n[[tasks]]\nfunction = "g"',
    ],
  ])('may be %s, known by its name or by its look', (_what, name, text) => {
    expect(parse(name, text).tasks).toEqual(TASKS);
    expect(parse('standard input', text).tasks).toEqual(TASKS);
  });

  it('refuses a field beside the tasks that nobody knows, and names the one that was meant', () => {
    const text = '{\n  "max_concurent": 4,\n  "tasks": [{ "function": "f" }]\n}';
    expect(() => parse('a.json', text)).toThrow(/a\.json:2:.*"max_concurent".*did you mean "max_concurrent"/);
  });

  it('may have settings beside the tasks, and defaults that tasks refer to', () => {
    const yaml = `x-defaults: &d {priority: high, timeout: 5}
x-more: &m {timeout: 9, max_retries: 1}
batch: audit
max_concurrent: 5
tasks:
  - {<<: *d, function: f}
  - {<<: [*d, *m], function: g, priority: low}
`;
    expect(parse('a.yml', yaml)).toEqual({
      tasks: [
        { priority: 'high', timeout: 5, function: 'f' },
        { priority: 'low', timeout: 5, max_retries: 1, function: 'g' },
      ],
      settings: { batch: 'audit', max_concurrent: 5 },
    });
    expect(parse('a.toml', 'fail_fast = true\n[[tasks]]\nfunction = "f"\nday = 2024-02-03').tasks).toEqual([
      { function: 'f', day: '2024-02-03' },
    ]);
  });

  it('may be a call of batch_executor_tool with its envelope, or one task', () => {
    const call = {
      thoughts: ['x'],
      tool_name: 'batch_executor_tool',
      tool_args: { action: 'add_batch', tasks: TASKS },
    };
    expect(parse('a.json', JSON.stringify(call))).toEqual({ tasks: TASKS, settings: {} });
    const add = { tool_args: { action: 'add', ...TASKS[0] } };
    expect(parse('a.json', JSON.stringify(add)).tasks).toEqual([TASKS[0]]);
    expect(parse('a.jsonl', `${JSON.stringify(add)}\n${JSON.stringify(call)}`).tasks).toEqual([
      TASKS[0],
      ...TASKS,
    ]);
    expect(parse('a.json', '{"function":"f"}').tasks).toEqual([{ function: 'f' }]);
  });

  it('knows where everything stands in JSON, however large and odd it is', () => {
    const odd = { 'a"]\\': [{}, [], 'x"}\\\\', -1.5e3, true, null], function: 'f', e: { é: [[['\n{']]] } };
    const data = [...Array<unknown>(4000).fill({ ...odd, pad: '\\"'.repeat(200) }), { ...odd, last: 1 }];
    for (const indent of [0, 1, '\t\r\n']) {
      const text = JSON.stringify({ tasks: data, batch: 'b' }, null, indent);
      const { placeOf, tasks } = parseTaskFile({ name: 'a.json', text });
      const lines = text.split('\n');
      for (const path of [['function'], ['last'], ['a"]\\', 2], ['a"]\\', 3], ['e', 'é', 0, 0, 0]]) {
        const { line, column, length } = placeOf(4000, path)!;
        const value = path.reduce<unknown>((inner, key) => (inner as never)[key], tasks[4000]);
        expect(lines[line - 1]!.slice(column - 1, column - 1 + length)).toBe(JSON.stringify(value));
      }
      // What is not there is where it would be.
      expect(placeOf(4000, ['params', 'path'])).toEqual(placeOf(4000));
    }
  });

  it('knows where each task and its fields stand', () => {
    const places = (name: string, text: string) => parseTaskFile({ name, text }).placeOf(1, ['function']);
    expect(places('a.json', '[{"function":"f"},\n {"function": "g"}]')).toEqual({
      line: 2,
      column: 15,
      length: 3,
    });
    expect(places('a.jsonl', '{"function":"f"}\n\n{"function":"g"}')).toEqual({
      line: 3,
      column: 13,
      length: 3,
    });
    expect(places('a.yaml', 'tasks:\n- function: f\n- function: g')).toMatchObject({ line: 3, column: 13 });
    expect(places('a.toml', '[[tasks]]\nfunction="f"\n[[tasks]]\nfunction="g"')).toMatchObject({
      line: 4,
      column: 10,
    });
  });
});

/** What is wrong, the name and the text of a file. */
const BROKEN: readonly (readonly [string, string, string])[] = [
  ['a comma too much', 'a.json', '[{"function":"x",}]'],
  ['a comma that is missing', 'a.json', '[{"a":1\n"b":2}]'],
  ['a comment', 'a.json', '[\n// x\n]'],
  ['single quotes', 'a.json', "{'tasks': []}"],
  ['a task that calls nothing', 'a.json', '[{"function":"f"},{"id":"a","params":{}}]'],
  ['a task that calls a tool by another word', 'a.yaml', 'tasks:\n  - tool: f'],
  ['a word', 'a.json', '{"tasks": True}'],
  ['an early end', 'a.json', '{"tasks": ['],
  ['an open text', 'a.json', '{"tasks": "x'],
  ['a wrong escape', 'a.json', '{"p": "C:\\dir"}'],
  ['lines in a list', 'a.json', '{"function":"f"}\n{"function":"g"}'],
  ['a bad line', 'a.jsonl', '{"function":"f"}\n{"function":}'],
  ['bad YAML', 'a.yaml', 'tasks:\n  - a: [1\n  - b'],
  ['a key twice', 'a.yaml', '- function: f\n  function: g'],
  ['a foreign tag', 'a.yaml', '- function: !!js/function x'],
  ['an alias of nothing', 'a.yaml', '- function: *no'],
  ['an alias of itself', 'a.yaml', '- &a\n  function: *a'],
  ['two documents', 'a.yaml', 'a: 1\n---\nb: 2'],
  ['bad TOML', 'a.toml', '[[tasks]]\nfunction = x'],
  ['no number', 'a.yaml', '- function: f\n  params: {x: .nan}'],
  ['no finite number', 'a.toml', '[[tasks]]\nx = inf'],
  ['a task that is a number', 'a.json', '{"tasks":[\n 1]}'],
  ['a task that is a list', 'a.json', '[[]]'],
  ['a wrong word', 'a.json', '{"task": []}'],
  ['another action', 'a.json', '{"tool_args":{"action":"start"}}'],
  ['a plain text', 'a.txt', 'hello'],
  ['nothing', 'a.json', ' \n'],
  ['an empty list', 'a.json', '[]'],
  ['great depth', 'a.json', `${'['.repeat(5000)}${']'.repeat(5000)}`],
  ['great depth in YAML', 'a.yaml', `${'['.repeat(500)}${']'.repeat(500)}`],
  ['a trailing comma in a list', 'a.json', '[{"function":"x"},]'],
  ['a control character', 'a.json', '[\n {"a\x1b": nope}]'],
  ['text after the end', 'a.json', '[] []'],
  ['an unknown setting', 'a.json', '{"tasks": [], "bacth": "x"}'],
];

describe('a file that cannot be read', () => {
  it.each(BROKEN)('is refused: %s', (_what, name, text) => {
    expect(() => parseTaskFile({ name, text })).toThrow(
      expect.objectContaining({
        code: 'INVALID_TASK_FILE',
        details: expect.objectContaining({ file: name }),
      }),
    );
  });

  it('is reported with the place, the problem and the line', async () => {
    const messages = BROKEN.map(([what, name, text]) => {
      const lines = messageOf(name, text)
        .split('\n')
        .map((line) => (line.length > 200 ? `${line.slice(0, 200)}…` : line));
      return `${what}\n  ${lines.join('\n  ')}\n`;
    });
    await expect(messages.join('\n')).toMatchFileSnapshot('../golden/task-file-errors.txt');
  });

  it('is refused when its aliases stand for too much', () => {
    const levels = Array.from(
      { length: 9 },
      (_, index) => `l${index + 1}: &l${index + 1} [${`*l${index},`.repeat(9)}]`,
    );
    expect(messageOf('a.yaml', `l0: &l0 [x]\n${levels.join('\n')}\ntasks: [*l9]`)).toContain(
      'aliases expand to too much',
    );
    const merges = Array.from({ length: 2000 }, () => '  - {<<: *d}').join('\n');
    const keys = Array.from({ length: 1000 }, (_, index) => `k${index}: 1`).join(', ');
    expect(messageOf('a.yaml', `d: &d {${keys}}\ntasks:\n${merges}`)).toContain('aliases expand to too much');
  });
});

describe('reading', () => {
  const folder = mkdtempSync(join(tmpdir(), 'volley-task-file-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const rejection = async (path: string, input?: AsyncIterable<Uint8Array>) => {
    const error: unknown = await readTaskFile(path, input).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    return (error as Error).message;
  };

  it('takes a file with a byte order mark, and standard input', async () => {
    const path = join(folder, 'a.json');
    writeFileSync(path, `\ufeff${LIST}`);
    expect((await readTaskFile(path)).tasks).toEqual(TASKS);
    async function* chunks() {
      yield Buffer.from(LIST.slice(0, 20));
      yield Buffer.from(LIST.slice(20));
    }
    expect((await readTaskFile('-', chunks())).tasks).toEqual(TASKS);
  });

  it('says what is wrong with a file as a whole', async () => {
    expect(await rejection(join(folder, 'none.json'))).toContain('none.json: the file does not exist.');
    expect(await rejection(folder)).toContain('this is a folder, not a file.');
    writeFileSync(join(folder, 'latin.json'), Buffer.from([0x5b, 0x22, 0xe9, 0x22, 0x5d]));
    expect(await rejection(join(folder, 'latin.json'))).toContain('not valid UTF-8');
    writeFileSync(join(folder, 'wide.json'), Buffer.from('\ufeff[]', 'utf16le'));
    expect(await rejection(join(folder, 'wide.json'))).toContain('UTF-16');
  });

  it('stops at 64 MB', async () => {
    let given = 0;
    async function* endless() {
      for (;;) {
        given++;
        yield Buffer.alloc(1024 * 1024, 0x20);
      }
    }
    expect(await rejection('-', endless())).toContain('larger than 64 MB');
    expect(given).toBe(65);
  });
});
