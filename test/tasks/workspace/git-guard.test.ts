import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { GitGuard } from '../../../src/tasks/workspace/git-guard.ts';
import { put } from '../support/feature.ts';
import { git, repository } from './support.ts';

describe('hooks and configuration of a repository', () => {
  it('are put back when they were changed, made or removed', async () => {
    const folder = repository();
    put(folder, '.git/hooks/pre-commit', 'exit 0');
    chmodSync(join(folder, '.git/hooks/pre-commit'), 0o755);
    put(folder, '.git/hooks/commit-msg', 'exit 0');
    const config = readFileSync(join(folder, '.git/config'), 'utf8');
    const guard = (await GitGuard.of(folder))!;
    expect(guard.putBack()).toEqual([]);

    git(folder, 'config', 'core.hooksPath', '/tmp/evil');
    writeFileSync(join(folder, '.git/hooks/pre-commit'), 'evil');
    rmSync(join(folder, '.git/hooks/commit-msg'));
    mkdirSync(join(folder, '.git/hooks/commit-msg'));
    symlinkSync('/bin/true', join(folder, '.git/hooks/post-checkout'));
    put(folder, '.git/info/attributes', '* filter=evil');
    put(folder, '.git/modules/sub/config', '[core]\n  fsmonitor = evil\n');
    put(folder, '.git/worktrees/w/commondir', '/tmp/evil');
    expect(guard.putBack()).toEqual([
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
    expect(guard.putBack()).toEqual([]);
  });

  it('may be changed as ordinary use does: which branch follows which, and who commits', async () => {
    const folder = repository();
    const guard = (await GitGuard.of(folder))!;
    git(folder, 'config', 'branch.aside.remote', '.');
    git(folder, 'config', 'user.name', 'Agent');
    const config = readFileSync(join(folder, '.git/config'), 'utf8');
    expect(guard.putBack()).toEqual([]);
    // What is put back later keeps that.
    git(folder, 'config', 'core.pager', 'evil');
    expect(guard.putBack()).toEqual(['.git/config']);
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
    expect(guard.putBack()).toEqual(['.git/config']);
  });

  it('include the folder that core.hooksPath names, wherever it is', async () => {
    const folder = repository();
    put(folder, 'scripts/hooks/pre-commit', 'exit 0');
    git(folder, 'config', 'core.hooksPath', 'scripts/hooks');
    const guard = (await GitGuard.of(folder))!;
    expect(guard.hooksInProject).toBe('scripts/hooks');
    put(folder, 'scripts/hooks/pre-commit', 'evil');
    put(folder, 'scripts/hooks/pre-push', 'evil');
    expect(guard.putBack()).toEqual(['scripts/hooks/pre-commit', 'scripts/hooks/pre-push']);
    expect(readFileSync(join(folder, 'scripts/hooks/pre-commit'), 'utf8')).toBe('exit 0');
  });

  it('of a folder without a repository are none', async () => {
    expect(await GitGuard.of('/')).toBeUndefined();
  });
});
