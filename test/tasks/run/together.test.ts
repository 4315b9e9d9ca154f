import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { reportText } from '../../../src/tasks/run/report-text.ts';
import { git } from '../workspace/support.ts';
import { FeatureProject } from './feature-project.ts';
import { commitAll, runner } from './runner.ts';

/** Passes as long as one of the two is missing. */
const APART = { type: 'command', command: 'test ! -e src/a.ts || test ! -e src/b.ts' };

/** Two that work at the same time, the second of which comes in after the first. */
function two(checks: { first?: object[]; second?: object[] }, setup = ''): FeatureProject {
  const project = new FeatureProject(
    {
      '01': { deliverables: ['src/a.ts'], verification: checks.first ?? [], behaviour: { meet: 2 } },
      '02': { deliverables: ['src/b.ts'], verification: checks.second ?? [], behaviour: { after: '01' } },
    },
    { settings: `worktrees = true\n${setup}` },
  );
  commitAll(project);
  return project;
}

describe('work that is right by itself', { timeout: 180_000 }, () => {
  it('is not merged where it stays wrong together with what was merged meanwhile, and is kept', async () => {
    const project = two({ second: [APART] });
    const { folder } = project;
    const { run } = await runner(project);
    const report = await run({ maxRetries: 1 });
    const [first, second] = report.subtasks;
    expect(first).toMatchObject({ status: 'completed' });
    expect(second).toMatchObject({
      status: 'failed',
      attempts: 3,
      branch: 'volley/auth/02.2',
      kept: expect.stringContaining('auth-02.2'),
      evidence: [{ ok: true }, { ok: false, text: expect.stringContaining('status 1') }],
    });
    // One attempt brings both together, on the new base, before the retries are used up.
    const [alone, repair] = second!.attempt_reports;
    expect(alone!.error).toMatch(/not merged.*: `test .*kept in .*git merge volley\/auth\/02/s);
    expect(repair).toMatchObject({ branch: 'volley/auth/02.2', error: expect.stringContaining('status 1') });
    expect(project.notes('start').at(-2)!.prompt).toContain('by 01 Do 01');
    expect(reportText(report)).toContain(alone!.kept);
    expect(project.subtask('02')).toMatchObject({ status: 'pending' });
    expect([project.has('src/a.ts'), project.has('src/b.ts')]).toEqual([true, false]);
    expect(git(folder, 'show', 'volley/auth/02:src/b.ts')).toBe('made by 02');
    expect(git(folder, 'status', '--porcelain')).toBe('');
    expect(readdirSync(join(folder, '.volley/worktrees')).sort()).toEqual([
      '.gitignore',
      'auth-02',
      'auth-02.2',
    ]);
  });

  it('is not merged either where only the checks of another show that, which was merged meanwhile', async () => {
    const project = two({ first: [APART] });
    const { run } = await runner(project);
    const [first, second] = (await run()).subtasks;
    expect(first).toMatchObject({ status: 'completed', verified: true });
    expect(second).toMatchObject({ status: 'failed', kept: expect.stringContaining('auth-02') });
    expect(second!.attempt_reports[0]!.error).toMatch(/: `test .*` of subtask 01 exited with status 1/);
    expect([project.has('src/a.ts'), project.has('src/b.ts')]).toEqual([true, false]);
  });

  it('is merged where a command fails in a new worktree with and without the other: that tells nothing', async () => {
    const built = (seq: string) => ({ type: 'command', command: `test -e src/${seq}.log` });
    const project = two({ first: [built('01')], second: [built('02')] });
    project.put('.gitignore', `${project.read('.gitignore')}*.log\n`);
    git(project.folder, 'commit', '-q', '-a', '-m', 'ignoring what is built');
    for (const [seq, behaviour] of [
      ['01', { meet: 2, files: ['src/01.log'] }],
      ['02', { after: '01', files: ['src/02.log'] }],
    ] as const)
      project.put(
        `.tmp/tasks/auth/subtask_${seq}.json`,
        JSON.stringify({ ...project.subtask(seq), behaviour }),
      );
    const { run } = await runner(project);
    const [first, second] = (await run()).subtasks;
    expect([first!.status, second!.status]).toEqual(['completed', 'completed']);
    expect(second!.evidence.every(({ ok }) => ok)).toBe(true);
    expect(second!.discrepancy).toContain(': `test -e src/02.log` and `test -e src/01.log` of subtask 01.');
    expect(git(project.folder, 'status', '--porcelain')).toBe('');
  });

  it('is merged as it was checked, after a set-up of its own, where it fits', async () => {
    const log = '"$VOLLEY_TASKS_PROJECT/.volley/set-up"';
    const setup = `setup = ${JSON.stringify(`ls src >> ${log} 2>&1; echo "$VOLLEY_SUBTASK $PWD" >> ${log}; ln -s x made`)}\n[processes]\nsandbox = "off"`;
    const both = { type: 'command', command: 'test -L made && git rev-parse HEAD >> ../../seen' };
    const project = two({ second: [both] }, setup);
    const { folder } = project;
    const { run } = await runner(project);
    const report = await run();
    expect(report.subtasks.map(({ status }) => status)).toEqual(['completed', 'completed']);
    const checked = project.read('.volley/seen').trim().split('\n');
    expect(checked).toHaveLength(2);
    // What was checked last is what the project has.
    expect(checked[1]).toBe(git(folder, 'rev-parse', 'HEAD'));
    expect(git(folder, 'log', '-1', '--format=%s')).toBe('auth 02: Do 02');
    expect(git(folder, 'show', '--format=', '--name-only', '-m', '--first-parent', 'HEAD')).toBe('src/b.ts');
    expect(project.read('.volley/set-up')).toMatch(/a\.ts\nb\.ts\n02 .*\/auth-merge\n$/);
    expect(git(folder, 'status', '--porcelain')).toBe('');
    expect(git(folder, 'worktree', 'list').split('\n')).toHaveLength(1);
    expect(existsSync(join(folder, '.volley/worktrees/auth-merge'))).toBe(false);
  });
});

it('tells what was changed in the project itself by an agent that left its worktree', async () => {
  const project = new FeatureProject({ '01': { deliverables: ['a.txt'] } }, { settings: 'worktrees = true' });
  const work =
    'echo a > a.txt; cd "$VOLLEY_TASKS_PROJECT"; echo astray > mine.txt; mkdir new; echo x > new/x';
  const command = JSON.stringify(['/bin/sh', '-c', work]);
  project.put('volley.toml', `[tasks]\nagent = "stray"\n[tasks.agents.stray]\ncommand = ${command}\n`);
  project.put('mine.txt', 'mine\n');
  commitAll(project);
  project.put('before.txt', 'not committed before');
  const { run } = await runner(project);
  const report = await run({ worktrees: true });
  expect(report).toMatchObject({ status: 'completed', changed_in_project: ['mine.txt', 'new/'] });
  expect(reportText(report)).toMatch(/project itself changed.*: mine\.txt and new\/\./);
}, 180_000);
