import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { say } from '../cli/support/program.ts';
import { project } from '../e2e/support/project.ts';
import { serveBuilt } from './support/built-server.ts';

interface Answer {
  readonly ok: boolean;
  readonly error?: {
    readonly code: string;
    readonly message: string;
    readonly details?: Record<string, unknown>;
  };
  readonly data?: { readonly results: readonly Record<string, unknown>[]; readonly warnings?: object[] };
}

const write = (content: string, id = 'copy') => ({
  id,
  function: 'write_file',
  params: { path: `${id}.txt`, content },
});
const READ = { id: 'page', function: 'read_file', params: { path: 'a.txt' } };
const LIST = { id: 'd', function: 'list_directory', params: { path: 'sub' } };

function folder(): string {
  return project({ 'a.txt': 'hello', 'sub/b.txt': '', 'sub/c.txt': '' });
}

async function ask(cwd: string, args: readonly string[], input?: unknown): Promise<Answer> {
  return JSON.parse((await say(cwd, [...args, '--json'], JSON.stringify(input))).stdout) as Answer;
}

/** Runs tasks to their end, and gives their results. */
async function run(cwd: string, tasks: readonly object[]): Promise<readonly Record<string, unknown>[]> {
  await say(cwd, ['run', '-', '--batch', 'x'], JSON.stringify(tasks));
  return (await ask(cwd, ['results', '--batch', 'x', '--format', 'json'])).data!.results;
}

test('a reference to a mistyped id is refused when it is added, with the id that was meant', async () => {
  const cwd = folder();
  const { ok, error } = await ask(cwd, ['add-batch', '-'], [READ, write('${pages.content}')]);
  expect(ok).toBe(false);
  expect(error).toMatchObject({ code: 'UNKNOWN_DEPENDENCY' });
  expect(error!.message).toContain('"page"');
  expect(error!.message).toContain('$${pages.content}');
  await ask(cwd, ['add-batch', '-', '--batch', 'x'], [READ]);
  const later = await ask(cwd, ['add-batch', '-', '--batch', 'x'], [write('${pages.content}')]);
  expect(later.error).toMatchObject({ code: 'UNKNOWN_DEPENDENCY' });
});

test('what is written with $$ is a literal, whether its id is known or not', async () => {
  const cwd = folder();
  const results = await run(cwd, [
    READ,
    write('$${pages.content} $${page} ${page.content}', 'mixed'),
    write('$${pages.content} $${page} $$${HOME}', 'plain'),
  ]);
  expect(results.map(({ status, warnings }) => [status, warnings])).toEqual(
    Array(3).fill(['completed', undefined]),
  );
  expect(readFileSync(join(cwd, 'mixed.txt'), 'utf8')).toBe('${pages.content} ${page} hello');
  expect(readFileSync(join(cwd, 'plain.txt'), 'utf8')).toBe('${pages.content} ${page} $${HOME}');
});

test('a placeholder that is left as it stands is written, and gives one warning with a count', async () => {
  const cwd = folder();
  const text = '{{page.content}} ${other.path} ${HOME} ${name} ${{ secrets.KEY }}';
  const [, copy] = await run(cwd, [READ, write(text)]);
  expect(copy).toMatchObject({ status: 'completed', warnings: [expect.stringMatching(/^3 placeholders/)] });
  expect(readFileSync(join(cwd, 'copy.txt'), 'utf8')).toBe(text);
});

test('variables of a shell and of scripts give no warning', async () => {
  const [home] = await run(folder(), [write('echo ${HOME} ${page:-1} $page ${#list} ${a}', 'home')]);
  expect(home).toMatchObject({ status: 'completed' });
  expect(home).not.toHaveProperty('warnings');
});

test('a warning is told when a task is added, at the end of a run, and over HTTP', async () => {
  const cwd = folder();
  const added = await ask(cwd, ['add-batch', '-'], [write('{{name}}')]);
  expect(added.data).toMatchObject({ warnings: [{ id: 'copy' }] });
  const { stdout } = await say(cwd, ['run', '-'], JSON.stringify([write('{{name}}')]));
  expect(stdout).toContain('Warnings');
  const server = await serveBuilt(cwd);
  const calls = [{ name: 'write_file', arguments: { path: 'b.txt', content: '{{name}}' } }];
  const answer = await server.request('/v1/execute', { method: 'POST', body: JSON.stringify({ calls }) });
  expect(await answer.json()).toMatchObject({
    results: [{ status: 'completed', warnings: [expect.any(String)] }],
  });
});

test('brackets lead into lists, from both ends, and to any key', async () => {
  const cwd = folder();
  await run(cwd, [
    LIST,
    write('${d.entries[0].path} ${d.entries[-1].path} ${d["entries"][0]["path"]} ${d.entries.1.path}'),
  ]);
  const text = readFileSync(join(cwd, 'copy.txt'), 'utf8');
  const [first, last, quoted, dotted] = text.split(' ');
  expect([first, quoted, last]).toEqual([expect.stringContaining('b.txt'), first, dotted]);
  expect(last).toContain('c.txt');
});

test.each([
  ['${d.entries[0.path}', 11],
  ['${d.entries[zero]}', 12],
  ['${d.}', 4],
  ['${d..path}', 4],
  ['${d.map(x => x[0])}', 15],
])('%s, a path that cannot be read, is refused when it is added', async (text) => {
  const { error } = await ask(folder(), ['add-batch', '-'], [LIST, write(text)]);
  expect(error).toMatchObject({ code: 'INVALID_ARGUMENTS' });
  expect(error!.message).toContain('content');
});
