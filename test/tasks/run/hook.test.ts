import { execFileSync } from 'node:child_process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { childEnvironment } from '../../../src/git/child-environment.ts';
import { git, repository } from '../workspace/support.ts';
import { FeatureProject } from './feature-project.ts';
import { commitAll, runner } from './runner.ts';

describe('a run that a hook of git starts', { timeout: 180_000 }, () => {
  it('hands on nothing of what ties git to the repository of the hook', () => {
    const ties = execFileSync('git', ['rev-parse', '--local-env-vars'], { encoding: 'utf8' });
    const names = ties
      .split('\n')
      .filter((name) => name !== '' && !['GIT_CONFIG_COUNT', 'GIT_CONFIG_PARAMETERS'].includes(name));
    const given = Object.fromEntries(
      [...names, 'GIT_LITERAL_PATHSPECS', 'GIT_SSH', 'HOME'].map((name) => [name, 'x']),
    );
    expect(childEnvironment(given)).toEqual({ GIT_SSH: 'x', HOME: 'x' });
  });

  it('works on the project: set-up, agent, checks and merge', async () => {
    const note = 'git rev-parse --show-toplevel >> "$VOLLEY_TASKS_PROJECT/.volley/seen"';
    const project = new FeatureProject(
      {
        '01': {
          deliverables: ['a.txt'],
          suggested_agent: 'committer',
          verification: [
            {
              type: 'command',
              command: 'test "$(git log -1 --format=%s)" = mine && git rev-parse --show-toplevel',
              expect_text: 'auth-01',
            },
          ],
        },
      },
      { settings: `worktrees = true\nsetup = ${JSON.stringify(note)}` },
    );
    const work = `${note} && echo a > a.txt && git add a.txt && git -c user.name=A -c user.email=a@b commit -qm mine`;
    const command = JSON.stringify(['/bin/sh', '-c', work]);
    project.put(
      'volley.toml',
      `${project.read('volley.toml')}\n[tasks.agents.committer]\ncommand = ${command}\n`,
    );
    commitAll(project);
    const other = repository();
    const before = git(other, 'log', '--all', '--format=%H');
    const ties = { GIT_DIR: `${other}/.git`, GIT_WORK_TREE: other, GIT_INDEX_FILE: `${other}/.git/index` };
    const untie = () => {
      for (const name of Object.keys(ties)) delete process.env[name];
    };
    onTestFinished(untie);
    const { run } = await runner(project);
    Object.assign(process.env, ties);
    const report = await run();
    untie();
    expect(report.subtasks[0]).toMatchObject({ status: 'completed', error: null });
    const worktree = `${project.folder}/.volley/worktrees/auth-01`;
    expect(project.read('.volley/seen').trim().split('\n')).toEqual([worktree, worktree]);
    expect(project.read('a.txt')).toBe('a\n');
    expect([git(other, 'log', '--all', '--format=%H'), git(other, 'status', '--porcelain')]).toEqual([
      before,
      '',
    ]);
  });
});
