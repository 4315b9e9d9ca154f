import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { GitGuard } from '../../src/git/git-guard.ts';
import { project, put } from '../tasks/support/feature.ts';
import { git, repository } from '../tasks/workspace/support.ts';

describe('hooks and configuration of a repository', () => {
  it('are put back when they were changed, made or removed', async () => {
    const folder = repository();
    put(folder, '.git/hooks/pre-commit', 'exit 0');
    chmodSync(join(folder, '.git/hooks/pre-commit'), 0o755);
    put(folder, '.git/hooks/commit-msg', 'exit 0');
    const config = readFileSync(join(folder, '.git/config'), 'utf8');
    const guard = (await GitGuard.of(folder))!;
    expect((await guard.restore()).paths).toEqual([]);

    git(folder, 'config', 'core.hooksPath', '/tmp/evil');
    writeFileSync(join(folder, '.git/hooks/pre-commit'), 'evil');
    rmSync(join(folder, '.git/hooks/commit-msg'));
    mkdirSync(join(folder, '.git/hooks/commit-msg'));
    symlinkSync('/bin/true', join(folder, '.git/hooks/post-checkout'));
    put(folder, '.git/info/attributes', '* filter=evil');
    put(folder, '.git/modules/sub/config', '[core]\n  fsmonitor = evil\n');
    put(folder, '.git/worktrees/w/commondir', '/tmp/evil');
    expect((await guard.restore()).paths).toEqual([
      '.git/config',
      '.git/hooks/commit-msg',
      '.git/hooks/post-checkout',
      '.git/hooks/pre-commit',
      '.git/info/attributes',
      '.git/modules/sub/config',
      '.git/worktrees/w/commondir',
    ]);
    expect(readFileSync(join(folder, '.git/config'), 'utf8')).toBe(config);
    expect(readFileSync(join(folder, '.git/hooks/pre-commit'), 'utf8')).toBe('exit 0');
    expect(readFileSync(join(folder, '.git/hooks/commit-msg'), 'utf8')).toBe('exit 0');
    expect(existsSync(join(folder, '.git/hooks/post-checkout'))).toBe(false);
    expect(existsSync(join(folder, '.git/info/attributes'))).toBe(false);
    expect(readFileSync(join(folder, '.git/worktrees/w/commondir'), 'utf8')).toBe('../..\n');
    expect((await guard.restore()).paths).toEqual([]);
  });

  it('may be changed as ordinary use does: which branch follows which, and who commits', async () => {
    const folder = repository();
    const guard = (await GitGuard.of(folder))!;
    git(folder, 'config', 'branch.aside.remote', '.');
    git(folder, 'config', 'user.name', 'Agent');
    const config = readFileSync(join(folder, '.git/config'), 'utf8');
    expect((await guard.restore()).paths).toEqual([]);
    // What is put back later keeps that.
    git(folder, 'config', 'core.pager', 'evil');
    expect((await guard.restore()).paths).toEqual(['.git/config']);
    expect(readFileSync(join(folder, '.git/config'), 'utf8')).toBe(config);
  });

  it.each([
    '[user] [core]\n\tpager = evil\n',
    '[user][core] pager = evil\n',
    '[branch "a"] [core] pager = evil\n',
    '[user]\n\tname = x\n[include] path = /tmp/evil\n',
    '[branch "a"]\n\tremote = .\n\t[core] pager = evil\n',
  ])('%j is not taken for ordinary use', async (text) => {
    const folder = repository();
    const guard = (await GitGuard.of(folder))!;
    const file = join(folder, '.git/config');
    writeFileSync(file, `${readFileSync(file, 'utf8')}${text}`);
    expect((await guard.restore()).paths).toEqual(['.git/config']);
  });

  it('include the folder that core.hooksPath names, wherever it is', async () => {
    const folder = repository();
    put(folder, 'scripts/hooks/pre-commit', 'exit 0');
    git(folder, 'config', 'core.hooksPath', 'scripts/hooks');
    const guard = (await GitGuard.of(folder))!;
    expect(guard.hooksInProject).toBe('scripts/hooks');
    put(folder, 'scripts/hooks/pre-commit', 'evil');
    put(folder, 'scripts/hooks/pre-push', 'evil');
    expect((await guard.restore()).paths).toEqual(['scripts/hooks/pre-commit', 'scripts/hooks/pre-push']);
    expect(readFileSync(join(folder, 'scripts/hooks/pre-commit'), 'utf8')).toBe('exit 0');
  });

  it.each(['.git/hooks', '.git/info', '.git/modules', '.git/worktrees', 'scripts', 'scripts/hooks'])(
    'are restored beside a link in the place of %s, which is not followed',
    async (place) => {
      const folder = repository();
      put(folder, 'scripts/hooks/pre-commit', 'exit 0');
      put(folder, '.git/hooks/pre-commit', 'exit 0');
      put(folder, '.git/info/attributes', '* text');
      git(folder, 'config', 'core.hooksPath', 'scripts/hooks');
      const files = { 'hooks/mine': '1', mine: '1', 'sub/config': '1', 'w/commondir': '1', attributes: '1' };
      const victim = project(files);
      const guard = (await GitGuard.of(folder))!;
      rmSync(join(folder, place), { recursive: true, force: true });
      symlinkSync(victim, join(folder, place));
      expect(await guard.restore()).toMatchObject({ paths: [place], problems: [] });
      expect(lstatSync(join(folder, place), { throwIfNoEntry: false })?.isSymbolicLink()).not.toBe(true);
      expect(readFileSync(join(folder, 'scripts/hooks/pre-commit'), 'utf8')).toBe('exit 0');
      expect(readFileSync(join(folder, '.git/hooks/pre-commit'), 'utf8')).toBe('exit 0');
      expect(readFileSync(join(folder, '.git/info/attributes'), 'utf8')).toBe('* text');
      expect(readdirSync(victim).sort()).toEqual(['attributes', 'hooks', 'mine', 'sub', 'w']);
      for (const [name, text] of Object.entries(files))
        expect(readFileSync(join(victim, name), 'utf8')).toBe(text);
      expect(await guard.restore()).toMatchObject({ paths: [], problems: [] });
    },
  );

  it('may be reached by a link that was there before', async () => {
    const folder = repository();
    put(folder, 'shared/pre-commit', 'exit 0');
    rmSync(join(folder, '.git/hooks'), { recursive: true });
    symlinkSync('../shared', join(folder, '.git/hooks'));
    const guard = (await GitGuard.of(folder))!;
    expect(await guard.restore()).toMatchObject({ paths: [], problems: [] });
    put(folder, 'shared/pre-commit', 'evil');
    rmSync(join(folder, '.git/hooks'));
    put(folder, '.git/hooks/pre-push', 'evil');
    expect((await guard.restore()).paths).toEqual(['.git/hooks', 'shared/pre-commit']);
    expect(readFileSync(join(folder, '.git/hooks/pre-commit'), 'utf8')).toBe('exit 0');
  });

  it('are restored one by one: a file or a pipe in the place of a folder stops nothing', async () => {
    const folder = repository();
    put(folder, '.git/hooks/pre-commit', 'exit 0');
    const guard = (await GitGuard.of(folder))!;
    git(folder, 'config', 'core.fsmonitor', 'evil');
    rmSync(join(folder, '.git/hooks'), { recursive: true });
    writeFileSync(join(folder, '.git/hooks'), '');
    rmSync(join(folder, '.git/info'), { recursive: true });
    execFileSync('mkfifo', [join(folder, '.git/info'), join(folder, '.git/commondir')]);
    expect(await guard.restore()).toMatchObject({
      paths: ['.git/commondir', '.git/config', '.git/hooks', '.git/info'],
      problems: [],
    });
    expect(readFileSync(join(folder, '.git/hooks/pre-commit'), 'utf8')).toBe('exit 0');
    expect(git(folder, 'status', '--short')).toBe('');
  });

  /** A command of git that leaves a mark. */
  const fsmonitor = (folder: string) => `touch ${join(folder, 'pwned')}; false`;

  it('are not read elsewhere: commondir is removed', async () => {
    const folder = repository();
    const guard = (await GitGuard.of(folder))!;
    const evil = project();
    cpSync(join(folder, '.git'), evil, { recursive: true });
    git(folder, 'config', '-f', join(evil, 'config'), 'core.fsmonitor', fsmonitor(folder));
    put(folder, '.git/commondir', evil);
    expect(await guard.restore()).toMatchObject({ paths: ['.git/commondir'], problems: [] });
    expect(git(folder, 'status', '--short')).toBe('');
  });

  it.each(['file', 'link', 'nothing'])('survive that .git is moved and %s is put there', async (what) => {
    const folder = repository();
    const guard = (await GitGuard.of(folder))!;
    renameSync(join(folder, '.git'), join(folder, '.git2'));
    cpSync(join(folder, '.git2'), join(folder, 'evil'), { recursive: true });
    git(folder, 'config', '-f', 'evil/config', 'core.fsmonitor', fsmonitor(folder));
    if (what === 'file') put(folder, '.git', 'gitdir: evil\n');
    if (what === 'link') symlinkSync('evil', join(folder, '.git'));
    const { paths, problems } = await guard.restore();
    expect(paths).toEqual(['.git']);
    expect(problems).toHaveLength(what === 'nothing' ? 0 : 1);
    expect(lstatSync(join(folder, '.git')).isDirectory()).toBe(true);
    expect(existsSync(join(folder, '.git2'))).toBe(false);
    const aside = lstatSync(join(folder, '.volley/rejected-git-1'), { throwIfNoEntry: false });
    expect(aside !== undefined).toBe(what !== 'nothing');
    rmSync(join(folder, 'evil'), { recursive: true });
    rmSync(join(folder, '.volley'), { recursive: true, force: true });
    expect(git(folder, 'status', '--short')).toBe('');
  });

  it('cannot be restored when the repository was removed, which is said', async () => {
    const folder = repository();
    const guard = (await GitGuard.of(folder))!;
    rmSync(join(folder, '.git'), { recursive: true });
    put(folder, '.git', 'gitdir: evil\n');
    const { paths, problems } = await guard.restore();
    expect(paths).toEqual(['.git']);
    expect(problems.join()).toContain('cannot be restored');
    expect(existsSync(join(folder, '.git'))).toBe(false);
  });

  it('of a submodule are restored, and what leads to them', async () => {
    const [inner, folder] = [repository(), repository()];
    git(folder, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner, 'lfs');
    git(folder, 'commit', '-qm', 'submodule');
    const guard = (await GitGuard.of(folder))!;
    expect(await guard.restore()).toMatchObject({ paths: [], problems: [] });
    cpSync(join(folder, '.git/modules/lfs'), join(folder, 'evil'), { recursive: true });
    git(folder, 'config', '-f', 'evil/config', 'core.fsmonitor', fsmonitor(folder));
    git(folder, 'config', '-f', '.git/modules/lfs/config', 'core.fsmonitor', fsmonitor(folder));
    const link = readFileSync(join(folder, 'lfs/.git'), 'utf8');
    put(folder, 'lfs/.git', 'gitdir: ../evil\n');
    expect((await guard.restore()).paths).toEqual(['.git/modules/lfs/config', 'lfs/.git']);
    expect(readFileSync(join(folder, 'lfs/.git'), 'utf8')).toBe(link);
    rmSync(join(folder, 'lfs'), { recursive: true });
    expect(await guard.restore()).toMatchObject({ paths: [], problems: [] });
  });

  it('of a repository that an agent adds as a submodule are set aside', async () => {
    const folder = repository();
    const guard = (await GitGuard.of(folder))!;
    put(folder, 'evil/a', '1');
    git(join(folder, 'evil'), 'init', '-q');
    git(join(folder, 'evil'), 'add', '-A');
    git(join(folder, 'evil'), 'commit', '-qm', 'first');
    git(folder, 'add', 'evil');
    expect((await guard.restore()).paths).toEqual(['evil/.git']);
    expect(existsSync(join(folder, 'evil/.git'))).toBe(false);
  });

  it('of a folder without a repository are none', async () => {
    expect(await GitGuard.of('/')).toBeUndefined();
  });
});
