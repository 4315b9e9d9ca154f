import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { deniedAmong } from '../../../src/agents/denied-paths.ts';
import { Repository } from '../../../src/git/repository.ts';
import { createLauncher } from '../../../src/runners/process/helper-launcher.ts';
import type { Subtask } from '../../../src/tasks/files/feature.ts';
import type { Workspace } from '../../../src/tasks/workspace/workspace.ts';
import { gitWorktrees } from '../../../src/tasks/workspace/worktrees.ts';
import { feature, project } from '../support/feature.ts';

/** What users have in their settings, all at once: much of it refuses, asks or changes the output. */
const SETTINGS = `
[user]
  useConfigOnly = true
[commit]
  gpgSign = true
[core]
  safecrlf = true
  autocrlf = input
  quotePath = true
[merge]
  ff = only
  autoStash = true
[status]
  showUntrackedFiles = no
[log]
  showSignature = true
[init]
  defaultBranch = trunk
`;

/** Git as a difficult user has it, for all tests of a file. */
export function useDifficultGit(): void {
  let home: string;
  const { GIT_CONFIG_GLOBAL, GIT_CONFIG_NOSYSTEM } = process.env;
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'volley-git-'));
    for (const hook of ['pre-commit', 'commit-msg', 'post-checkout', 'pre-merge-commit']) {
      writeFileSync(join(home, hook), '#!/bin/sh\nexit 1\n');
      chmodSync(join(home, hook), 0o755);
    }
    writeFileSync(join(home, 'config'), `${SETTINGS}\n[core]\n  hooksPath = ${home}\n`);
    process.env['GIT_CONFIG_GLOBAL'] = join(home, 'config');
    process.env['GIT_CONFIG_NOSYSTEM'] = '1';
  });
  afterAll(() => {
    for (const [name, value] of Object.entries({ GIT_CONFIG_GLOBAL, GIT_CONFIG_NOSYSTEM })) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    rmSync(home, { recursive: true, force: true });
  });
}

/** As a user would call it who knows how to get around those settings. */
export function git(folder: string, ...args: readonly string[]): string {
  const settings = [
    'core.hooksPath=/dev/null',
    'commit.gpgSign=false',
    'user.name=U',
    'user.email=u@localhost',
  ];
  const all = [...settings.flatMap((one) => ['-c', one]), ...args];
  return execFileSync('git', all, {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();
}

/** A repository with these files in its first commit. */
export function repository(files: Readonly<Record<string, string>> = { 'README.md': 'hello\n' }): string {
  const folder = project(files);
  git(folder, 'init', '-q');
  git(folder, 'add', '-A');
  git(folder, 'commit', '-q', '-m', 'first');
  return folder;
}

export function subtask(seq: string, deliverables: readonly string[] = []): Subtask {
  return feature({ [seq]: { deliverables } }).subtasks[0]!;
}

export const never = new AbortController().signal;

export async function worktrees(folder: string, setup?: string) {
  const launcher = createLauncher();
  const places = await gitWorktrees({
    repository: await Repository.open(folder),
    ...{
      project: folder,
      feature: 'auth',
      setup,
      denied: { among: (paths: readonly string[]) => deniedAmong(paths, ['.env*', '**/denied/**']) },
    },
    launcher: () => launcher,
  });
  return {
    open: (one: Subtask = subtask('01')): Promise<Workspace> => places.open(one, never),
    leftover: places.leftover,
    end: () => launcher.close(),
  };
}
