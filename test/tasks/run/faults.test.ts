import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readReport } from '../../../src/tasks/run/report-file.ts';
import { reportText } from '../../../src/tasks/run/report-text.ts';
import { readTranscript, transcriptPath } from '../../../src/tasks/run/transcript.ts';
import { until } from '../../support/until.ts';
import { git } from '../workspace/support.ts';
import { FeatureProject } from './feature-project.ts';
import { commitAll, runner } from './runner.ts';

const WORKTREES = { settings: 'worktrees = true' };
/** Waits until a file exists, as an agent that runs beside another one does. */
const untilExists = (path: string) => `while [ ! -e "$VOLLEY_TASKS_PROJECT/${path}" ]; do sleep 0.02; done`;

describe('an agent that changes what its siblings share', { timeout: 180_000 }, () => {
  it('leaves no hook in the repository, and fails alone if it ran alone', async () => {
    const hook = '"$(git rev-parse --git-common-dir)/hooks/post-commit"';
    const script = `echo 'touch owned' > ${hook}; chmod +x ${hook}; echo work > a`;
    const project = new FeatureProject(
      { '01': { deliverables: ['a'], behaviour: { kind: 'script', script } } },
      WORKTREES,
    );
    commitAll(project);
    const { run } = await runner(project);
    const report = await run();
    expect(report.subtasks[0]).toMatchObject({ status: 'failed', denied: ['.git/hooks/post-commit'] });
    expect(report.tampering).toMatchObject([{ paths: ['.git/hooks/post-commit'], suspects: ['01'] }]);
    expect(existsSync(join(project.folder, '.git/hooks/post-commit'))).toBe(false);
    expect(reportText(report)).toContain('Protected files');
  });

  it('is not punished in its siblings, and branches of others survive', async () => {
    const script = `git branch -q -D release; git update-ref refs/tags/v1 HEAD; echo work > a; ${untilExists('.volley/b')}`;
    const project = new FeatureProject(
      {
        '01': { deliverables: ['a'], behaviour: { kind: 'script', script } },
        '02': {
          deliverables: ['b'],
          behaviour: { kind: 'script', script: 'echo work > b; touch "$VOLLEY_TASKS_PROJECT/.volley/b"' },
        },
      },
      WORKTREES,
    );
    commitAll(project);
    git(project.folder, 'branch', 'release');
    git(project.folder, 'commit', '-q', '--allow-empty', '-m', 'second');
    git(project.folder, 'tag', 'v1', 'HEAD~1');
    const before = git(project.folder, 'rev-parse', 'v1');
    const { run } = await runner(project);
    const report = await run();
    expect(report.subtasks[1]).toMatchObject({ seq: '02', status: 'completed', denied: [] });
    expect(report.tampering.flatMap(({ paths }) => paths).sort()).toEqual([
      '.git/refs/heads/release',
      '.git/refs/tags/v1',
    ]);
    expect(git(project.folder, 'branch', '--list', 'release')).toContain('release');
    expect(git(project.folder, 'rev-parse', 'refs/volley/rescued/tags/v1')).toBe(before);
  });

  it('cannot complete another subtask by editing its file', async () => {
    const edit = `sed -i 's/"pending"/"completed"/' "$VOLLEY_TASKS_PROJECT/.tmp/tasks/auth/subtask_02.json"`;
    const project = new FeatureProject({
      '01': { deliverables: ['a'], behaviour: { kind: 'script', script: `${edit}; echo work > a` } },
      '02': { deliverables: ['b'], depends_on: ['01'] },
    });
    const { run } = await runner(project);
    const report = await run();
    expect(report.subtasks.map(({ status }) => status)).toEqual(['failed', 'skipped']);
    expect(project.subtask('02')).toMatchObject({ status: 'pending' });
    expect(report.tampering).toMatchObject([
      { suspects: ['01'], paths: ['.tmp/tasks/auth/subtask_02.json'] },
    ]);
  });
});

describe('a run', { timeout: 180_000 }, () => {
  it('tells every agent of all its siblings', async () => {
    const subtasks = ['01', '02', '03'].map((seq) => [seq, { deliverables: [`f${seq}`] }]);
    const project = new FeatureProject(Object.fromEntries(subtasks));
    const { run } = await runner(project);
    await run({ maxConcurrent: 3 });
    for (const { seq, prompt } of project.notes('start')) {
      const others = ['01', '02', '03'].filter((one) => one !== seq);
      for (const other of others)
        expect(prompt, `${seq} knows ${other}`).toContain(`${other} Do ${other} (\`f${other}\`)`);
    }
  });

  it('keeps what each agent said and did, without secrets', async () => {
    const script = 'echo password=hunter2hunter2; echo cannot write: sandbox >&2; exit 3';
    const project = new FeatureProject({
      '01': { deliverables: ['a'], behaviour: { kind: 'script', script } },
    });
    const { run } = await runner(project);
    const { subtasks } = await run({ maxRetries: 1 });
    const [first, second] = subtasks[0]!.attempt_reports;
    expect([first!.attempt, second!.attempt]).toEqual([1, 2]);
    const text = project.read(second!.transcript!);
    const types = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).type);
    expect(types).toEqual(expect.arrayContaining(['start', 'prompt', 'text', 'stderr', 'end']));
    expect(text).toContain('cannot write: sandbox');
    expect(text).not.toContain('hunter2');
    expect(reportText(await run())).toContain('volley tasks logs auth 01');
    // The next run goes on counting.
    expect((await readReport((await runner(project)).setting.folder, 'auth'))!.history.attempts).toHaveLength(
      3,
    );
  });

  it('can be followed while it happens, to the end of the attempt', async () => {
    const project = new FeatureProject({ '01': { deliverables: ['a'], behaviour: { hold: 'go' } } });
    const { run, setting } = await runner(project);
    const ended = run();
    await until(() => project.begun().length === 1, 'the agent has begun');
    const types: string[] = [];
    for await (const { type } of readTranscript(setting.folder.project, transcriptPath('auth', '01', 1), {
      follow: true,
    })) {
      if (type === 'prompt') project.put('go', '');
      types.push(type);
    }
    expect(types.at(-1)).toBe('end');
    expect(types).toContain('text');
    expect((await ended).status).toBe('completed');
  });

  it('continues a retry where the last attempt ended, in worktrees too', async () => {
    const script = 'if [ -e a ]; then echo two > b; else echo one > a; fi';
    const project = new FeatureProject(
      { '01': { deliverables: ['a', 'b'], behaviour: { kind: 'script', script } } },
      WORKTREES,
    );
    commitAll(project);
    const { run } = await runner(project);
    const { subtasks } = await run({ maxRetries: 1 });
    expect(subtasks[0]).toMatchObject({ status: 'completed', attempts: 2, kept: null });
    expect([project.read('a'), project.read('b')]).toEqual(['one\n', 'two\n']);
    const [, second] = project.notes('start');
    expect(second!.prompt).toContain('Its work is in this folder.');
  });

  it('names every worktree that holds work when the last attempt failed as well', async () => {
    const project = new FeatureProject(
      { '01': { deliverables: ['a', 'b'], behaviour: { kind: 'script', script: 'date > a' } } },
      WORKTREES,
    );
    commitAll(project);
    const { run } = await runner(project);
    const { subtasks } = await run({ maxRetries: 1 });
    const kept = subtasks[0]!.attempt_reports.map((one) => one.kept);
    expect(kept).toEqual([subtasks[0]!.kept, subtasks[0]!.kept]);
    expect(existsSync(join(subtasks[0]!.kept!, 'a'))).toBe(true);
  });

  it('gives a conflict an attempt of its own, on the new base and with both sides', async () => {
    const resolve = `if grep -q '<<<<<<<' a; then printf 'ours\\ntheirs\\n' > a; else`;
    const project = new FeatureProject(
      {
        '01': { deliverables: ['b'], behaviour: { kind: 'script', script: 'echo theirs > a; echo b > b' } },
        '02': {
          deliverables: ['a'],
          behaviour: { kind: 'script', after: '01', script: `${resolve} echo ours > a; fi` },
        },
      },
      WORKTREES,
    );
    project.put('a', 'base\n');
    commitAll(project);
    const { run } = await runner(project);
    const { subtasks } = await run();
    expect(subtasks[1]).toMatchObject({ status: 'completed', attempts: 2, kept: null, conflicts: [] });
    expect(project.read('a')).toBe('ours\ntheirs\n');
    const { prompt } = project.notes('start').at(-1)!;
    expect(prompt).toContain('+theirs');
    expect(prompt).toContain('+ours');
    expect(prompt).toContain('by 01 Do 01');
    expect(git(project.folder, 'branch', '--list', 'volley/*')).toBe('');
  });

  it('fails a conflict whose markers stay, and keeps the work', async () => {
    const project = new FeatureProject(
      {
        '01': { deliverables: ['b'], behaviour: { kind: 'script', script: 'echo theirs > a; echo b > b' } },
        '02': {
          deliverables: ['a'],
          behaviour: { kind: 'script', after: '01', script: '[ -s a ] && grep -q "<<<" a || echo ours > a' },
        },
      },
      WORKTREES,
    );
    project.put('a', 'base\n');
    commitAll(project);
    const { run } = await runner(project);
    const { subtasks } = await run();
    expect(subtasks[1]).toMatchObject({ status: 'failed', attempts: 2 });
    expect(subtasks[1]!.error).toContain('conflict markers');
    expect(new Set(subtasks[1]!.attempt_reports.map(({ kept }) => kept)).size).toBe(2);
    expect(project.read('a')).toBe('theirs\n');
  });

  it('goes on with the next agent of a list after a failure', async () => {
    const script = '[ "$WHO" = second ] && echo work > a; exit 0';
    const project = new FeatureProject({
      '01': { deliverables: ['a'], behaviour: { kind: 'script', script } },
    });
    const toml = project.read('volley.toml').replace('agent = "coder"', 'agent = "team"');
    const second = project.agent('second').replace('env = { ', 'env = { WHO = "second", ');
    project.put('volley.toml', `${toml}${second}[tasks.agents.team]\nagents = ["coder", "second"]\n`);
    const { run } = await runner(project);
    const { subtasks } = await run({ maxRetries: 1 });
    expect(subtasks[0]!.attempt_reports.map(({ agent }) => agent)).toEqual(['coder', 'second']);
    expect(subtasks[0]).toMatchObject({ status: 'completed', agent: 'second' });
  });

  it('keeps work that was done when the budget ran out, and the costs of all runs', async () => {
    const project = new FeatureProject({
      '01': { deliverables: ['a'], behaviour: { kind: 'spend-and-deliver' } },
      '02': { behaviour: { kind: 'spend' } },
    });
    project.put(
      'volley.toml',
      `[tasks]\nagent = "spender"\nmax_retries = 0\n${project.agent('spender', 'adapter = "claude"')}`,
    );
    const { run } = await runner(project);
    const first = await run({ subtasks: ['01'], budget: { tokens: 2500 } });
    expect(first.subtasks[0]).toMatchObject({ status: 'completed', verified: true });
    // Nothing says that an agent without deliverables was done.
    const second = await run({ budget: { tokens: 2500 } });
    expect(second.subtasks).toMatchObject([{ seq: '02', status: 'failed', reason: 'budget' }]);
    expect(second.history).toMatchObject({
      runs: [{ completed: ['01'] }, { failed: ['02'] }],
      earlier: [{ seq: '01', status: 'completed' }],
    });
    const { total, by_agent, by_subtask } = second.history.usage;
    const turns = ['01', '02'].map((seq) => by_subtask[seq]!.turns!);
    expect(total.turns).toBe(turns[0]! + turns[1]!);
    expect(by_agent['spender']).toEqual(total);
  });

  it('leads from its batch to the transcript of work that was completed', async () => {
    const project = new FeatureProject({ '01': { deliverables: ['a'] } });
    const { run, executor } = await runner(project);
    await run();
    const { status, text } = await executor.report('feature-auth', '01');
    expect(status).toBe('completed');
    expect(text).toContain('volley tasks logs auth 01');
  });

  it('is not offered for a retry as a batch, which could only fail', async () => {
    const project = new FeatureProject({ '01': { deliverables: ['a'], behaviour: { kind: 'lie' } } });
    const { run, executor } = await runner(project);
    await run();
    const { text } = await executor.report('feature-auth', '01');
    expect(text).toContain('volley tasks run auth');
    expect(text).toContain('volley tasks logs auth 01');
    expect(text).not.toContain('"retry"');
    const retried = await executor.handle({ action: 'retry', batch: 'feature-auth' });
    expect(retried).toMatchObject({ ok: false, error: { code: 'FEATURE_BATCH' } });
  });

  it('says nothing of agents that leave the marking to Volley', async () => {
    const project = new FeatureProject({ '01': { deliverables: ['a'] } });
    const { run } = await runner(project);
    expect((await run()).subtasks[0]).toMatchObject({ status: 'completed', discrepancy: null });
  });

  it('writes no transcript through a link that an agent made', async () => {
    const project = new FeatureProject({ '01': { deliverables: ['a'] } });
    const outside = join(project.folder, 'outside');
    project.put('outside/keep', '');
    project.put('.volley/transcripts/x', '');
    const { symlinkSync } = await import('node:fs');
    symlinkSync(outside, join(project.folder, '.volley/transcripts/auth'));
    const { run } = await runner(project);
    const { subtasks } = await run();
    expect(subtasks[0]).toMatchObject({ status: 'completed', attempt_reports: [{ transcript: null }] });
    expect(existsSync(join(outside, '01/1.jsonl'))).toBe(false);
    writeFileSync(join(outside, 'keep'), readFileSync(join(project.folder, 'a')));
  });
});
