import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createPullRequest, requireGh } from '../../../src/tasks/run/pull-request.ts';
import { approveWork } from '../../../src/tasks/run/review.ts';
import { git } from '../workspace/support.ts';
import { FeatureProject } from './feature-project.ts';
import { commitAll, runner } from './runner.ts';

const script = (text: string) => ({ behaviour: { kind: 'script', script: text } });

describe('a run with a branch of its own', { timeout: 180_000 }, () => {
  it('leaves a commit for each subtask there and the checkout as it is, and opens a pull request', async () => {
    const check = { verification: ['test ! -e broken'] };
    const project = new FeatureProject({
      '01': {
        title: 'Add a',
        deliverables: ['a'],
        ...check,
        ...script('echo one > a; git add a; git commit -qm wip; echo Wrote a'),
      },
      '02': { title: 'Add b', deliverables: ['b'], ...check, ...script('echo two > b; echo Wrote b') },
      '03': {
        title: 'Add c',
        deliverables: ['c'],
        depends_on: ['01', '02'],
        ...script('cat a b > c; echo Wrote c'),
      },
    });
    const { folder } = project;
    commitAll(project);
    project.put('volley.toml', `${project.read('volley.toml')}\n# changed, and not committed\n`);
    const before = [git(folder, 'rev-parse', 'HEAD'), git(folder, 'status', '--porcelain')];
    const { run } = await runner(project);

    const report = await run({ branch: 'feature/auth' });

    expect(report.status).toBe('completed');
    expect([git(folder, 'rev-parse', 'HEAD'), git(folder, 'status', '--porcelain')]).toEqual(before);
    expect(project.has('a')).toBe(false);
    const log = git(folder, 'log', '--reverse', '--format=%p|%s|%b', 'HEAD..feature/auth').split('\n');
    const subjects = log.filter((line) => line.includes('|')).map((line) => line.split('|'));
    expect(subjects.map(([, subject]) => subject)).toEqual(
      expect.arrayContaining(['Add a', 'Add b', 'Add c']),
    );
    expect(subjects).toHaveLength(3);
    // Each has one parent, and says what was done.
    expect(subjects.every(([parents]) => !parents!.includes(' '))).toBe(true);
    expect(subjects.find(([, subject]) => subject === 'Add c')).toMatchObject({
      2: expect.stringContaining('Wrote c'),
    });
    expect(git(folder, 'show', 'feature/auth:c')).toBe('one\ntwo');
    expect(report.branch!.commits).toHaveLength(3);
    expect(git(folder, 'branch', '--list', 'volley/*')).toBe('');

    // A bare remote, and a stand-in for gh.
    const remote = join(folder, '.volley/remote.git');
    git(folder, 'init', '-q', '--bare', remote);
    git(folder, 'remote', 'add', 'origin', remote);
    const bin = join(folder, '.volley/bin');
    mkdirSync(bin);
    project.put(
      '.volley/bin/gh',
      `#!/bin/sh\nprintf '%s\\n' "$@" > "${bin}/asked"\necho https://example.org/pull/1\n`,
    );
    chmodSync(join(bin, 'gh'), 0o755);
    const env = { ...process.env, PATH: [bin, process.env['PATH']].join(delimiter) };
    await requireGh(env);
    const pr = await createPullRequest(folder, report, env);
    expect(pr).toEqual({ ok: true, text: 'Pull request: https://example.org/pull/1' });
    expect(git(remote, 'rev-parse', 'feature/auth')).toBe(git(folder, 'rev-parse', 'feature/auth'));
    const asked = readFileSync(join(bin, 'asked'), 'utf8').split('\n');
    expect(asked.slice(0, 8)).toEqual([
      ...['pr', 'create', '--head', 'feature/auth', '--base', git(folder, 'branch', '--show-current')],
      ...['--title', 'Sign in'],
    ]);
    await expect(requireGh({ ...process.env, PATH: join(folder, 'src') })).rejects.toMatchObject({
      code: 'INVALID_VALUE',
    });
  });

  it('gets reviewed work too, continues with the next run, and refuses a branch that others use', async () => {
    const project = new FeatureProject({
      '01': { deliverables: ['a'], ...script('echo one > a') },
      '02': {
        deliverables: ['b'],
        depends_on: ['01'],
        ...script('cat a > b; git branch -f out HEAD~1 || true'),
      },
    });
    const { folder } = project;
    commitAll(project);
    const { run, setting } = await runner(project);
    await expect(run({ branch: git(folder, 'branch', '--show-current') })).rejects.toMatchObject({
      code: 'WORKSPACE_UNAVAILABLE',
    });
    await expect(run({ branch: '-x' })).rejects.toMatchObject({ code: 'INVALID_VALUE' });

    await run({ branch: 'out', review: true });
    await approveWork(setting, 'auth', { seq: '01' });
    expect(git(folder, 'log', '--format=%s', 'HEAD..out')).toBe('Do 01');
    expect(project.has('a')).toBe(false);

    // An agent that moves the branch gets nothing merged, and its commit can be restored.
    const tip = git(folder, 'rev-parse', 'out');
    const report = await run({ branch: 'out' });
    expect(report.subtasks[0]).toMatchObject({ seq: '02', status: 'failed' });
    expect(git(folder, 'rev-parse', 'refs/volley/rescued/heads/out')).toBe(tip);
  });
});
