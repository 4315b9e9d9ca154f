import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withFolderLock } from '../../../src/store/folder-lock.ts';
import { folderWith, say } from '../../cli/support/program.ts';
import { put } from '../support/feature.ts';
import { git, repository, subtask, useDifficultGit, worktrees } from './support.ts';

useDifficultGit();

const branches = (folder: string) =>
  git(folder, 'branch', '--list', 'volley/*', '--format=%(refname:short)').split('\n').filter(Boolean);
const places = (folder: string) =>
  readdirSync(join(folder, '.volley/worktrees')).filter((name) => name !== '.gitignore');
const ask = (folder: string, ...args: string[]) => say(folder, ['tasks', 'worktrees', ...args]);

/** 01 was merged by hand, 02 is committed, 03 is not, and of 04 only the branch is left. */
async function keptProject(): Promise<string> {
  const folder = repository({ 'same.txt': 'base\n', '.gitignore': '*.log\n' });
  put(folder, '.tmp/tasks/auth/task.json', '{}');
  const { open } = await worktrees(folder);
  for (const seq of ['01', '02', '03', '04']) {
    const { folder: place } = await open(subtask(seq));
    put(place, `${seq}.txt`, seq);
    put(place, 'ignored.log', 'x');
    if (seq === '03') continue;
    git(place, 'add', '-A');
    git(place, 'commit', '-q', '-m', seq);
  }
  git(folder, 'merge', '-q', '--ff', 'volley/auth/01');
  git(folder, 'worktree', 'remove', '--force', '.volley/worktrees/auth-04');
  return folder;
}

test('kept worktrees are shown with the work in them, and removed only with it where that is said', async () => {
  const folder = await keptProject();
  // A project with changes of its own, or without a branch, can be tidied, too.
  put(folder, 'same.txt', 'mine\n');
  const shown = await ask(folder);
  expect(shown).toMatchObject({ status: 0, stderr: '' });
  expect(shown.stdout.split('\n').slice(0, 5)).toEqual([
    '4 kept worktrees:',
    '  ✓ auth-01 (.volley/worktrees/auth-01; volley/auth/01): nothing that is not in trunk',
    '  ○ auth-02 (.volley/worktrees/auth-02; volley/auth/02): 1 commit not in trunk',
    '  ○ auth-03 (.volley/worktrees/auth-03; volley/auth/03): uncommitted: 03.txt',
    '  ○ auth-04 (folder is gone; volley/auth/04): 1 commit not in trunk',
  ]);
  expect(places(folder)).toHaveLength(3);

  git(folder, 'switch', '-q', '--detach');
  const removed = JSON.parse((await ask(folder, '--remove', '--json')).stdout);
  expect(removed.removed).toMatchObject([{ name: 'auth-01', commits: 0, changes: [] }]);
  expect(removed.worktrees).toMatchObject([{ commits: 1 }, { changes: ['03.txt'] }, { folder: null }]);
  expect(places(folder)).toEqual(['auth-02', 'auth-03']);
  expect(branches(folder)).toEqual(['volley/auth/02', 'volley/auth/03', 'volley/auth/04']);

  const tip = git(folder, 'rev-parse', 'volley/auth/02');
  const forced = await ask(folder, 'auth', '2', '--remove', '--force');
  expect(forced.stdout).toContain(`git branch rescued ${tip.slice(0, 12)}`);
  expect([places(folder), branches(folder)]).toEqual([['auth-03'], ['volley/auth/03', 'volley/auth/04']]);
  expect((await ask(folder, 'auth', '--remove', '--force')).stdout).toContain('No kept worktrees.');
  expect([places(folder), branches(folder)]).toEqual([[], []]);
  expect(git(folder, 'worktree', 'list').split('\n')).toHaveLength(1);
}, 180_000);

test('nothing is removed while its feature is run, or for a word too few', async () => {
  const folder = await keptProject();
  await withFolderLock(join(folder, '.tmp/tasks/auth'), async () => {
    const said = await ask(folder, '--remove');
    expect(said).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('auth is being run by process'),
    });
  });
  expect(await ask(folder, '--force')).toMatchObject({ status: 2 });
  expect(await ask(folder, '--remove', '--force')).toMatchObject({ status: 2 });
  expect(await ask(folder, 'auht', '--remove')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('"auth"?'),
  });
  expect([places(folder).length, branches(folder).length]).toEqual([3, 4]);

  // What cannot be looked at, and what was put there by others, may be work.
  mkdirSync(join(folder, '.volley/worktrees/auth-05'));
  put(folder, '.volley/worktrees/auth-06/notes.txt', 'mine');
  put(folder, '.volley/worktrees/auth-01/.git', 'gitdir: /nowhere');
  await ask(folder, '--remove');
  expect(places(folder)).toEqual(['auth-01', 'auth-02', 'auth-03', 'auth-06']);

  const bare = folderWith({ '.tmp/tasks/auth/task.json': '{}' });
  expect(await ask(bare, 'auth', '--remove')).toMatchObject({ status: 0, stdout: 'No kept worktrees.\n' });
  expect(existsSync(join(bare, '.volley'))).toBe(false);
}, 180_000);
