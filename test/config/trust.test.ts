import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defaultConfig, type VolleyConfig } from '../../src/config/config.ts';
import { inspectConfig, loadConfig, loadStorePlace } from '../../src/config/load.ts';
import { filesInQuestion, requireUnchanged, trustKey } from '../../src/config/trust.ts';
import { TrustStore } from '../../src/config/trust-store.ts';
import { codeOf, thrownBy } from '../engine/support/errors.ts';
import { folderWith } from './support/folder.ts';

const MODULES = '[tools]\nmodules = ["./tools/*.mjs"]\n';

/** A user of a folder: what the configuration says there, and what the user approves. */
function userOf(folder: string, more: Readonly<Record<string, string>> = {}) {
  const env = { XDG_CONFIG_HOME: folderWith(), ...more };
  return {
    env,
    load: async (cwd = folder): Promise<VolleyConfig> => (await loadConfig({ cwd, env })).config,
    hash: async (cwd = folder) => (await filesInQuestion((await inspectConfig({ cwd, env }))!)).hash,
    files: async (cwd = folder) =>
      Object.keys((await filesInQuestion((await inspectConfig({ cwd, env }))!)).files),
    approve: async (cwd = folder) => {
      const question = (await inspectConfig({ cwd, env }))!;
      new TrustStore(env).approve(trustKey(question.file), await filesInQuestion(question));
    },
  };
}

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

describe('a folder that is not trusted', () => {
  it.each([
    '[engine]\ngrace_ms = 1',
    '[limits]\nmax_concurrency = 2\n[limits.tools.shell]\nmax_concurrency = 1',
    '[tools]\nallow = ["read_*"]\ndeny = ["shell"]\nroots = [".", "./"]',
    '[tools.http_request]\nenabled = false\nallow_hosts = ["a.test"]',
    '[processes]\nsandbox = "required"\nmemory_mb = 64',
    '[store]\nfile = "data/volley.db"',
    '[tasks]\nmax_concurrent = 2\nworktrees = true\nallowed_commands = ["npm test"]',
    '[server]\nport = 7000',
  ])('may tune: %s', async (text) => {
    const { trust } = await userOf(folderWith({ 'volley.toml': text })).load();
    expect(trust).toMatchObject({ status: 'not-needed', waiting: [] });
  });

  it.each([
    ['[tools]\nmodules = ["./a.mjs"]', 'tools.modules'],
    ['[tools]\nroots = [".."]', 'tools.roots'],
    ['[tools.shell]\nenabled = true', 'tools.shell.enabled'],
    ['[tools.shell]\nprogram = ["./sh"]', 'tools.shell.program'],
    ['[tools.shell]\nenv = ["SECRET"]', 'tools.shell.env'],
    ['[tools.http_request]\nallow_private = true', 'tools.http_request.allow_private'],
    ['[processes]\nsandbox = "off"', 'processes.sandbox'],
    ['[store]\nfile = "../volley.db"', 'store.file'],
    ['[server]\nhost = "0.0.0.0"', 'server.host'],
    ['[server.tls]\ncertificate = "c"\nkey = "k"', 'server.tls'],
    ['[server.limits]\nmax_depth = 1000', 'server.limits.max_depth'],
    ['[mcp.servers.a]\ncommand = "x"', 'mcp.servers.a'],
    ['[tasks]\nagent = "claude"', 'tasks.agent'],
    ['[tasks]\nsetup = "make"', 'tasks.setup'],
    ['[tasks.agents.a]\ncommand = ["x"]', 'tasks.agents.a'],
  ])('has the defaults instead of what waits: %s', async (text, setting) => {
    const folder = folderWith({ 'volley.toml': text });
    const config = await userOf(folder).load();
    expect(config.trust).toMatchObject({ status: 'untrusted', waiting: [setting] });
    expect({ ...config, trust: undefined }).toEqual({ ...defaultConfig(folder), trust: undefined });
  });

  it('adds to what is hidden and denied, and takes nothing out of it', async () => {
    const text = '[secrets]\nnames = ["DATABASE_URL"]\n[tasks]\ndenied_paths = ["*.pem"]\n';
    const folder = folderWith({ 'volley.toml': text });
    const { secrets, tasks } = await userOf(folder).load();
    const defaults = defaultConfig(folder);
    expect(secrets.names).toEqual([...defaults.secrets.names, 'DATABASE_URL']);
    expect(tasks.deniedPaths).toEqual([...defaults.tasks.deniedPaths, '*.pem']);
  });

  it('is not asked for what the user says in the environment', async () => {
    const folder = folderWith({ 'volley.toml': '[tools.shell]\nenabled = false\nprogram = ["./evil"]\n' });
    const { shell, trust } = await userOf(folder, { VOLLEY_TOOLS_SHELL_ENABLED: 'true' }).load();
    expect(shell).toMatchObject({ enabled: true, shell: ['/bin/sh', '-c'] });
    expect(trust.waiting).toEqual(['tools.shell.program']);
  });

  it('does not move the store of who only looks at it', async () => {
    const folder = folderWith({ 'volley.toml': '[store]\nfile = "../elsewhere.db"\n' });
    const { env, approve } = userOf(folder);
    expect((await loadStorePlace({ cwd: folder, env })).file).toBe(join(folder, '.volley/volley.db'));
    await approve();
    expect((await loadStorePlace({ cwd: folder, env })).file).toBe(join(dirname(folder), 'elsewhere.db'));
  });

  it('holds fully for a user who vouches for it', async () => {
    const folder = folderWith({ 'volley.toml': MODULES });
    const { config } = await loadConfig({ cwd: folder, env: {}, trusted: true });
    expect(config.tools.modules).toEqual(['./tools/*.mjs']);
  });
});

describe('an approval', () => {
  it('ends with every change of a file that could run, and says which it was', async () => {
    const folder = folderWith({
      'volley.toml': `${MODULES}[mcp.servers.a]\ncommand = "node"\nargs = ["--import=./hook.mjs", "server.py"]\n[tasks]\nprompt = "prompt.md"\nsetup = "sh ./setup.sh && true"\n`,
      'tools/a.mjs': `import x from './b.mjs';\nexport * from "../lib/c.mjs";\nawait import('./d.mjs');`,
      'tools/b.mjs': `import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);\nrequire('./e');`,
      'lib/c.mjs': `const name = './computed.mjs';\nawait import(name);\nimport 'picomatch';`,
      'tools/d.mjs': `import './a.mjs'; import './gone.mjs';`,
      'tools/e.cjs': `require('../data')`,
      'data/index.json': '{}',
      ...{ 'hook.mjs': '', 'server.py': '', 'prompt.md': '', 'setup.sh': '', 'computed.mjs': '' },
    });
    const { load, approve, files } = userOf(folder);
    expect(await files()).toEqual([
      ...['data/index.json', 'hook.mjs', 'lib/c.mjs', 'prompt.md', 'server.py', 'setup.sh', 'tools/a.mjs'],
      ...['tools/b.mjs', 'tools/d.mjs', 'tools/e.cjs', 'tools/gone.mjs', 'volley.toml'],
    ]);
    for (const name of await files()) {
      await approve();
      expect((await load()).trust).toMatchObject({ status: 'trusted', waiting: [], changed: [] });
      if (name === 'tools/gone.mjs') write(folder, { [name]: '// here' });
      else if (name.endsWith('.toml')) appendFileSync(join(folder, name), '# more\n');
      else appendFileSync(join(folder, name), '\n ');
      const { trust, tools } = await load();
      expect(trust).toMatchObject({ status: 'changed', changed: [name] });
      expect(tools.modules).toEqual([]);
    }
    await approve();
    write(folder, { 'tools/new.mjs': '' });
    expect((await load()).trust).toMatchObject({ status: 'changed', changed: ['tools/new.mjs'] });
  });

  it('has the same hash wherever the folder is, and however it is reached', async () => {
    const files = { 'volley.toml': MODULES, 'tools/a.mjs': `import './b.mjs';`, 'tools/b.mjs': '' };
    const [one, other] = [folderWith(files), folderWith(files)];
    const link = join(folderWith(), 'link');
    symlinkSync(one, link);
    const { hash } = userOf(one);
    expect(await hash(other)).toBe(await hash(one));
    expect(await hash(link)).toBe(await hash(one));
  });

  it('counts a link with what it leads to', async () => {
    const folder = folderWith({
      'volley.toml': MODULES,
      'real/a.mjs': '1',
      'other/a.mjs': '1',
      'tools/x.txt': '',
    });
    symlinkSync('../real/a.mjs', join(folder, 'tools/a.mjs'));
    const { load, approve } = userOf(folder);
    await approve();
    rmSync(join(folder, 'tools/a.mjs'));
    symlinkSync('../other/a.mjs', join(folder, 'tools/a.mjs'));
    expect((await load()).trust.status).toBe('changed');
  });

  it('does not reach a folder below it that has a file of its own, nor one beside it', async () => {
    const folder = folderWith({
      'volley.toml': MODULES,
      'tools/a.mjs': '',
      'sub/volley.toml': MODULES,
      'sub/tools/a.mjs': '',
    });
    const { load, approve } = userOf(folder);
    await approve();
    expect((await load()).trust.status).toBe('trusted');
    expect((await load(join(folder, 'sub'))).trust.status).toBe('untrusted');
  });

  it('is one for each file where a folder has several', async () => {
    const folder = folderWith({ 'volley.toml': MODULES, 'ci.toml': MODULES, 'tools/a.mjs': '' });
    const { load, approve, env } = userOf(folder);
    await approve();
    const named = await loadConfig({ file: join(folder, 'ci.toml'), env });
    expect(named.config.trust).toMatchObject({
      status: 'untrusted',
      command: `volley trust --config ${join(folder, 'ci.toml')}`,
    });
    expect((await load()).trust.status).toBe('trusted');
  });

  it('that cannot be believed approves nothing, and says why', async () => {
    const folder = folderWith({ 'volley.toml': MODULES, 'tools/a.mjs': '' });
    const { load, approve, env } = userOf(folder);
    await approve();
    execFileSync('chmod', ['-R', 'go+w', join(env.XDG_CONFIG_HOME, 'volley')]);
    expect((await load()).trust).toMatchObject({
      status: 'untrusted',
      problem: expect.stringContaining('chmod'),
    });
  });

  it('is given for exactly one hash by VOLLEY_TRUST', async () => {
    const folder = folderWith({ 'volley.toml': MODULES, 'tools/a.mjs': '' });
    const hash = await userOf(folder).hash();
    expect((await userOf(folder, { VOLLEY_TRUST: hash }).load()).trust.status).toBe('trusted');
    for (const other of ['*', 'true', hash.slice(1), `${hash} `])
      expect((await userOf(folder, { VOLLEY_TRUST: other }).load()).trust.status).toBe('untrusted');
  });
});

describe('a worktree that Volley made', () => {
  const files = { 'volley.toml': MODULES, 'tools/a.mjs': '' };

  function repository() {
    const folder = folderWith(files);
    const git = (...args: string[]) =>
      execFileSync(
        'git',
        ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false', ...args],
        { cwd: folder },
      );
    git('init', '-q');
    git('add', '.');
    git('commit', '-qm', 'all');
    const worktree = join(folder, '.volley/worktrees/auth-01');
    return { folder, worktree, git };
  }

  it('is trusted as long as its files are those that were approved for the project', async () => {
    const { folder, worktree, git } = repository();
    git('worktree', 'add', '-q', worktree);
    const { load, approve } = userOf(folder);
    expect((await load(worktree)).trust.status).toBe('untrusted');
    await approve();
    expect((await load(worktree)).trust.status).toBe('trusted');
    write(worktree, { 'tools/a.mjs': '// changed' });
    expect((await load(worktree)).trust.status).toBe('changed');
    expect((await load()).trust.status).toBe('trusted');
  });

  it('is not a folder that merely lies there, nor a worktree elsewhere', async () => {
    const { folder, worktree, git } = repository();
    const { load, approve } = userOf(folder);
    await approve();
    write(worktree, files);
    expect((await load(worktree)).trust.status).toBe('untrusted');
    const elsewhere = join(folderWith(), 'tree');
    git('worktree', 'add', '-q', elsewhere);
    expect((await load(elsewhere)).trust.status).toBe('untrusted');
    // It says that it is that worktree, and git knows better.
    write(worktree, { '.git': `gitdir: ${join(folder, '.git/worktrees/tree')}\n` });
    expect((await load(worktree)).trust.status).toBe('untrusted');
  });
});

describe('a file that changes after it was approved', () => {
  it('is noticed before it is used again; one that was only touched is not', async () => {
    const folder = folderWith({ 'volley.toml': MODULES, 'tools/a.mjs': '1' });
    const { load, approve } = userOf(folder);
    await approve();
    const { trust } = await load();
    requireUnchanged(trust);
    utimesSync(join(folder, 'tools/a.mjs'), 1, 1);
    requireUnchanged(trust);
    write(folder, { 'tools/a.mjs': '2' });
    expect(codeOf(thrownBy(() => requireUnchanged(trust)))).toBe('NOT_TRUSTED');
    rmSync(join(folder, 'tools/a.mjs'));
    expect(codeOf(thrownBy(() => requireUnchanged(trust)))).toBe('NOT_TRUSTED');
  });
});
