import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { say } from '../cli/support/program.ts';
import { amount } from '../support/depth.ts';
import { DEFINE, type Ended, runBuilt } from './support/built-volley.ts';
import { project } from './support/project.ts';

const SLOW = { timeout: 180_000 };
const task = (fields: object) =>
  JSON.stringify([{ function: 'read_file', params: { path: 'a' }, ...fields }]);
const AT_ONCE = 3;

/** What is wrong, the command line, its standard input, and a part of the message. */
const TABLE: readonly (readonly [string, readonly string[], string | Uint8Array, string])[] = [
  ['nothing', ['run', '-'], '', 'standard input'],
  ['broken JSON', ['run', '-'], '[{"function": "read_file",}]', 'standard input:1:'],
  ['half a document', ['add-batch', '-'], '[{"function": "read_file"', 'standard input:1:'],
  ['broken text', ['run', '-'], new Uint8Array([0x5b, 0xff, 0xfe, 0x5d]), 'UTF-8'],
  ['a number', ['run', '-'], '17', 'a task must be an object'],
  ['no tasks', ['add-batch', '-'], '[]', 'no tasks'],
  ['an unknown field', ['run', '-'], task({ prams: {} }), 'did you mean "params"?'],
  ['a wrong type', ['run', '-'], task({ params: 'x' }), 'params must be an object'],
  ['an unknown priority', ['run', '-'], task({ priority: 'urgent' }), 'critical, high, normal'],
  ['a negative number', ['run', '-'], task({ max_retries: -1 }), 'at least 0'],
  ['a huge number', ['run', '-'], task({ timeout: 1e300 }), 'at most 2147483'],
  [
    'an id twice',
    ['run', '-'],
    JSON.stringify([1, 2].map(() => ({ id: 'x', function: 'list_directory' }))),
    '"x"',
  ],
  [
    'a cycle',
    ['run', '-'],
    JSON.stringify([
      { id: 'a', function: 'list_directory', depends_on: ['b'] },
      { id: 'b', function: 'list_directory', depends_on: ['a'] },
    ]),
    'a → b → a',
  ],
  ['an unknown function', ['run', '-'], task({ function: 'reed_file' }), 'did you mean read_file?'],
  ['NUL in a name', ['run', '-'], task({ name: 'a\0b' }), 'control characters'],
  [
    'half a character',
    ['run', '-'],
    '[{"function":"read_file","params":{"path":"a"},"id":"\\ud800"}]',
    'lone surrogates',
  ],
  [
    'more than 10 MB',
    ['run', '-'],
    task({ params: { path: 'x'.repeat(11 * 2 ** 20) } }),
    'the limit is 10 MB',
  ],
  ['an escape for a batch', ['start', '--batch', '\u001b[31m'], '', 'control characters'],
  ['a concurrency of 0', ['start', '--max-concurrent', '0'], '', 'at least 1'],
];

/** What depends on how the program reads: these start it; the others are typed in this process. */
const PIPED = new Set(['nothing', 'broken text', 'more than 10 MB']);

describe('the program', () => {
  it('answers whatever is wrong in a few lines, with status 2, and adds nothing', SLOW, async () => {
    const folder = project({});
    const ends = new Map<string, Ended>();
    const rows = [...TABLE];
    const runSome = async () => {
      for (let row = rows.shift(); row !== undefined; row = rows.shift()) {
        const [what, args, input] = row;
        const isPiped = PIPED.has(what);
        ends.set(what, await (isPiped ? runBuilt(folder, args, { input }) : say(folder, args, input)));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, runSome));
    for (const [what, , , message] of TABLE) {
      const { stderr, ...rest } = ends.get(what)!;
      expect({ what, stderr, ...rest }).toEqual({
        what,
        status: 2,
        stdout: '',
        stderr: expect.stringContaining(message),
      });
      expect(stderr).not.toMatch(/^\s+at /m);
      expect(stderr).not.toContain('\u001b');
      expect(stderr.length).toBeLessThan(2500);
    }
    expect((await say(folder, ['list', '--json'])).stdout).toContain('"batches":[]');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('takes very many tasks at once, and refuses more than 100,000', SLOW, async () => {
    const folder = project({});
    const count = amount({ quick: 5_000, deep: 100_000 });
    const add = (length: number) => {
      const tasks = Array.from({ length }, () => ({ function: 'list_directory' }));
      return say(folder, ['add-batch', '-'], JSON.stringify(tasks));
    };
    expect(await add(count)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(`Added ${count} tasks`),
    });
    const refused = await add(100_001);
    expect(refused).toMatchObject({ status: 2, stdout: '' });
    expect(refused.stderr).toContain('100000');
    expect(refused.stderr.length).toBeLessThan(500);
    expect((await say(folder, ['status'])).stdout).toContain(`${count} open`);
  });

  it('keeps odd names and large params as they are', SLOW, async () => {
    const odd = '‏שלום e\u0301\u0301 👩🏽‍🚀 𝕏';
    const content = `\0\ud800 ${odd}${'x'.repeat(9 * 2 ** 20)}`;
    const folder = project({
      'volley.toml': '[tools]\nmodules = ["./tools.mjs"]\n',
      'tools.mjs': `${DEFINE}\nexport const echo = defineTool({ name: 'echo', run: (input) => input });`,
      'work.json': JSON.stringify({
        batch: odd,
        tasks: [
          { id: odd, name: odd, function: 'echo', params: { [odd]: odd } },
          { id: 'large', function: 'echo', params: { content } },
        ],
      }),
    });
    expect(await runBuilt(folder, ['run', 'work.json'])).toMatchObject({ status: 0 });
    const resultOf = async (id: string) =>
      JSON.parse((await say(folder, ['results', '--batch', odd, '--id', id, '--json'])).stdout).data;
    expect(await resultOf(odd)).toMatchObject({ name: odd, status: 'completed', result: { [odd]: odd } });
    const { result_bytes, part } = await resultOf('large');
    expect(result_bytes).toBe(Buffer.byteLength(JSON.stringify({ content })));
    expect(JSON.stringify({ content }).startsWith(part)).toBe(true);
  });
});

it('says that the folder it runs in is gone', SLOW, async () => {
  const before = ['sh', '-c', 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', 'sh'];
  const folder = project();
  const said = await runBuilt(folder, ['list'], { before });
  expect(said).toMatchObject({ status: 2, stdout: '' });
  expect(said.stderr).toMatch(/^error: .* folder /);
  const { stdout } = await runBuilt(folder, ['list', '--json'], { before });
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: 'INVALID_VALUE' } });
});
