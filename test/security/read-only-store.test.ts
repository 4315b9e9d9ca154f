import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runBuilt } from '../e2e/support/built-volley.ts';
import { project } from '../e2e/support/project.ts';

test('a store on a read-only mount can be looked at, and what writes says why it cannot', async () => {
  const cwd = project({ 'a.txt': 'hello' });
  const input = JSON.stringify([{ id: 'a', function: 'read_file', params: { path: 'a.txt' } }]);
  expect(await runBuilt(cwd, ['run', '-', '--batch', 'x'], { input })).toMatchObject({ status: 0 });
  const folder = join(cwd, '.volley');
  // Holds for root, too, whom the modes of files do not stop.
  const before = ['bwrap', '--bind', '/', '/', '--dev', '/dev', '--ro-bind', folder, folder];
  for (const args of [
    ['status', '--batch', 'x'],
    ['results', '--batch', 'x'],
    ['list'],
    ['export', '--output-file', 'out.json', '--batch', 'x'],
    ['explain', 'a', '--batch', 'x'],
    ['watch', '--batch', 'x'],
  ]) {
    const { status, stderr } = await runBuilt(cwd, args, { before });
    expect([args[0], status, stderr.includes('STORE_UNAVAILABLE')]).toEqual([args[0], 0, false]);
  }
  const add = ['add', '--batch', 'x', '--function', 'read_file', '--params', '{"path":"a.txt"}', '--json'];
  const added = await runBuilt(cwd, add, { before });
  expect(JSON.parse(added.stdout)).toMatchObject({ ok: false, error: { code: 'STORE_UNAVAILABLE' } });
});
