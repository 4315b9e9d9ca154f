import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { RunReport } from '../../src/tasks/run/report.ts';
import { say } from '../cli/support/program.ts';
import { runBuilt } from '../e2e/support/built-volley.ts';
import { project } from '../e2e/support/project.ts';
import { trustFolder } from '../support/trust.ts';
import { git } from '../tasks/workspace/support.ts';
import { Victim } from './support/hostile-client.ts';

const AGENT = fileURLToPath(new URL('./support/hostile-agent.mjs', import.meta.url));

/** A repository with a feature of the user's own, whose agent is hostile: a subtask for each attack, and one besides. */
async function hostileRun(attacks: readonly string[], worktrees: boolean) {
  const victim = new Victim();
  const log = join(victim.env['HOME']!, 'attacks');
  mkdirSync(log);
  const seqs = attacks.map((_, index) => String(index + 2).padStart(2, '0'));
  const plan = JSON.stringify(Object.fromEntries(attacks.map((attack, index) => [seqs[index], attack])));
  const settings = [
    `[tasks]\nagent = "coder"\nmax_retries = 0\nmax_concurrent = 1\nworktrees = ${worktrees}`,
    `[tasks.agents.coder]\ncommand = ${JSON.stringify([process.execPath, AGENT])}`,
    `env = { ATTACKS = ${JSON.stringify(plan)}, ATTACK_LOG = ${JSON.stringify(log)} }`,
  ];
  const folder = project({
    'volley.toml': `${settings.join('\n')}\n`,
    'feature.json': JSON.stringify({
      feature: 'work',
      name: 'Work',
      subtasks: ['01', ...seqs].map((seq) => ({
        title: `Subtask ${seq}`,
        parallel: true,
        deliverables: [`out-${seq}.txt`],
        verification: [{ type: 'command', command: `grep -q work out-${seq}.txt && ! ls ../../volley.db` }],
      })),
    }),
    '.gitignore': '.volley/\n.tmp/\nnode_modules/\n',
  });
  git(folder, 'init', '-q');
  git(folder, 'add', '-A');
  git(folder, 'commit', '-q', '-m', 'first');
  await trustFolder(folder, { ...process.env, ...victim.env });
  const made = await say(folder, ['tasks', 'new', 'feature.json'], '', undefined, victim.env);
  expect(made.status, made.stderr).toBe(0);
  const tasks = join(folder, '.tmp/tasks/work');
  const before = filesIn(tasks);
  const ended = await runBuilt(folder, ['tasks', 'run', 'work', '--subtasks', seqs.join(','), '--json'], {
    env: victim.env,
  });
  const report = JSON.parse(ended.stdout) as RunReport;
  return {
    ...{ folder, victim, seqs, before, after: filesIn(tasks), subtasks: report.subtasks },
    answers: seqs.map((seq) => {
      const file = join(log, `${seq}.jsonl`);
      const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
      return lines.map((line) => JSON.parse(line) as object);
    }),
    copies: readdirSync(join(victim.env['XDG_CONFIG_HOME']!, 'volley/runs')),
  };
}

function filesIn(folder: string): Record<string, string> {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.startsWith('subtask_') && entry.name.endsWith('.json'))
    .map(({ name }) => name);
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

type Attack = readonly [attack: string, path: (seq: string) => string];

const EVERYWHERE: readonly Attack[] = [
  ['git hook', () => '.git/hooks/pre-commit'],
  ['git config', () => '.git/config'],
  ['own subtask', (seq) => `.tmp/tasks/work/subtask_${seq}.json`],
  ['claude settings', () => '.claude/settings.json'],
];
/** Attacks that do not depend on where the agent works. */
const IN_PROJECT: readonly Attack[] = [
  ['another subtask', () => '.tmp/tasks/work/subtask_01.json'],
  ['verification command', () => '.tmp/tasks/work/subtask_01.json'],
  ['new subtask', () => '.tmp/tasks/work/subtask_99.json'],
  ['pipe as subtask', () => '.tmp/tasks/work/subtask_99.json'],
  ['git folder', () => '.git'],
];

const PLACES = [
  ['in the project', false],
  ['in a worktree', true],
] as const;

describe.each(PLACES)('an agent of a run that works %s', { timeout: 180_000 }, (_, worktrees) => {
  it('installs packages, commits and completes its subtask through the run', async () => {
    const { folder, subtasks, answers, after, copies } = await hostileRun(['ordinary work'], worktrees);
    expect(subtasks).toMatchObject([{ status: 'completed', verified: true, error: null }]);
    expect(answers).toEqual([[{ status: 0, code: null, ok: true }]]);
    expect(JSON.parse(after['subtask_02.json']!)).toMatchObject({ status: 'completed' });
    expect(existsSync(join(folder, 'out-02.txt'))).toBe(true);
    expect(copies).toEqual([]);
  });

  it('fails when it writes to what is not its own, and that is undone', async () => {
    const attacks = worktrees ? EVERYWHERE : [...EVERYWHERE, ...IN_PROJECT];
    const { folder, seqs, subtasks, before, after } = await hostileRun(
      attacks.map(([attack]) => attack),
      worktrees,
    );
    expect(subtasks.map(({ status, attempts, denied }) => ({ status, attempts, denied }))).toEqual(
      attacks.map(([, path], index) => ({ status: 'failed', attempts: 1, denied: [path(seqs[index]!)] })),
    );
    const settings = attacks.findIndex(([attack]) => attack === 'claude settings');
    expect(subtasks[settings]?.error).toContain('tools');
    for (const [index, seq] of seqs.entries())
      expect([attacks[index]![0], JSON.parse(after[`subtask_${seq}.json`]!).status]).toEqual([
        attacks[index]![0],
        'pending',
      ]);
    const others = (files: Record<string, string>) =>
      Object.entries(files).filter(([name]) => !seqs.some((seq) => name === `subtask_${seq}.json`));
    expect(others(after)).toEqual(others(before));
    expect(existsSync(join(folder, '.git/hooks/pre-commit'))).toBe(false);
    expect(readFileSync(join(folder, '.git/config'), 'utf8')).not.toContain('evil');
  });

  it('is refused when it forges a request or asks for what there is not, and cannot hold up the run with a pipe', async () => {
    const { answers } = await hostileRun(['forged request'], worktrees);
    expect(answers).toEqual([Array(4).fill({ ok: false, code: 'SUBTASK_REFUSED' })]);
  });
});

it('an agent of a run is refused when it asks with or for what is not its own', async () => {
  const attacks = ['wrong token', 'no token', 'subtask of another', 'force', 'release'];
  const { answers, subtasks, before, after } = await hostileRun(attacks, false);
  expect(answers).toEqual(attacks.map(() => [{ status: 2, code: 'SUBTASK_REFUSED', ok: false }]));
  // Its work is there all the same, and Volley looks at that.
  expect(subtasks).toMatchObject(attacks.map(() => ({ status: 'completed', verified: true })));
  expect(after['subtask_01.json']).toBe(before['subtask_01.json']);
});
