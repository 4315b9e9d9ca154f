import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readTaskFile } from '../../../src/cli/input/read-task-file.ts';
import { parseTaskFile } from '../../../src/cli/input/task-file.ts';
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
    expect(() => parse('a.json', text)).toThrow(
      /a\.json:2:.*unknown field "max_concurent" beside "tasks" \(did you mean "max_concurrent"\?\)/,
    );
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

describe('a file that cannot be read', () => {
  it.each([
    [
      'a comma too much',
      'a.json',
      '[{"function":"x",}]',
      '1:17: this is not valid JSON: a comma may not stand before "}".',
    ],
    [
      'a comma that is missing',
      'a.json',
      '[{"a":1\n"b":2}]',
      '2:1: this is not valid JSON: "," or "}" is missing before "\\"".',
    ],
    ['a comment', 'a.json', '[\n// x\n]', '2:1: this is not valid JSON: JSON has no comments.'],
    [
      'single quotes',
      'a.json',
      "{'tasks': []}",
      '1:2: this is not valid JSON: a text stands in double quotes, not in single ones.',
    ],
    [
      'a task that calls nothing',
      'a.json',
      '[{"function":"f"},{"id":"a","params":{}}]',
      '1:19: the task has no "function", the name of the tool that it calls.',
    ],
    [
      'a task that calls a tool by another word',
      'a.yaml',
      'tasks:\n  - tool: f',
      '2:11: the task has no "function", the name of the tool that it calls; did you mean "function" where it says "tool"?',
    ],
    ['a word', 'a.json', '{"tasks": True}', '1:11: this is not valid JSON: True is no value of JSON'],
    [
      'an early end',
      'a.json',
      '{"tasks": [',
      '1:12: this is not valid JSON: it ends too early, a value is missing.',
    ],
    ['an open text', 'a.json', '{"tasks": "x', '1:11: this is not valid JSON: the text is not closed.'],
    [
      'a wrong escape',
      'a.json',
      '{"p": "C:\\dir"}',
      '1:10: this is not valid JSON: this is no escape of JSON',
    ],
    [
      'lines in a list',
      'a.json',
      '{"function":"f"}\n{"function":"g"}',
      'One task on each line is JSON Lines',
    ],
    ['a bad line', 'a.jsonl', '{"function":"f"}\n{"function":}', 'a.jsonl:2:13: this line is not valid JSON'],
    ['bad YAML', 'a.yaml', 'tasks:\n  - a: [1\n  - b', 'a.yaml:3:3: this is not valid YAML'],
    [
      'a key twice',
      'a.yaml',
      '- function: f\n  function: g',
      '2:3: this is not valid YAML: Map keys must be unique.',
    ],
    ['a foreign tag', 'a.yaml', '- function: !!js/function x', 'Unresolved tag'],
    [
      'an alias of nothing',
      'a.yaml',
      '- function: *no',
      '1:13: no anchor &no is complete before this alias.',
    ],
    ['an alias of itself', 'a.yaml', '- &a\n  function: *a', '2:13: no anchor &a is complete'],
    ['two documents', 'a.yaml', 'a: 1\n---\nb: 2', '2:1: there is more than one document'],
    ['bad TOML', 'a.toml', '[[tasks]]\nfunction = x', 'a.toml:2:12: this is not valid TOML: invalid value.'],
    ['no number', 'a.yaml', '- function: f\n  params: {x: .nan}', '2:15: NaN is not a number'],
    ['no finite number', 'a.toml', '[[tasks]]\nx = inf', '2:5: Infinity is not a number'],
    [
      'a task that is a number',
      'a.json',
      '{"tasks":[\n 1]}',
      'a.json:2:2: a task must be an object, but this is 1.',
    ],
    ['a task that is a list', 'a.json', '[[]]', 'a.json:1:2: a task must be an object, but this is a list.'],
    ['a wrong word', 'a.json', '{"task": []}', 'did you mean "tasks" where it says "task"?'],
    [
      'another action',
      'a.json',
      '{"tool_args":{"action":"start"}}',
      '1:24: the action "start" adds no tasks',
    ],
    ['a plain text', 'a.txt', 'hello', 'a task must be an object, but this is "hello".'],
    ['nothing', 'a.json', ' \n', 'a.json: it is empty: there are no tasks in it.'],
    ['an empty list', 'a.json', '[]', 'a.json: there are no tasks in it (it was read as JSON).'],
    ['great depth', 'a.json', `${'['.repeat(5000)}${']'.repeat(5000)}`, 'nested deeper than 200 levels'],
    [
      'great depth in YAML',
      'a.yaml',
      `${'['.repeat(500)}${']'.repeat(500)}`,
      'nested deeper than 200 levels',
    ],
  ])('says where and why: %s', (_what, name, text, message) => {
    expect(messageOf(name, text)).toContain(message);
  });

  it('shows the line, which cannot control the terminal', () => {
    expect(messageOf('a.json', '[\n {"a\x1b": nope}]')).toBe(
      'a.json:2:5: this is not valid JSON: a text may not hold the control character "\\u001b" as it is.\n  2 |  {"a\ufffd": nope}]\n    |     ^',
    );
  });

  it('is refused when its aliases stand for too much', () => {
    const levels = Array.from(
      { length: 9 },
      (_, index) => `l${index + 1}: &l${index + 1} [${`*l${index},`.repeat(9)}]`,
    );
    expect(messageOf('a.yaml', `l0: &l0 [x]\n${levels.join('\n')}\ntasks: [*l9]`)).toContain(
      'aliases stand for too much',
    );
    const merges = Array.from({ length: 2000 }, () => '  - {<<: *d}').join('\n');
    const keys = Array.from({ length: 1000 }, (_, index) => `k${index}: 1`).join(', ');
    expect(messageOf('a.yaml', `d: &d {${keys}}\ntasks:\n${merges}`)).toContain('aliases stand for too much');
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
    expect(await rejection(join(folder, 'latin.json'))).toContain('it is not valid UTF-8');
    writeFileSync(join(folder, 'wide.json'), Buffer.from('\ufeff[]', 'utf16le'));
    expect(await rejection(join(folder, 'wide.json'))).toContain('it is UTF-16');
  });

  it('stops at 64 MB', async () => {
    let given = 0;
    async function* endless() {
      for (;;) {
        given++;
        yield Buffer.alloc(1024 * 1024, 0x20);
      }
    }
    expect(await rejection('-', endless())).toBe(
      'standard input: it is larger than 64 MB: split it into several batches.',
    );
    expect(given).toBe(65);
  });
});
