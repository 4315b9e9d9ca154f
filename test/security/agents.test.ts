import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { RunReport } from '../../src/tasks/run/report.ts';
import { runBuilt } from '../e2e/support/built-volley.ts';
import { project } from '../e2e/support/project.ts';
import { git } from '../tasks/workspace/support.ts';
import { Victim } from './support/hostile-client.ts';

const AGENT = fileURLToPath(new URL('./support/hostile-agent.mjs', import.meta.url));

const FEATURE = `
feature: work
name: Work
subtasks:
  - title: First
    parallel: true
    deliverables: [out-01.txt]
    verification: [{ type: command, command: "grep -q work out-01.txt && ! ls ../../volley.db" }]
  - title: Second
    parallel: true
    deliverables: [out-02.txt]
    verification: [{ type: command, command: "grep -q work out-02.txt" }]
`;

/** A repository with a feature of the user's own, whose agent is hostile. */
async function hostileRun(attack: string, worktrees: boolean) {
  const victim = new Victim();
  const log = join(victim.env['HOME']!, 'attack.jsonl');
  const settings = [
    `[tasks]\nagent = "coder"\nmax_retries = 0\nworktrees = ${worktrees}`,
    `[tasks.agents.coder]\ncommand = ${JSON.stringify([process.execPath, AGENT])}`,
    `env = { ATTACK = ${JSON.stringify(attack)}, ATTACK_LOG = ${JSON.stringify(log)} }`,
  ];
  const folder = project({
    'volley.toml': `${settings.join('\n')}\n`,
    'feature.yaml': FEATURE,
    '.gitignore': '.volley/\n.tmp/\nnode_modules/\n',
  });
  git(folder, 'init', '-q');
  git(folder, 'add', '-A');
  git(folder, 'commit', '-q', '-m', 'first');
  expect(await runBuilt(folder, ['trust', '--yes'], { env: victim.env })).toMatchObject({ status: 0 });
  const made = await runBuilt(folder, ['tasks', 'new', 'feature.yaml'], { env: victim.env });
  expect(made.status, made.stderr).toBe(0);
  const tasks = join(folder, '.tmp/tasks/work');
  const before = filesIn(tasks);
  const ended = await runBuilt(folder, ['tasks', 'run', 'work', '--subtasks', '01', '--json'], {
    env: victim.env,
  });
  const report = JSON.parse(ended.stdout) as RunReport;
  const answers = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
  return {
    ...{ folder, victim, before, after: filesIn(tasks) },
    first: report.subtasks[0]!,
    answers: answers.map((line) => JSON.parse(line) as object),
    copies: readdirSync(join(victim.env['XDG_CONFIG_HOME']!, 'volley/runs')),
  };
}

function filesIn(folder: string): Record<string, string> {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.startsWith('subtask_') && entry.name.endsWith('.json'))
    .map(({ name }) => name);
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

type Attack = readonly [attack: string, path: string];

const EVERYWHERE: readonly Attack[] = [
  ['git hook', '.git/hooks/pre-commit'],
  ['git config', '.git/config'],
  ['own subtask', '.tmp/tasks/work/subtask_01.json'],
];
/** Attacks that do not depend on where the agent works. */
const IN_PROJECT: readonly Attack[] = [
  ['another subtask', '.tmp/tasks/work/subtask_02.json'],
  ['verification command', '.tmp/tasks/work/subtask_02.json'],
  ['new subtask', '.tmp/tasks/work/subtask_09.json'],
  ['pipe as subtask', '.tmp/tasks/work/subtask_09.json'],
  ['git folder', '.git'],
];

const PLACES = [
  ['in the project', false],
  ['in a worktree', true],
] as const;

describe.each(PLACES)('an agent of a run that works %s', { timeout: 180_000 }, (_, worktrees) => {
  it('installs packages, commits and completes its subtask through the run', async () => {
    const { folder, first, answers, after, copies } = await hostileRun('ordinary work', worktrees);
    expect(first).toMatchObject({ status: 'completed', verified: true, error: null });
    expect(answers).toEqual([{ status: 0, code: null, ok: true }]);
    expect(JSON.parse(after['subtask_01.json']!)).toMatchObject({ status: 'completed' });
    expect(existsSync(join(folder, 'out-01.txt'))).toBe(true);
    expect(copies).toEqual([]);
  });

  it.each(worktrees ? EVERYWHERE : [...EVERYWHERE, ...IN_PROJECT])(
    'fails when it writes to what is not its own (%s), and that is undone',
    async (attack, path) => {
      const { folder, first, before, after } = await hostileRun(attack, worktrees);
      expect(first).toMatchObject({ status: 'failed', attempts: 1, denied: [path] });
      expect(JSON.parse(after['subtask_01.json']!)).toMatchObject({ status: 'pending' });
      expect({ ...after, 'subtask_01.json': '' }).toEqual({ ...before, 'subtask_01.json': '' });
      expect(existsSync(join(folder, '.git/hooks/pre-commit'))).toBe(false);
      expect(readFileSync(join(folder, '.git/config'), 'utf8')).not.toContain('evil');
    },
  );

  it('fails when it writes configuration that makes other programs run code', async () => {
    const { first } = await hostileRun('claude settings', worktrees);
    expect(first).toMatchObject({ status: 'failed', denied: ['.claude/settings.json'] });
    expect(first.error).toContain('tools');
  });

  it.each(worktrees ? [] : ['wrong token', 'no token', 'subtask of another', 'force', 'release'])(
    'is refused when it asks with or for what is not its own: %s',
    async (attack) => {
      const { answers, first, before, after } = await hostileRun(attack, worktrees);
      expect(answers).toEqual([{ status: 2, code: 'SUBTASK_REFUSED', ok: false }]);
      // Its work is there all the same, and Volley looks at that.
      expect(first).toMatchObject({ status: 'completed', verified: true });
      expect(after['subtask_02.json']).toBe(before['subtask_02.json']);
    },
  );

  it('is refused when it forges a request or asks for what there is not, and cannot hold up the run with a pipe', async () => {
    const { answers } = await hostileRun('forged request', worktrees);
    expect(answers).toEqual(Array(4).fill({ ok: false, code: 'SUBTASK_REFUSED' }));
  });
});
