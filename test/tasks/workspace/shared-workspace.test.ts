import { appendFileSync, chmodSync, rmSync, statSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { deniedAmong } from '../../../src/agents/denied-paths.ts';
import { sharedWorkspaces } from '../../../src/tasks/workspace/shared-workspace.ts';
import { fileStateOf } from '../../../src/tasks/workspace/snapshot.ts';
import { project, put } from '../support/feature.ts';
import { git, never, repository, subtask, useDifficultGit } from './support.ts';

useDifficultGit();

describe('what changed in a shared project', () => {
  test('is told by content: made, changed, removed, made executable, and links, but not what was only touched', async () => {
    const folder = project({
      'a.txt': 'aaaa',
      'b.txt': 'b',
      'c.txt': 'c',
      'd.sh': 'd',
      'e.txt': 'e',
      'f.txt': 'f',
    });
    const workspace = await sharedWorkspaces(folder).open(subtask('01'), never);

    put(folder, 'new/ä "odd"\nname.txt', 'n');
    const { atime, mtime } = statSync(join(folder, 'a.txt'));
    put(folder, 'a.txt', 'AAAA');
    // As large as before and, as far as can be set, as old.
    utimesSync(join(folder, 'a.txt'), atime, mtime);
    rmSync(join(folder, 'b.txt'));
    chmodSync(join(folder, 'd.sh'), 0o755);
    symlinkSync('c.txt', join(folder, 'link'));
    utimesSync(join(folder, 'e.txt'), new Date(), new Date());
    put(folder, 'f.txt', 'x');
    put(folder, 'f.txt', 'f');

    expect(await workspace.changes()).toEqual(['a.txt', 'b.txt', 'd.sh', 'link', 'new/ä "odd"\nname.txt']);
  });

  test("leaves out Volley's own files and caches, but sees that a package was changed in place", async () => {
    const folder = project({ 'node_modules/left-pad/index.js': 'pad', '.tmp/tasks/auth/task.json': '{}' });
    const workspace = await sharedWorkspaces(folder).open(subtask('01'), never);

    put(folder, '.tmp/tasks/auth/task.json', '{"x":1}');
    put(folder, '.volley/volley.db', 'x');
    put(folder, 'node_modules/.cache/x.json', 'x');
    const { atime, mtime } = statSync(join(folder, 'node_modules/left-pad/index.js'));
    put(folder, 'node_modules/left-pad/index.js', 'bad');
    utimesSync(join(folder, 'node_modules/left-pad/index.js'), atime, mtime);

    const changes = await workspace.changes();
    expect(changes).toEqual(['node_modules/left-pad/index.js']);
    expect(deniedAmong(changes, ['node_modules/**'])).toEqual(changes);
  });

  test('is of the one that delivers it, and of all that ran where nobody does', async () => {
    const folder = project();
    const workspaces = sharedWorkspaces(folder);
    const [one, two] = await Promise.all([
      workspaces.open(subtask('01', ['src/one.ts']), never),
      workspaces.open(subtask('02', ['src/two/']), never),
    ]);

    put(folder, 'src/one.ts', '1');
    put(folder, 'src/two/index.ts', '2');
    put(folder, 'notes.md', 'whose?');
    expect(await one!.changes()).toEqual(['notes.md', 'src/one.ts']);
    await one!.close();
    // It has ended, but it was there.
    expect(await two!.changes()).toEqual(['notes.md', 'src/two/index.ts']);

    const three = await workspaces.open(subtask('03', ['src/two/']), never);
    expect(await three.changes()).toEqual([]);
  });
});

test('what was read of a file that had just been changed is not trusted later, for the next change may bear the same time', () => {
  const folder = project({ a: 'a' });
  const stats = statSync(join(folder, 'a'));
  const at = Math.max(stats.mtimeMs, stats.ctimeMs);
  const [fresh, settled] = [at + 1, at + 10_000].map((now) => ({
    ...fileStateOf(stats, undefined, now),
    hash: 'x',
  }));
  expect(fileStateOf(stats, fresh, at + 10_000).hash).toBeUndefined();
  expect(fileStateOf(stats, settled, at + 20_000).hash).toBe('x');
});

describe('git in a shared project', () => {
  test('may be used as usual', async () => {
    const folder = repository();
    const workspace = await sharedWorkspaces(folder).open(subtask('01'), never);
    put(folder, 'a.txt', 'a');
    git(folder, 'add', '-A');
    git(folder, 'commit', '-q', '-m', 'mine');
    git(folder, 'switch', '-q', '-c', 'aside');
    git(folder, 'config', 'branch.aside.remote', '.');
    git(folder, 'config', 'user.name', 'Agent');
    git(folder, 'pack-refs', '--all');
    git(folder, 'switch', '-q', '-');

    expect(await workspace.changes()).toEqual(['a.txt']);
  });

  test('shows that branches of others were changed', async () => {
    const folder = repository();
    git(folder, 'branch', 'theirs');
    git(folder, 'branch', 'ahead');
    const workspace = await sharedWorkspaces(folder).open(subtask('01'), never);
    git(folder, 'branch', '-D', 'theirs');
    // Somebody goes on working elsewhere.
    const next = git(folder, 'commit-tree', '-p', 'HEAD', '-m', 'next', 'HEAD^{tree}');
    git(folder, 'update-ref', 'refs/heads/ahead', next);

    const changes = await workspace.changes();
    expect(changes).toEqual(['.git/refs/heads/theirs']);
    expect(deniedAmong(changes, ['.git/**'])).toEqual(changes);
  });
});

test('denied paths are globs, paths and folders, in upper and lower case', () => {
  const touched = [
    '.env',
    'a/b/.env.local',
    'A/KEYS/Server.KEY',
    'secrets/x/y',
    '../up/.env',
    'src/env.ts',
    'key.ts',
  ];
  expect(deniedAmong(touched, ['**/*.env*', '**/*.key', 'secrets'])).toEqual([
    '.env',
    'a/b/.env.local',
    'A/KEYS/Server.KEY',
    'secrets/x/y',
    '../up/.env',
  ]);
  expect(deniedAmong(touched, [])).toEqual([]);
});

test('many that ask at once share the look at many files', async () => {
  const folder = project();
  for (let i = 0; i < 1000; i++) put(folder, `${i % 10}/${i}.txt`, String(i));
  const workspaces = sharedWorkspaces(folder);
  const all = await Promise.all(Array.from({ length: 30 }, () => workspaces.open(subtask('01'), never)));
  appendFileSync(join(folder, '7/7.txt'), '!');
  const changes = await Promise.all(all.map((one) => one.changes()));
  expect(changes).toEqual(all.map(() => ['7/7.txt']));
});
