import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import type { RunReport } from '../../../src/tasks/run/report.ts';
import { FeatureProject } from '../../tasks/run/feature-project.ts';
import { runBuilt } from '../support/built-volley.ts';

function git(folder: string, ...words: string[]): void {
  execFileSync('git', ['-c', 'user.name=U', '-c', 'user.email=u@localhost', ...words], { cwd: folder });
}

it('waves, budgets, the set-up, a template and the time of an attempt are kept to', {
  timeout: 300_000,
}, async () => {
  const isReady = [{ type: 'file_exists', path: 'ready.txt' }];
  const project = new FeatureProject(
    {
      '01': { deliverables: ['a'], verification: isReady },
      // Without waves the third would begin before this one ends.
      '02': { deliverables: ['b'], behaviour: { ms: 500 } },
      '03': { deliverables: ['c'], depends_on: ['01'] },
      '04': { deliverables: ['d'], suggested_agent: 'spender', behaviour: { kind: 'spend' } },
    },
    { settings: 'worktrees = true\nsetup = "echo ready > ready.txt"\nprompt = "prompt.md"' },
  );
  const { folder } = project;
  project.put(
    'volley.toml',
    `${project.read('volley.toml')}${project.agent('spender', 'adapter = "claude"')}`,
  );
  project.put('prompt.md', 'Only this: {{title}}, and {{complete}}');
  project.put('.gitignore', '.volley/\n.tmp/\n');
  git(folder, 'init', '-q');
  git(folder, 'add', '-A');
  git(folder, 'commit', '-q', '-m', 'first');

  const first = await runBuilt(folder, [
    ...['tasks', 'run', 'auth', '--waves', '--json'],
    ...['--budget-tokens', '2500', '--budget-turns', '90', '--timeout', '60'],
  ]);
  expect(first.status, first.stdout + first.stderr).toBe(1);
  const report = JSON.parse(first.stdout) as RunReport;
  expect(report.subtasks.map(({ seq, status, reason }) => `${seq} ${status} ${reason}`)).toEqual([
    '01 completed null',
    '02 completed null',
    '03 skipped null',
    '04 failed budget',
  ]);
  // A wave begins when all of the one before is done.
  expect(report.subtasks[2]!.skipped_because).toBe('04');
  expect(project.begun()).not.toContain('03');
  expect(project.notes('start').find(({ seq }) => seq === '01')!.prompt).toBe(
    'Only this: Do 01, and volley tasks complete auth 01 "SUMMARY"\n',
  );
  expect([project.has('a'), project.has('ready.txt')]).toEqual([true, false]);

  const late = await runBuilt(folder, [
    'tasks',
    'run',
    'auth',
    '--subtasks',
    '3',
    '--timeout',
    '0.05',
    '--json',
  ]);
  const [third] = (JSON.parse(late.stdout) as RunReport).subtasks;
  expect(third).toMatchObject({ status: 'failed', reason: 'timeout' });
  expect(project.subtask('03')).toMatchObject({ status: 'pending' });
});
