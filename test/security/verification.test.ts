import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runBuilt } from '../e2e/support/built-volley.ts';
import { project } from '../e2e/support/project.ts';
import { git } from '../tasks/workspace/support.ts';
import { mcpClient, Victim } from './support/hostile-client.ts';

const PROTECTED = [
  'volley.toml',
  '.git/config',
  '.git/hooks/pre-commit',
  '.tmp/tasks/work/subtask_01.json',
  '.volley/volley.db-server.json',
  '.claude/settings.json',
  '.mcp.json',
];

/** A repository with all of that, and a feature of the user's own with this check. */
async function featureWith(commands: readonly string[], victim = new Victim(), env = {}) {
  const folder = project({
    ...Object.fromEntries(PROTECTED.map((path) => [path, path === 'volley.toml' ? '' : '{}'])),
    '.volley/volley.db-server.json': 'the admin token',
    '.gitignore': '.volley/\n.tmp/\nnode_modules/\n',
    'package.json': '{ "scripts": { "test": "node --test" }, "type": "module" }',
    'a.test.js': "import { test } from 'node:test';\ntest('a', () => {});\n",
    'node_modules/x/index.js': '',
  });
  rmSync(join(folder, '.tmp'), { recursive: true });
  rmSync(join(folder, '.git'), { recursive: true });
  git(folder, 'init', '-q');
  git(folder, 'add', '-A');
  git(folder, 'commit', '-q', '-m', 'first');
  mkdirSync(join(folder, '.git/hooks'), { recursive: true });
  const subtasks = [
    { title: 'Only', verification: commands.map((command) => ({ type: 'command', command })) },
  ];
  writeFileSync(join(folder, 'feature.json'), JSON.stringify({ feature: 'work', name: 'Work', subtasks }));
  const made = await volley(folder, victim, ['new', 'feature.json'], env);
  expect(made.status, made.stderr).toBe(0);
  return { folder, victim };
}

function volley(folder: string, { env }: Victim, words: readonly string[], more = {}) {
  return runBuilt(folder, ['tasks', ...words, '--json'], { env: { ...env, ...more } });
}

interface Evidence {
  readonly ok: boolean;
  readonly text: string;
}

async function evidenceOf(folder: string, victim: Victim): Promise<[Evidence, ...Evidence[]]> {
  const { stdout } = await volley(folder, victim, ['verify', 'work', '01']);
  return JSON.parse(stdout).subtasks[0].evidence;
}

describe('a verification command', { timeout: 180_000 }, () => {
  it('writes the work and node_modules, and nothing that is protected', async () => {
    const attempts = [...PROTECTED, 'out.txt', 'node_modules/x/index.js', 'node_modules/y'];
    const command = `for p in ${attempts.join(' ')}; do (echo x >> $p) 2>/dev/null && echo "wrote $p"; done; exit 3`;
    const { folder, victim } = await featureWith([command]);
    const [{ ok, text }] = await evidenceOf(folder, victim);
    expect(ok).toBe(false);
    const written = text.split('\n').flatMap((line) => /wrote (\S+)/.exec(line)?.[1] ?? []);
    expect(written).toEqual(['out.txt', 'node_modules/x/index.js', 'node_modules/y']);
    expect(readFileSync(join(folder, 'volley.toml'), 'utf8')).toBe('');
    expect(existsSync(join(folder, '.git/hooks/pre-commit'))).toBe(false);
  });

  it('reads neither the folder of Volley nor the environment of the user', async () => {
    const victim = new Victim();
    const attempts = {
      volley: 'cat .volley/volley.db-server.json',
      listing: 'ls -A .volley | grep .',
      approvals: `ls ${victim.env['XDG_CONFIG_HOME']}/volley/trust`,
      environment: 'printenv SECRET_OF_THE_USER',
    };
    const tries = Object.entries(attempts).map(([name, attempt]) => `${attempt} && echo "read ${name}"`);
    const { folder } = await featureWith([`${tries.join('; ')}; echo tried; exit 3`], victim);
    const [{ text }] = await evidenceOf(folder, victim);
    expect(text).toContain('tried');
    expect(text.match(/read \w+/g)).toBeNull();
    expect(text).not.toContain('hunter2');
  });

  it('can be a test run of npm or Node, and a look at the repository by git', async () => {
    const commands = ['npm test', 'node --test', 'git diff --exit-code', 'git log -1 && git status'];
    const { folder, victim } = await featureWith(commands);
    expect(await evidenceOf(folder, victim)).toMatchObject(commands.map(() => ({ ok: true })));
  });

  it('is run over MCP once the user has made the feature, and asked about again when it changes', async () => {
    const { folder, victim } = await featureWith(['test -e package.json']);
    const agent = await mcpClient(folder, victim);
    const complete = () => agent.call('tasks_complete', { feature: 'work', seq: '01', summary: 'done' });
    const file = join(folder, '.tmp/tasks/work/subtask_01.json');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace('test -e package.json', victim.payload));
    expect(await complete()).toMatchObject({ isError: true, text: expect.stringContaining('volley trust') });
    expect(victim.isHit).toBe(false);
    writeFileSync(file, text);
    expect(await complete()).toMatchObject({ isError: false });
  });

  it('of a feature that an agent of a run made waits for the user', async () => {
    const victim = new Victim();
    const { folder } = await featureWith([victim.payload], victim, { VOLLEY_AGENT: 'coder-1' });
    const { status, stdout } = await volley(folder, victim, ['complete', 'work', '01', 'done']);
    expect([status, JSON.parse(stdout).error.code, victim.isHit]).toEqual([2, 'NOT_TRUSTED', false]);
  });
});
