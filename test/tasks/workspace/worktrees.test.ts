import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { project, put } from '../support/feature.ts';
import { git, repository, subtask, useDifficultGit, worktrees } from './support.ts';

useDifficultGit();

const textOf = (folder: string, name: string) => readFileSync(join(folder, name), 'utf8');
const branches = (folder: string) => git(folder, 'branch', '--list', 'volley/*', '--format=%(refname:short)');

describe('a worktree', () => {
  test('delivers what was created, changed and removed, whether or not the agent commits it, and is removed then', async () => {
    const folder = repository({
      'a.txt': 'a\n',
      'b.txt': 'b\n',
      'dir/c.txt': 'c\n',
      '.gitignore': '*.log\n',
    });
    const { open } = await worktrees(folder);
    const workspace = await open();
    expect(workspace.branch).toBe('volley/auth/01');
    expect(workspace.folder).toBe(join(folder, '.volley/worktrees/auth-01'));

    put(workspace.folder, 'a.txt', 'committed by the agent\n');
    git(workspace.folder, 'commit', '-q', '-a', '-m', 'mine');
    put(workspace.folder, 'b.txt', 'b, crlf\r\n');
    put(workspace.folder, 'new/-ä "odd"\nname.txt', 'new');
    put(workspace.folder, 'x.log', 'ignored');
    rmSync(join(workspace.folder, 'dir'), { recursive: true });
    symlinkSync('a.txt', join(workspace.folder, 'dir'));
    const odd = 'new/-ä "odd"\nname.txt';
    expect(await workspace.changes()).toEqual(['a.txt', 'b.txt', 'dir', 'dir/c.txt', odd, 'x.log']);

    // Nothing of it is in the project before.
    expect(textOf(folder, 'a.txt')).toBe('a\n');
    expect(await workspace.deliver('auth 01: all of it\n\n# why')).toEqual({ ok: true });
    expect(await workspace.close()).toBeUndefined();

    expect(textOf(folder, 'a.txt')).toBe('committed by the agent\n');
    expect(textOf(folder, odd)).toBe('new');
    expect(textOf(folder, 'dir')).toBe('committed by the agent\n');
    expect(existsSync(join(folder, 'x.log'))).toBe(false);
    expect(git(folder, 'log', '-1', '--format=%B%an')).toBe('auth 01: all of it\n\n# why\nVolley');
    expect(git(folder, 'status', '--porcelain', '-unormal')).toBe('');
    expect(git(folder, 'worktree', 'list').split('\n')).toHaveLength(1);
    expect(branches(folder)).toBe('');
  });

  test('is made ready by the set-up, whose own files are neither changes nor delivered', async () => {
    const folder = repository({ 'lock.json': '1\n', '.gitignore': '.env\n' });
    const { open, end } = await worktrees(
      folder,
      'echo "$VOLLEY_SUBTASK in $VOLLEY_TASKS_PROJECT" > setup.txt && echo 2 > lock.json && touch .env',
    );
    onTestFinished(end);
    const workspace = await open();
    expect(textOf(workspace.folder, 'setup.txt')).toBe(`01 in ${folder}\n`);
    put(workspace.folder, 'work.txt', 'w');
    expect(await workspace.changes()).toEqual(['work.txt']);
    expect(await workspace.deliver('work')).toEqual({ ok: true });
    expect(await workspace.close()).toBeUndefined();
    expect(git(folder, 'show', '--name-only', '--format=', 'HEAD^2')).toBe('work.txt');
  });

  test('whose set-up fails is removed, and what it wrote is told', async () => {
    const folder = repository();
    const { open, end } = await worktrees(folder, "printf '\\033[31mno such\\033[0m package' >&2; exit 3");
    onTestFinished(end);
    await expect(open()).rejects.toThrow(/exit status 3: no such package/s);
    expect(readdirSync(join(folder, '.volley/worktrees'))).toEqual(['.gitignore']);
    expect(branches(folder)).toBe('');
  });

  test('shows a denied file that git ignores, and one that was committed and taken back', async () => {
    const folder = repository({ '.gitignore': '.env\n' });
    const { open } = await worktrees(folder);
    const workspace = await open();
    put(workspace.folder, '.env', 'x');
    put(workspace.folder, 'server.key', 'secret');
    git(workspace.folder, 'add', '-A');
    git(workspace.folder, 'commit', '-q', '-m', 'oops');
    git(workspace.folder, 'rm', '-q', 'server.key');
    git(workspace.folder, 'commit', '-q', '-m', 'nothing happened');
    expect(await workspace.changes()).toEqual(['.env', 'server.key']);
    // It holds commits that the project has not.
    expect(await workspace.close()).toBe(workspace.folder);
  });

  test('shows what is staged in folders that nobody looks into, and delivers it only as it was shown', async () => {
    const folder = repository({ '.gitignore': 'node_modules\n', 'node_modules/.kept/a.js': 'a\n' });
    git(folder, 'add', '-f', 'node_modules');
    git(folder, 'commit', '-q', '-m', 'second');
    const { open } = await worktrees(folder);
    const workspace = await open();
    put(workspace.folder, 'node_modules/.cache/b.js', 'b\n');
    put(workspace.folder, 'node_modules/.kept/a.js', 'changed\n');
    git(workspace.folder, 'add', '-f', 'node_modules');
    put(workspace.folder, 'node_modules/.gone/c.js', 'c\n');
    git(workspace.folder, 'add', '-f', 'node_modules/.gone');
    rmSync(join(workspace.folder, 'node_modules/.gone'), { recursive: true });
    expect(await workspace.changes()).toEqual([
      'node_modules/.cache/b.js',
      'node_modules/.gone/c.js',
      'node_modules/.kept/a.js',
    ]);
    expect(await workspace.deliver('staged')).toEqual({ ok: true });
    expect(git(folder, 'show', '--name-status', '--format=', 'HEAD^2')).toBe(
      'A\tnode_modules/.cache/b.js\nM\tnode_modules/.kept/a.js',
    );
    expect(await workspace.close()).toBeUndefined();
  });

  test('in which a denied file of such a folder is staged is not merged', async () => {
    const folder = repository();
    const { open } = await worktrees(folder);
    const workspace = await open();
    put(workspace.folder, 'a.txt', 'a\n');
    put(workspace.folder, 'node_modules/.cache/denied/b.js', 'b\n');
    git(workspace.folder, 'add', '-f', 'node_modules');
    expect(await workspace.deliver('denied')).toMatchObject({ ok: false });
    expect(await workspace.close()).toBe(workspace.folder);
  });

  test('leaves the tasks of the project alone, even if the agent commits its own copy', async () => {
    const folder = repository({ '.tmp/tasks/auth/task.json': '{}' });
    put(folder, '.tmp/tasks/auth/task.json', '{"claimed":true}');
    const { open } = await worktrees(folder);
    const workspace = await open();
    put(workspace.folder, '.tmp/tasks/auth/task.json', '{"forged":true}');
    put(workspace.folder, 'a.txt', 'a');
    git(workspace.folder, 'add', '-A');
    git(workspace.folder, 'commit', '-q', '-m', 'mine');
    expect(await workspace.changes()).toEqual(['a.txt']);
    expect(await workspace.deliver('work')).toEqual({ ok: true });
    expect(textOf(folder, '.tmp/tasks/auth/task.json')).toBe('{"claimed":true}');
  });

  test('of a project below the root of its repository shows what was touched above it', async () => {
    const root = repository({ 'packages/a/x.ts': 'x', 'packages/b/y.ts': 'y' });
    const { open } = await worktrees(join(root, 'packages/a'));
    const workspace = await open();
    expect(workspace.folder).toBe(join(root, 'packages/a/.volley/worktrees/auth-01/packages/a'));
    put(workspace.folder, 'x.ts', 'X');
    put(workspace.folder, '../b/y.ts', 'Y');
    put(workspace.folder, '.tmp/tasks/auth/task.json', 'x');
    expect(await workspace.changes()).toEqual(['../b/y.ts', 'x.ts']);
    expect(await workspace.deliver('work')).toEqual({ ok: true });
    expect(textOf(root, 'packages/b/y.ts')).toBe('Y');

    // Another project of the repository has a feature of this name, too.
    const other = await (await worktrees(join(root, 'packages/b'))).open();
    expect([other.branch, existsSync(workspace.folder)]).toEqual(['volley/auth/01.2', true]);
    expect(await workspace.close()).toBeUndefined();
  });
});

test('work in a submodule is not lost without a word: it is kept', async () => {
  const folder = repository();
  git(folder, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', repository(), 'sub');
  git(folder, 'commit', '-q', '-m', 'with a submodule');
  const update =
    'GIT_CONFIG_GLOBAL=/dev/null git -c protocol.file.allow=always submodule --quiet update --init';
  const { open, end } = await worktrees(folder, update);
  onTestFinished(end);
  const clean = await open();
  put(clean.folder, 'a.txt', 'a');
  expect(await clean.deliver('work')).toEqual({ ok: true });
  expect(await clean.close()).toBeUndefined();

  const workspace = await open(subtask('02'));
  put(workspace.folder, 'sub/README.md', 'changed');
  expect(await workspace.changes()).toEqual(['sub/README.md']);
  expect(await workspace.deliver('work')).toMatchObject({ text: expect.stringContaining('submodule') });
  expect(await workspace.close()).toBe(workspace.folder);
});

test('an agent that removes its whole worktree, or leaves its branch, harms nobody', async () => {
  const folder = repository();
  const { open } = await worktrees(folder);
  const [removed, left] = [await open(), await open(subtask('02'))];
  rmSync(removed.folder, { recursive: true });
  expect(await removed.close()).toBeUndefined();

  git(left.folder, 'switch', '-q', '-c', 'elsewhere');
  git(left.folder, 'branch', '-q', '-D', 'volley/auth/02');
  put(left.folder, 'a.txt', 'a');
  expect(await left.deliver('work')).toEqual({ ok: true });
  expect(await left.close()).toBeUndefined();
  expect(textOf(folder, 'a.txt')).toBe('a');
  expect([branches(folder), git(folder, 'worktree', 'list').split('\n').length]).toEqual(['', 1]);
});

test('work is delivered even if the agent left a lock, removed the link to its repository, or made another', async () => {
  const folder = repository();
  const { open } = await worktrees(folder);
  const [unlinked, own] = [await open(), await open(subtask('02'))];
  for (const [place, name] of [
    [unlinked.folder, 'a.txt'],
    [own.folder, 'b.txt'],
  ] as const) {
    put(place, name, 'work');
    rmSync(join(place, '.git'));
  }
  git(own.folder, 'init', '-q');
  git(own.folder, 'add', '-A');
  git(own.folder, 'commit', '-q', '-m', 'mine');
  // Its git was cut short.
  put(folder, '.git/worktrees/auth-01/index.lock', '');
  for (const one of [unlinked, own]) {
    expect(await one.deliver('work')).toEqual({ ok: true });
    expect(await one.close()).toBeUndefined();
  }
  expect(git(folder, 'ls-files').split('\n')).toEqual(['README.md', 'a.txt', 'b.txt']);
  expect(git(folder, 'status', '--porcelain', '-unormal')).toBe('');
  expect([branches(folder), git(folder, 'worktree', 'list').split('\n').length]).toEqual(['', 1]);
});

test('what the agent committed and then changed back is merged as it was left, for so it was verified', async () => {
  const folder = repository({ 'b.txt': '1\n', 'c.txt': 'c\n', 'd.txt': 'd\n', '.gitignore': '' });
  const { open } = await worktrees(folder);
  const workspace = await open();
  put(workspace.folder, 'junk.txt', 'junk');
  put(workspace.folder, 'b.txt', '2\n');
  rmSync(join(workspace.folder, 'c.txt'));
  put(workspace.folder, '.gitignore', 'd.txt\n');
  git(workspace.folder, 'rm', '-q', '--cached', 'd.txt');
  git(workspace.folder, 'add', '-A');
  git(workspace.folder, 'commit', '-q', '-m', 'mine');
  rmSync(join(workspace.folder, 'junk.txt'));
  put(workspace.folder, 'b.txt', '1\n');
  put(workspace.folder, 'c.txt', 'c\n');
  put(workspace.folder, 'staged.txt', 'junk');
  git(workspace.folder, 'add', 'staged.txt');
  rmSync(join(workspace.folder, 'staged.txt'));
  expect(await workspace.deliver('work')).toEqual({ ok: true });
  expect(await workspace.close()).toBeUndefined();
  // Git ignores d.txt by now.
  expect(git(folder, 'ls-files').split('\n')).toEqual(['.gitignore', 'b.txt', 'c.txt']);
  expect(textOf(folder, 'b.txt')).toBe('1\n');
});

test('a denied path that only the checks touched is not merged; one that git ignores stays behind', async () => {
  const folder = repository({ '.gitignore': '.env\n' });
  const { open } = await worktrees(folder);
  const [innocent, denied] = [await open(), await open(subtask('02'))];
  put(innocent.folder, 'a.txt', 'a');
  put(denied.folder, 'b.txt', 'b');
  expect(await denied.changes()).toEqual(['b.txt']);
  put(innocent.folder, '.env', 'x');
  put(denied.folder, '.env.local', 'x');
  expect(await innocent.deliver('work')).toEqual({ ok: true });
  expect(await denied.deliver('work')).toMatchObject({
    text: expect.stringContaining('.env.local'),
  });
  expect(git(folder, 'ls-files').split('\n')).toEqual(['.gitignore', 'a.txt']);
});

test('of a rebase that was not finished nothing is merged or lost', async () => {
  const folder = repository({ 'b.txt': '1\n' });
  const { open } = await worktrees(folder);
  const workspace = await open();
  for (const [path, text] of [
    ['b.txt', '2\n'],
    ['last.txt', 'last'],
  ] as const) {
    put(workspace.folder, path, text);
    git(workspace.folder, 'add', '-A');
    git(workspace.folder, 'commit', '-q', '-m', path);
  }
  put(folder, 'b.txt', '3\n');
  git(folder, 'commit', '-q', '-a', '-m', 'meanwhile');
  expect(() => git(workspace.folder, 'rebase', '-q', git(folder, 'branch', '--show-current'))).toThrow();
  expect(await workspace.deliver('work')).toMatchObject({
    text: expect.stringMatching(/rebase.*git merge/),
  });
  expect(await workspace.close()).toBe(workspace.folder);
  expect(git(folder, 'show', 'volley/auth/01:last.txt')).toBe('last');
  expect(textOf(folder, 'b.txt')).toBe('3\n');
});

describe('a conflict', () => {
  test('keeps both sides: the project as it is, and the work on its branch', async () => {
    const folder = repository({ 'same.txt': 'base\n' });
    const { open } = await worktrees(folder);
    const [one, two] = await Promise.all([open(subtask('01')), open(subtask('02'))]);
    put(one!.folder, 'same.txt', 'one\n');
    put(two!.folder, 'same.txt', 'two\n');
    put(two!.folder, 'other.txt', 'two\n');
    expect(await one!.deliver('one')).toEqual({ ok: true });
    const delivery = await two!.deliver('two');
    expect(delivery).toMatchObject({ ok: false, conflicts: ['same.txt'] });
    expect(delivery).toMatchObject({ text: expect.stringMatching(/same\.txt.*git merge volley\/auth\/02/s) });
    expect(await two!.close()).toBe(two!.folder);

    expect(git(folder, 'status', '--porcelain', '-unormal')).toBe('');
    expect(textOf(folder, 'same.txt')).toBe('one\n');
    expect(git(folder, 'show', 'volley/auth/02:same.txt')).toBe('two');

    // The next attempt gets another place.
    const again = await open(subtask('02'));
    expect(again.branch).toBe('volley/auth/02.2');
    expect(textOf(again.folder, 'same.txt')).toBe('one\n');
  });

  test('with a file that nobody committed leaves that file as it is', async () => {
    const folder = repository();
    const { open } = await worktrees(folder);
    const workspace = await open();
    put(workspace.folder, 'notes.txt', 'theirs');
    put(folder, 'notes.txt', 'mine');
    const delivery = await workspace.deliver('work');
    expect(delivery).toMatchObject({ ok: false, text: expect.stringContaining('notes.txt') });
    expect(textOf(folder, 'notes.txt')).toBe('mine');
    git(folder, 'switch', '-q', '-c', 'elsewhere');
    expect(await workspace.deliver('work')).toMatchObject({
      text: expect.stringContaining('now on elsewhere'),
    });
  });
});

describe('what a crash left behind', () => {
  test('is kept if it holds work, and removed if it does not', async () => {
    const folder = repository();
    const before = await worktrees(folder);
    const [, worked, committed] = await Promise.all(
      ['01', '02', '03'].map((seq) => before.open(subtask(seq))),
    );
    put(worked!.folder, 'half.txt', 'half');
    git(committed!.folder, 'commit', '-q', '--allow-empty', '-m', 'mine');

    const { open } = await worktrees(folder);
    const next = await Promise.all(['01', '02', '03'].map((seq) => open(subtask(seq))));
    expect(next.map(({ branch }) => branch)).toEqual([
      'volley/auth/01',
      'volley/auth/02.2',
      'volley/auth/03.2',
    ]);
    expect(textOf(worked!.folder, 'half.txt')).toBe('half');

    // One that was being made when it happened: no agent has been there.
    const unfinished = join(folder, '.volley/worktrees/auth-04');
    git(folder, 'worktree', 'add', '-q', '-b', 'volley/auth/04', unfinished);
    rmSync(join(unfinished, 'README.md'));
    expect((await open(subtask('04'))).branch).toBe('volley/auth/04');
    expect(existsSync(join(unfinished, 'README.md'))).toBe(true);
  });

  test('may be half of a merge, which is ended; but never one that the user has begun', async () => {
    const folder = repository({ 'same.txt': 'base\n' });
    const { open } = await worktrees(folder);
    const [workspace, other] = [await open(), await open(subtask('02'))];
    put(workspace.folder, 'same.txt', 'theirs\n');
    git(workspace.folder, 'commit', '-q', '-a', '-m', 'theirs');
    put(folder, 'same.txt', 'ours\n');
    git(folder, 'commit', '-q', '-a', '-m', 'ours');
    expect(() => git(folder, 'merge', '--no-ff', 'volley/auth/01')).toThrow();

    put(folder, 'same.txt', 'both, by hand\n');
    put(other.folder, 'other.txt', 'other\n');
    expect(await other.deliver('late')).toMatchObject({
      ok: false,
      text: expect.stringContaining('git merge --abort'),
    });
    await expect(worktrees(folder)).rejects.toThrow(/uncommitted changes.*\(same\.txt\)/);
    expect(textOf(folder, 'same.txt')).toBe('both, by hand\n');

    // As a crash leaves it.
    writeFileSync(join(folder, '.git/volley-merge'), git(folder, 'rev-parse', 'volley/auth/01'));
    await worktrees(folder);
    expect(textOf(folder, 'same.txt')).toBe('ours\n');
    expect(git(folder, 'status', '--porcelain')).toBe('');
    expect(existsSync(join(folder, '.git/volley-merge'))).toBe(false);
  });
});

test('many at once are made one after another, by two that know nothing of each other', async () => {
  const folder = repository();
  const [one, two] = [await worktrees(folder), await worktrees(folder)];
  const seqs = Array.from({ length: 6 }, (_, index) => String(index + 1).padStart(2, '0'));
  const all = await Promise.all(seqs.map((seq, index) => (index % 2 === 0 ? one : two).open(subtask(seq))));
  for (const [index, { folder: place }] of all.entries()) put(place, `${index}.txt`, 'x');
  expect(await Promise.all(all.map((each) => each.deliver('work')))).toEqual(all.map(() => ({ ok: true })));
  await Promise.all(all.map((each) => each.close()));
  expect(git(folder, 'ls-files').split('\n')).toHaveLength(7);
  expect(branches(folder)).toBe('');
}, 300_000);

describe('worktrees are refused at the start', () => {
  test.each<[string, () => string, RegExp]>([
    ['outside a repository', () => project(), /git init/],
    ['without a commit', () => emptyRepository(), /no commits/],
    ['without a branch', () => detached(), /no branch is checked out/],
    ['beside a branch that takes the place of theirs', () => namedLikeThem(), /branch named volley/],
    ['with changes that are not committed', () => dirty(), /\(README\.md\)\. Commit or stash/],
  ])('%s', async (_, make, message) => {
    const folder = make();
    await expect(worktrees(folder)).rejects.toMatchObject({
      code: 'WORKSPACE_UNAVAILABLE',
      message: expect.stringMatching(message),
    });
  });

  test('where git is missing', async () => {
    const folder = repository();
    const path = process.env['PATH'];
    onTestFinished(() => {
      process.env['PATH'] = path;
    });
    process.env['PATH'] = '/nowhere';
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    await expect(worktrees(folder)).rejects.toMatchObject({ code: 'WORKSPACE_UNAVAILABLE' });
    // Nothing holds the process up; a timer of those who run this test may be about to end.
    const deadline = performance.now() + 2000;
    while (timers() > before && performance.now() < deadline) await new Promise(setImmediate);
    expect(timers()).toBeLessThanOrEqual(before);
  });

  test('for a deliverable that git ignores, before the agent works for nothing', async () => {
    const folder = repository({ '.gitignore': 'dist/\n' });
    const { open } = await worktrees(folder);
    await expect(open(subtask('01', ['dist/', 'src/x.ts']))).rejects.toThrow(/Git ignores dist\/,/);
    expect(branches(folder)).toBe('');
  });
});

function emptyRepository(): string {
  const folder = project();
  git(folder, 'init', '-q');
  return folder;
}

function detached(): string {
  const folder = repository();
  git(folder, 'switch', '-q', '--detach');
  return folder;
}

function namedLikeThem(): string {
  const folder = repository();
  git(folder, 'branch', 'volley');
  return folder;
}

function dirty(): string {
  const folder = repository();
  put(folder, 'README.md', 'changed');
  put(folder, 'untracked.txt', 'does not matter');
  return folder;
}
