import { lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse } from 'smol-toml';
import { expect, onTestFinished, test } from 'vitest';
import type { AgentCommand, AgentTask } from '../../src/agents/adapter.ts';
import { ADAPTER_NAMES, adapterFor, commandAdapter } from '../../src/agents/adapters.ts';

const NAMED = ADAPTER_NAMES.filter((name) => name !== 'command');
const LONG = 'word '.repeat(100_000);

/** A home with what agents keep in one, and a folder for state, gone after the test. */
function place(files: Readonly<Record<string, string>> = {}) {
  const root = mkdtempSync(join(tmpdir(), 'volley-commands-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const [home, state, cwd] = ['home', 'state', 'work'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [home, state, cwd]) mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), text);
  }
  return { home, state, cwd };
}

function command(
  name: string,
  at: ReturnType<typeof place>,
  task: Partial<AgentTask> = {},
): Promise<AgentCommand> {
  return adapterFor(name)!.command({
    prompt: 'Do it.',
    cwd: at.cwd,
    stateFolder: at.state,
    writes: true,
    mailbox: '/mailbox',
    env: { HOME: at.home },
    model: undefined,
    deniedPaths: [],
    allowedCommands: undefined,
    maxTurns: undefined,
    ...task,
  });
}

test('there is an adapter for each name but `command`, and for no other', () => {
  expect(ADAPTER_NAMES).toEqual(['claude', 'codex', 'opencode', 'gemini', 'qwen', 'command']);
  expect(NAMED.map((name) => adapterFor(name)?.name)).toEqual(NAMED);
  expect(adapterFor('command')).toBeUndefined();
  expect(adapterFor('toString')).toBeUndefined();
});

test.for(NAMED)(
  '%s starts by its own name, with the model, and with a prompt of any length as its input',
  async (name) => {
    const { argv, input } = await command(name, place(), { prompt: LONG, model: 'some-model' });
    expect(argv[0]).toBe(name);
    expect(argv.slice(argv.indexOf('--model'))[1]).toBe('some-model');
    expect(input).toBe(LONG);
    expect(argv.join(' ').length).toBeLessThan(2000);
  },
);

test('`command` starts what it is told, with the prompt as its input', async () => {
  const at = place();
  const task = {
    prompt: 'Do it.',
    cwd: at.cwd,
    stateFolder: at.state,
    writes: true,
    mailbox: '/mailbox',
    env: {},
    model: 'm',
    deniedPaths: [],
  };
  const adapter = commandAdapter(['my-agent', '--fast']);
  expect(await adapter.command({ ...task, allowedCommands: undefined, maxTurns: 3 })).toEqual({
    argv: ['my-agent', '--fast'],
    env: {},
    input: 'Do it.',
  });
});

test('gemini gets a home of its own, in which its login and settings are the user’s', async () => {
  const at = place({
    '.gemini/oauth_creds.json': 'token',
    '.gemini/settings.json': '{}',
    '.gemini/projects.json': 'state',
  });
  const { env } = await command('gemini', at);
  expect(env['GEMINI_CLI_HOME']).toBe(at.state);
  const own = join(at.state, '.gemini');
  // Through the link, so that a renewed token is the user's too.
  writeFileSync(join(own, 'oauth_creds.json'), 'renewed');
  expect(readFileSync(join(at.home, '.gemini/oauth_creds.json'), 'utf8')).toBe('renewed');
  expect(readFileSync(join(own, 'settings.json'), 'utf8')).toBe('{}');
  expect(() => lstatSync(join(own, 'projects.json'))).toThrow(/ENOENT/);
});

test('claude gets a folder of its own where a key stands for the login, and the user’s own otherwise', async () => {
  const files = { '.claude.json': '{"mcpServers":{}}', '.claude/settings.json': '{}' };
  const signedIn = place(files);
  expect((await command('claude', signedIn)).env).toEqual({});

  const at = place(files);
  const { env } = await command('claude', at, { env: { HOME: at.home, ANTHROPIC_API_KEY: 'key' } });
  expect(env).toEqual({ CLAUDE_CONFIG_DIR: at.state });
  expect(readFileSync(join(at.state, 'settings.json'), 'utf8')).toBe('{}');
  writeFileSync(join(at.state, '.claude.json'), 'changed');
  expect(readFileSync(join(at.home, '.claude.json'), 'utf8')).toBe('{"mcpServers":{}}');
});

test('codex, opencode and qwen keep what they write of a run in the folder that is theirs', async () => {
  const at = place();
  const env = { HOME: at.home, OPENCODE_CONFIG_CONTENT: '{"theme":"mine"}' };
  expect((await command('codex', at)).env).toEqual({ CODEX_SQLITE_HOME: at.state });
  expect((await command('qwen', at)).env).toEqual({ QWEN_RUNTIME_DIR: at.state });
  const opencode = (await command('opencode', at, { env })).env;
  expect(opencode['OPENCODE_DB']).toBe(join(at.state, 'opencode.db'));
  expect(JSON.parse(opencode['OPENCODE_CONFIG_CONTENT']!)).toEqual({
    theme: 'mine',
    snapshot: false,
    autoupdate: false,
  });
});

test('paths and commands are passed on to agents that can keep to them', async () => {
  const at = place();
  mkdirSync(join(at.cwd, '.git'));
  const rules = { deniedPaths: ['**/*.env*', '.git/**'], allowedCommands: ['npm test'] };

  const claude = (await command('claude', at, { ...rules, maxTurns: 9 })).argv;
  expect(claude).toEqual(
    expect.arrayContaining(['Bash(npm test:*)', 'Edit(**/*.env*)', 'Edit(.git/**)', '9']),
  );
  expect(claude).not.toContain('Bash');

  const qwen = (await command('qwen', at, rules)).argv;
  expect(qwen).toEqual(
    expect.arrayContaining(['auto-edit', 'run_shell_command(npm test *)', 'Edit(**/*.env*)']),
  );

  const opencode = JSON.parse((await command('opencode', at, rules)).env['OPENCODE_PERMISSION']!);
  expect(opencode).toMatchObject({
    edit: { '*': 'allow', '**/*.env*': 'deny', '*.env*': 'deny', '.git/**': 'deny' },
    bash: { '*': 'deny', 'npm test*': 'allow', 'volley tasks complete*': 'allow' },
  });
  // The last rule that matches counts.
  expect(Object.keys(opencode.bash)[0]).toBe('*');

  const gemini = (await command('gemini', at, rules)).argv;
  const policy = readFileSync(gemini[gemini.indexOf('--policy') + 1]!, 'utf8');
  expect(policy).toContain('commandPrefix = "npm test"');
});

test('gemini is denied paths of its folder, also absolute ones, whatever the folders above are called', async () => {
  const at = place();
  const cwd = join(at.cwd, '.volley/worktrees/demo-01');
  const deniedPaths = ['**/.volley/**', '**/*.env*', 'dist/**'];
  const { argv } = await command('gemini', { ...at, cwd }, { deniedPaths });
  const policy = parse(readFileSync(argv[argv.indexOf('--policy') + 1]!, 'utf8'));
  const patterns = (policy['rule'] as { argsPattern: string }[]).map(({ argsPattern }) => argsPattern);
  const isDenied = (file_path: string) =>
    patterns.some((pattern) => new RegExp(pattern).test(JSON.stringify({ content: '', file_path })));

  for (const path of ['.volley/a', 'a/.volley/b', 'a.env', 'x/y.env.local', 'dist/a/b']) {
    expect([path, `./${path}`, join(cwd, path)].map(isDenied), path).toEqual([true, true, true]);
  }
  for (const path of ['out.txt', 'volley/a', 'a/dist/b']) {
    expect([path, `./${path}`, join(cwd, path)].map(isDenied), path).toEqual([false, false, false]);
  }
});

test('in a folder below a repository the paths of opencode count from there', async () => {
  const at = place();
  mkdirSync(join(dirname(at.cwd), '.git'));
  const { env } = await command('opencode', at, { deniedPaths: ['node_modules/**'] });
  expect(JSON.parse(env['OPENCODE_PERMISSION']!).edit).toEqual({
    '*': 'allow',
    'work/node_modules/**': 'deny',
  });
});

test('codex may write its workspace and its mailbox, and not the tasks of the project that it works for', async () => {
  const at = place();
  const { argv } = await command('codex', at, { env: { HOME: at.home, VOLLEY_TASKS_PROJECT: at.home } });
  const added = argv.flatMap((word, index) => (word === '--add-dir' ? [argv[index + 1]] : []));
  expect(added).toEqual(['/mailbox']);
});

test('an agent without a mailbox only reads', async () => {
  const reading = (name: string, at = place()) =>
    command(name, at, { writes: false, mailbox: undefined, allowedCommands: [] });
  expect((await reading('codex')).argv).toEqual(expect.arrayContaining(['--sandbox', 'read-only']));
  expect((await reading('codex')).argv).not.toContain('--add-dir');
  const { argv } = await reading('claude');
  const [allowed, disallowed] = [argv.indexOf('--allowedTools'), argv.indexOf('--disallowedTools')];
  expect(argv.slice(allowed + 1, disallowed)).toEqual(['Read', 'Glob', 'Grep']);
  expect(argv.slice(disallowed + 1)).toEqual(['Edit', 'Write', 'NotebookEdit', 'Bash']);
  const { env } = await reading('opencode');
  expect(JSON.parse(env['OPENCODE_PERMISSION']!)).toEqual({ edit: 'deny', bash: 'deny' });
  const at = place();
  expect((await reading('gemini', at)).argv).not.toContain('yolo');
  expect(readFileSync(join(at.state, 'volley.toml'), 'utf8')).toMatch(/run_shell_command.*"deny"/s);
  const excluded = (await reading('qwen')).argv.filter(
    (_, place, all) => all[place - 1] === '--exclude-tools',
  );
  expect(excluded).toEqual(['edit', 'write_file', 'run_shell_command']);
});
