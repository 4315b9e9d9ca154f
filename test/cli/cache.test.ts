import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { folderWith, say } from './support/program.ts';

const FILES = ['a.ts', 'b.ts', 'c.ts'];
const tasks = JSON.stringify(
  FILES.map((file_path) => ({ id: file_path, function: 'code_analyzer_tool', params: { file_path } })),
);

function project(): string {
  return folderWith({ 'tasks.json': tasks, ...Object.fromEntries(FILES.map((name) => [name, name])) });
}

const run = (folder: string, batch: string, ...options: string[]) =>
  say(folder, ['run', 'tasks.json', '--batch', batch, ...options]);

it('run says how many results came from the cache, and runs only what has changed', async () => {
  const folder = project();
  expect((await run(folder, 'one')).stdout).not.toContain('cache');
  const second = await run(folder, 'two', '--verbose');
  expect(second.stdout).toContain('3 of 3 from cache; nothing had to run');
  expect(second.stderr).toContain('✓ a.ts (code_analyzer_tool) from cache');
  writeFileSync(join(folder, 'b.ts'), 'changed');
  expect((await run(folder, 'three')).stdout).toContain('2 of 3 from cache\n');
  expect((await run(folder, 'four', '--no-cache')).stdout).not.toContain('from cache');
  expect((await run(folder, 'five', '--force')).stdout).not.toContain('from cache');
  const { stdout } = await run(folder, 'six', '--json');
  expect(JSON.parse(stdout).data).toMatchObject({ cached: 3, counts: { completed: 3 } });
  expect((await say(folder, ['status', '--batch', 'six'])).stdout).toContain('3 completed (3 from cache)');
  expect((await say(folder, ['explain', 'a.ts', '--batch', 'six'])).stdout).toContain('from the cache');
});

it('cache shows what is cached, and deletes it', async () => {
  const folder = project();
  expect((await say(folder, ['cache'])).stdout).toContain('0 cached results');
  await run(folder, 'one');
  const shown = await say(folder, ['cache']);
  expect(shown).toMatchObject({ status: 0, stderr: '' });
  expect(shown.stdout).toContain('3 cached results');
  expect(shown.stdout).toMatch(/^ {2}code_analyzer_tool {2}3 {2}\d+ bytes, last used/m);
  expect(JSON.parse((await say(folder, ['cache', '--json'])).stdout)).toMatchObject({
    ok: true,
    enabled: true,
    results: 3,
    max_mb: 256,
    max_age_days: 30,
    functions: [{ function: 'code_analyzer_tool', results: 3, bytes: expect.any(Number) }],
  });
  expect((await say(folder, ['cache', 'clear', '--json'])).stdout).toContain('"cleared":3');
  expect((await say(folder, ['cache'])).stdout).toContain('0 cached results');
  expect((await run(folder, 'two')).stdout).not.toContain('from cache');
  expect((await say(folder, ['cache', 'clean'])).status).toBe(2);
});

it('cache says that it is off, or why it cannot work', async () => {
  const folder = folderWith({ 'volley.toml': '[cache]\nenabled = false\n' });
  expect((await say(folder, ['cache'])).stdout).toContain('The cache is off');
  const home = { XDG_CONFIG_HOME: join(project(), 'a.ts') };
  expect((await say(project(), ['cache'], '', undefined, home)).stdout).toContain('Nothing is cached');
});
