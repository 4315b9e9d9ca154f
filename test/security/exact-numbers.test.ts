import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { say } from '../cli/support/program.ts';
import { startBuilt } from '../e2e/support/built-volley.ts';
import { project } from '../e2e/support/project.ts';
import { casesOf } from '../support/depth.ts';
import { serveBuilt } from './support/built-server.ts';

const HUGE = '1234567890123456789';
const SHELLS = {
  json: (value: string) =>
    `[\n  { "function": "write_file",\n    "params": { "path": "a", "content": [1, ${value}] } }\n]`,
  jsonl: (value: string) =>
    `{"function":"list_directory","params":{}}\n{"function":"write_file","params":{"path":"a","content":[1, ${value}]}}\n`,
  yaml: (value: string) => `- function: write_file\n  params: { path: a, content: [1, ${value}] }\n`,
  toml: (value: string) =>
    `[[tasks]]\nfunction = "write_file"\nparams = { path = "a", content = [1, ${value}] }\n`,
};
/** Where the value stands, as line and column. */
function placeOf(text: string, value: string): string {
  const lines = text.slice(0, text.lastIndexOf(value)).split('\n');
  return `${lines.length}:${lines.at(-1)!.length + 1}`;
}

test.each(['json', 'jsonl', 'yaml', 'toml'] as const)(
  'a large integer in a %s file is refused with its place, and nothing is added',
  async (format) => {
    const name = `tasks.${format}`;
    const folder = project({ [name]: SHELLS[format](HUGE) });
    const { status, stdout } = await say(folder, ['add-batch', name, '--json']);
    const { error } = JSON.parse(stdout) as { error: { code: string; message: string } };
    expect(status).toBe(2);
    expect(error.code).toBe('INVALID_TASK_FILE');
    expect(error.message).toContain(`${name}:${placeOf(SHELLS[format](HUGE), HUGE)}: `);
    expect(JSON.parse((await say(folder, ['list', '--json'])).stdout)).toMatchObject({
      data: { total: 0 },
    });
  },
);

test('numbers that JSON can hold are taken as they are', async () => {
  const values = [
    '9007199254740991',
    '-9007199254740991',
    '-0',
    '1e20',
    '100000000000000000000',
    '0.1234567890123456789',
  ];
  const tasks = [
    { id: 'a', function: 'write_file', params: { path: 'a', content: 'VALUES' } },
    // Digits in a string are no number.
    { id: 'b', function: 'write_file', params: { path: `${HUGE}"1e999`, content: '\\' } },
  ];
  const folder = project({ 'tasks.json': JSON.stringify(tasks).replace('VALUES', values.join(' ')) });
  expect(await say(folder, ['add-batch', 'tasks.json'])).toMatchObject({ status: 0 });
  const numbers = `[{"function":"http_request","params":{"url":"http://127.0.0.1:1/","body":[${values.join(',')}]}}]`;
  const { stdout } = await say(folder, ['add-batch', '-', '--json'], numbers);
  expect(stdout).not.toContain('INVALID_TASK_FILE');
});

test.each(casesOf([HUGE, `-${HUGE}`, '9007199254740993', '1e999', '-1E+400', '9'.repeat(400)], 2))(
  '%s is refused on standard input and in --params',
  async (value) => {
    const folder = project({ a: '' });
    const input = SHELLS.json(value);
    const read = JSON.parse((await say(folder, ['run', '-', '--json'], input)).stdout);
    expect(read.error).toMatchObject({ code: 'INVALID_TASK_FILE' });
    const add = ['add', '--function', 'write_file', '--params', `{"path":"a","content":${value}}`];
    const added = await say(folder, add);
    expect(added.status).toBe(2);
    expect(added.stderr).toContain('column 23, content');
    const each = ['run', '--each', 'a', '--function', 'write_file', '--params', `{"path":"{}","n":${value}}`];
    const run = JSON.parse((await say(folder, [...each, '--json'])).stdout);
    expect(run.error).toMatchObject({ code: 'INVALID_TEMPLATE' });
    expect(run.error.message).toContain('column 18, n');
  },
);

test('a large integer in the body of a request is refused, over HTTP and MCP alike', async () => {
  const server = await serveBuilt(project());
  const send = (path: string, body: string) => server.request(path, { method: 'POST', body });
  const task = `{"function":"write_file","params":{"path":"a","content":[true,${HUGE}]}}`;
  for (const [path, body, where] of [
    ['/v1/batches/x/tasks', `{"tasks":[${task}]}`, ['tasks', 0, 'params', 'content', 1]],
    [
      '/v1/execute',
      `{"calls":[{"name":"write_file","arguments":{"n":1e999}}]}`,
      ['calls', 0, 'arguments', 'n'],
    ],
    [
      '/mcp',
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_batch","arguments":{"tasks":[${task}]}}}`,
      ['params', 'arguments', 'tasks', 0, 'params', 'content', 1],
    ],
  ] as const) {
    const answer = await send(path, body);
    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({
        code: 'INEXACT_NUMBER',
        facts: { path: where, line: 1, column: expect.any(Number) },
      }),
    ]);
  }
  const broken = await send('/v1/batches/x/tasks', `{"tasks":[..${HUGE}`);
  expect(await broken.json()).toMatchObject({ code: 'INVALID_JSON' });
});

test('a large integer in a message of MCP is refused with the id of the request', async () => {
  const child = startBuilt(project(), ['mcp']);
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const lines = createInterface({ input: child.stdout! });
  const task = `{"function":"write_file","params":{"path":"a","content":${HUGE}}}`;
  const call = `{"name":"run_batch","arguments":{"tasks":[${task}]}}`;
  child.stdin!.write(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${call}}\n`);
  const [line] = (await once(lines, 'line')) as [string];
  expect(JSON.parse(line)).toMatchObject({ id: 7, error: { code: -32602 } });
  expect(line).toContain('params.arguments.tasks[0].params.content');
});

test.each(
  casesOf(
    [
      '2021-02-30',
      '2021-02-29',
      '1900-02-29',
      '2021-04-31',
      '2021-13-01',
      '2021-01-01T24:00:00Z',
      '2021-02-30T10:00:00+01:00',
      '2021-02-30 10:00:00',
      '24:00:00',
    ],
    3,
  ),
)('TOML: %s is refused with its place', async (value) => {
  const text = `# ${value} in a comment is none\n${SHELLS.toml(value)}`;
  const { stdout } = await say(project({ 'tasks.toml': text }), ['add-batch', 'tasks.toml', '--json']);
  const { error } = JSON.parse(stdout) as { error: { code: string; message: string } };
  expect(error).toMatchObject({ code: 'INVALID_TASK_FILE' });
  expect(error.message).toContain(`tasks.toml:${placeOf(text, value)}: `);
});

test('TOML: a leap day is a date, and an impossible one in a string is a string', async () => {
  const task = (id: string, value: string) =>
    `[[tasks]]\nid = "${id}"\nfunction = "write_file"\nparams = { path = "${id}", content = ${value} }\n`;
  const folder = project({ 'tasks.toml': `${task('leap', '2020-02-29')}${task('text', '"2021-02-30"')}` });
  expect(await say(folder, ['run', 'tasks.toml'])).toMatchObject({ status: 0 });
  const { stdout } = await say(
    folder,
    ['run', '-', '--json', '--batch', 'read'],
    JSON.stringify(['leap', 'text'].map((path) => ({ id: path, function: 'read_file', params: { path } }))),
  );
  expect(stdout).toContain('"completed"');
});
