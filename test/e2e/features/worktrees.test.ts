import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { RunReport } from '../../../src/tasks/run/report.ts';
import { reportText } from '../../../src/tasks/run/report-text.ts';
import { FeatureProject } from '../../tasks/run/feature-project.ts';
import { runBuilt } from '../support/built-volley.ts';

function git(folder: string, ...words: string[]): string {
  const who = ['-c', 'user.name=Volley', '-c', 'user.email=volley@example.org'];
  return execFileSync('git', [...who, ...words], { cwd: folder, encoding: 'utf8' }).trim();
}

describe('agents in worktrees', { timeout: 240_000 }, () => {
  it('are merged one by one; a conflict is resolved by another attempt, and nothing is merged of a denied path', async () => {
    const project = new FeatureProject(
      {
        '01': { deliverables: ['src/a.ts'], behaviour: { meet: 3, mark: true, files: ['shared.txt'] } },
        // It begins before the first is merged, and ends after it.
        '02': { deliverables: ['src/b.ts'], behaviour: { after: '01', files: ['shared.txt'] } },
        '03': { deliverables: ['src/c.ts'], behaviour: { meet: 3, files: ['.env.local'] } },
        '04': { deliverables: ['src/d.ts'], depends_on: ['01'] },
      },
      { settings: 'worktrees = true' },
    );
    const { folder } = project;
    project.put('.gitignore', '.volley/\n.tmp/\n');
    git(folder, 'init', '-q', '-b', 'main');
    git(folder, 'config', 'user.name', 'Volley');
    git(folder, 'config', 'user.email', 'volley@example.org');
    git(folder, 'add', '.');
    git(folder, 'commit', '-qm', 'Start');
    const ended = await runBuilt(folder, ['tasks', 'run', 'auth', '--json']);
    expect(ended.status, ended.stdout + ended.stderr).toBe(1);
    const report = JSON.parse(ended.stdout) as RunReport;
    const [first, second, third, fourth] = report.subtasks;
    expect(first).toMatchObject({
      status: 'completed',
      summary: 'Did 01 well',
      discrepancy: null,
      outside_deliverables: ['shared.txt'],
      kept: null,
    });
    expect(second).toMatchObject({
      status: 'completed',
      attempts: 2,
      attempt_reports: [
        { error: expect.stringContaining('shared.txt'), branch: 'volley/auth/02' },
        { error: null },
      ],
      branch: 'volley/auth/02.2',
      kept: null,
    });
    expect(reportText(report)).toContain('volley tasks worktrees auth');
    expect(third).toMatchObject({ status: 'failed', denied: ['.env.local'] });
    expect(third!.error).toContain('Nothing was merged.');
    expect(fourth).toMatchObject({ status: 'completed' });
    for (const [path, isThere] of Object.entries({ a: true, b: true, c: false, d: true }))
      expect([path, project.has(`src/${path}.ts`)]).toEqual([path, isThere]);
    expect(project.has('.env.local')).toBe(false);
    expect(project.read('shared.txt')).toBe('made by 02\n');
    expect(git(folder, 'branch', '--list', 'volley/auth/02*')).toBe('');
    expect(project.subtask('01')).not.toHaveProperty('marked');
    expect(git(folder, 'status', '--porcelain')).toBe('');
    // Each had a folder of its own.
    expect(new Set(project.notes('start').map(({ cwd }) => cwd)).size).toBe(5);
  });
});
