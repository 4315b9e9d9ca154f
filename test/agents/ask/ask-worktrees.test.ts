import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { AgentWorktrees } from '../../../src/agents/agent-worktrees.ts';
import { defaultConfig } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { createFullCoordinator } from '../../../src/mcp/open-coordinator.ts';
import { git, never, repository, useDifficultGit } from '../../tasks/workspace/support.ts';

useDifficultGit();

/** Runs the first line of its prompt; the rest is in `$prompt`. What it prints is its answer. */
const CONFIG = `
[tools.ask_agent]
enabled = true
worktrees = true
[tasks]
agent = "doer"
[tasks.agents.doer]
command = ["/bin/sh", "-c", 'IFS= read -r script; prompt=$(cat); eval "$script"']
`;
const FILES = { 'a.txt': 'one\ntwo\n', 'b.txt': 'b\n', 'sub/c.txt': 'c\n', '.gitignore': 'ignored\n' };

async function askingIn(folder: string, config = CONFIG) {
  const at = join(folder, '..', `config-${Math.random().toString(36).slice(2)}.toml`);
  writeFileSync(at, `${config}\n[limits]\nmax_concurrency = 100\n`);
  onTestFinished(() => rmSync(at, { force: true }));
  const { config: loaded } = await loadConfig({ cwd: folder, file: at, env: {}, trusted: true });
  const coordinator = await createFullCoordinator(
    { ...loaded, tools: { ...loaded.tools, roots: [folder] } },
    process.env,
  );
  onTestFinished(() => coordinator.close({ cancel: true }));
  let calls = 0;
  return (script: string, args: object = {}, options: object = {}) =>
    coordinator.executeSingle({
      id: `call-${++calls}`,
      name: 'ask_agent',
      arguments: { prompt: `${script}\nPlease.`, mode: 'worktree', ...args },
      retry: { maxRetries: 0 },
      ...options,
    });
}

function leftIn(folder: string) {
  const asks = join(folder, '.volley/asks');
  return {
    folders: existsSync(asks) ? readdirSync(asks).filter((name) => name !== '.gitignore') : [],
    branches: git(folder, 'for-each-ref', '--format=%(refname:short)', 'refs/heads/volley')
      .split('\n')
      .filter(Boolean),
    worktrees: git(folder, 'worktree', 'list').split('\n').length - 1,
  };
}

interface AskResult {
  readonly answer: unknown;
  readonly changes: { readonly branch: string; readonly commit: string };
}

const NOTHING = { folders: [], branches: [], worktrees: 0 };

test('what an agent changes, however it does, is one commit on a branch, and the checkout stays as it is', async () => {
  const folder = repository(FILES);
  const before = git(folder, 'rev-parse', 'HEAD');
  const ask = await askingIn(folder);
  const script = [
    'echo three >>a.txt; git add a.txt; git -c user.name=A -c user.email=a@b commit -qnm mine',
    'git checkout -q -b elsewhere-$$ 2>/dev/null; git update-index --assume-unchanged sub/c.txt',
    'echo changed >sub/c.txt; rm b.txt; mkdir b.txt; echo x >b.txt/new; echo no >ignored; mkdir -p .volley; echo no >.volley/x',
    'git init -q nested; touch index.lock; echo done',
  ].join('; ');
  const result = await ask(script, { files: ['a.txt'] });
  expect(result).toMatchObject({
    status: 'completed',
    value: {
      answer: 'done',
      agent: 'doer',
      changes: {
        base: before,
        branch: expect.stringMatching(/^volley\/ask\/[0-9a-f]{8}\/a-txt$/),
        files: [
          { path: 'a.txt', added: 1, deleted: 0 },
          { path: 'b.txt', added: 0, deleted: 1 },
          { path: 'b.txt/new', added: 1, deleted: 0 },
          { path: 'index.lock', added: 0, deleted: 0 },
          { path: 'sub/c.txt', added: 1, deleted: 1 },
        ],
      },
    },
  });
  const { branch, commit } = (result as { value: AskResult }).value.changes;
  expect(git(folder, 'rev-parse', `${branch}`, `${branch}^`).split('\n')).toEqual([commit, before]);
  expect(git(folder, 'show', `${branch}:a.txt`)).toBe('one\ntwo\nthree');
  expect(git(folder, 'status', '--porcelain')).toBe('');
  expect(git(folder, 'rev-parse', 'HEAD')).toBe(before);
  expect(leftIn(folder)).toMatchObject({ folders: [], worktrees: 0 });
});

test('an agent of a folder below the root works there, and what it changes above is named', async () => {
  const folder = repository(FILES);
  const ask = await askingIn(folder);
  const result = await ask('pwd; echo x >c.txt; echo y >../b.txt', { folder: 'sub', files: ['c.txt'] });
  expect(result).toMatchObject({
    value: {
      answer: expect.stringMatching(/\.volley\/asks\/[0-9a-f]{8}\/sub$/),
      changes: { files: [{ path: '../b.txt' }, { path: 'c.txt' }] },
    },
  });
});

test('an agent that changes nothing leaves nothing, and its answer is not cached', async () => {
  const folder = repository(FILES);
  const ask = await askingIn(folder);
  for (const _ of [1, 2]) {
    expect(await ask('echo fine')).toMatchObject({ value: { answer: 'fine', changes: { files: [] } } });
  }
  expect(leftIn(folder)).toEqual(NOTHING);
});

test('it is asked again in the same worktree: for a valid answer, and to undo what it may not change', async () => {
  const folder = repository(FILES);
  const ask = await askingIn(folder);
  const script = [
    'n=$(cat count 2>/dev/null || echo 0); n=$((n + 1)); echo $n >count',
    'case $n in 1) echo x >.npmrc; echo {} ;; 2) rm .npmrc; echo "$prompt" >second; echo no ;; 3) echo "$prompt" >third; echo \'{"n":3}\' ;; esac',
  ].join('; ');
  const schema = { type: 'object', required: ['n'] };
  const result = await ask(script, { schema });
  expect(result).toMatchObject({
    value: {
      answer: { n: 3 },
      asks: 3,
      changes: { files: [{ path: 'count' }, { path: 'second' }, { path: 'third' }] },
    },
  });
  const { branch } = (result as { value: AskResult }).value.changes;
  expect(git(folder, 'show', `${branch}:second`)).toContain('.npmrc');
  expect(git(folder, 'show', `${branch}:third`)).toContain('not JSON');
});

test('nothing is left after a failure, a refusal and a timeout', async () => {
  const folder = repository(FILES);
  const ask = await askingIn(folder);
  const results = await Promise.all([
    ask('echo x >new; exit 3'),
    ask('echo x >.npmrc; echo fine', { max_asks: 1 }),
    ask('echo x >new; sleep 60', {}, { timeoutMs: 300 }),
  ]);
  expect(results).toMatchObject([
    { status: 'failed' },
    { status: 'failed', error: { code: 'INVALID_ANSWER' } },
    { status: 'failed', error: { code: 'EXECUTION_TIMEOUT' } },
  ]);
  await expect.poll(() => leftIn(folder)).toEqual(NOTHING);
});

test('50 calls at once get 50 branches, and no worktree stays', async () => {
  const folder = repository(FILES);
  const ask = await askingIn(folder);
  const results = await Promise.all(
    Array.from({ length: 50 }, (_, index) => ask(`echo ${index} >made; echo ${index}`)),
  );
  const made = results.map((result) => (result as { value: AskResult }).value);
  const left = leftIn(folder);
  expect(left.branches).toEqual(made.map(({ changes }) => changes.branch).sort());
  expect(new Set(left.branches).size).toBe(50);
  const { answer, changes } = made[17]!;
  expect(git(folder, 'show', `${changes.branch}:made`)).toBe(answer);
  expect(left).toMatchObject({ folders: [], worktrees: 0 });
  expect(git(folder, 'status', '--porcelain')).toBe('');
});

test('a hook that an agent makes, settings and branches of others are put back, and its call fails', async () => {
  const folder = repository(FILES);
  git(folder, 'branch', 'mine');
  const config = readFileSync(join(folder, '.git/config'), 'utf8');
  const ask = await askingIn(folder);
  const script = [
    'common=$(git rev-parse --git-common-dir); echo evil >$common/hooks/post-commit; git config core.fsmonitor evil',
    'git branch -qD mine; echo fine',
  ].join('; ');
  expect(await ask(script)).toMatchObject({
    status: 'failed',
    error: { message: expect.stringContaining('post-commit') },
  });
  expect(existsSync(join(folder, '.git/hooks/post-commit'))).toBe(false);
  expect(readFileSync(join(folder, '.git/config'), 'utf8')).toBe(config);
  expect(git(folder, 'branch', '--list', 'mine')).toBe('mine');
  expect(leftIn(folder)).toEqual(NOTHING);
});

test('it is refused before an agent is started: without a repository, for files that are not committed, and if it is off', async () => {
  const folder = repository(FILES);
  writeFileSync(join(folder, 'a.txt'), 'changed\n');
  writeFileSync(join(folder, 'new.txt'), 'new\n');
  writeFileSync(join(folder, 'ignored'), 'ignored\n');
  const ask = await askingIn(folder);
  for (const file of ['a.txt', 'new.txt', 'ignored'])
    expect(await ask('echo x >x', { files: [file] })).toMatchObject({
      error: { code: 'WORKSPACE_UNAVAILABLE', message: expect.stringContaining(file) },
    });
  // Other changes are only not there.
  expect(await ask('cat a.txt', { files: ['b.txt'] })).toMatchObject({ value: { answer: 'one\ntwo' } });

  const bare = join(repository(), '..', 'bare');
  mkdirSync(bare, { recursive: true });
  onTestFinished(() => rmSync(bare, { recursive: true, force: true }));
  expect(await (await askingIn(bare))('echo fine')).toMatchObject({
    error: { code: 'WORKSPACE_UNAVAILABLE' },
  });
  const off = await askingIn(folder, CONFIG.replace('worktrees = true', ''));
  expect(await off('echo fine')).toMatchObject({ status: 'failed' });
  expect(leftIn(folder)).toEqual(NOTHING);
});

test('what one agent has made git run does not run when the next one begins, and is blamed on the first', async () => {
  const folder = repository(FILES);
  const trees = new AgentWorktrees(defaultConfig(folder));
  const first = await trees.open(folder, [], 'first', never);
  const ran = join(folder, '..', `ran-${Math.random().toString(36).slice(2)}`);
  onTestFinished(() => rmSync(ran, { force: true }));
  git(first.folder, 'config', 'filter.x.smudge', `touch ${ran}; cat`);
  writeFileSync(join(folder, '.git/info/attributes'), '* filter=x\n');
  const second = await trees.open(folder, [], 'second', never);
  expect(existsSync(ran)).toBe(false);
  await expect(first.problem()).rejects.toThrow(/protected files of git/);
  expect(await second.problem()).toBeUndefined();
  await first.close();
  await second.close();
});
