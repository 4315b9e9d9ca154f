import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Repository } from '../../../src/git/repository.ts';
import { createLauncher } from '../../../src/runners/process/helper-launcher.ts';
import { blockSubtask } from '../../../src/tasks/files/subtask-changes.ts';
import { TaskFolder } from '../../../src/tasks/files/task-folder.ts';
import { FeatureService } from '../../../src/tasks/run/feature-service.ts';
import { planRun } from '../../../src/tasks/run/plan-run.ts';
import { reportText } from '../../../src/tasks/run/report-text.ts';
import { COMPLETED_ELSEWHERE } from '../../../src/tasks/run/run-context.ts';
import type { RunRequest } from '../../../src/tasks/run/run-request.ts';
import { CommandRunner } from '../../../src/tasks/verify/command-runner.ts';
import { verifyAndComplete } from '../../../src/tasks/verify/complete.ts';
import { gitWorktrees } from '../../../src/tasks/workspace/worktrees.ts';
import { isAlive } from '../../support/alive.ts';
import { until } from '../../support/until.ts';
import { git } from '../workspace/support.ts';
import { FeatureProject } from './feature-project.ts';
import { commitAll, runner } from './runner.ts';

describe('a run', { timeout: 180_000 }, () => {
  it('tells the next attempt what was missing, and counts what earlier attempts did', async () => {
    const project = new FeatureProject({
      '01': {
        deliverables: ['a'],
        behaviour: { kind: 'learn' },
        verification: [{ type: 'file_exists', path: 'a' }],
      },
      '02': { status: 'blocked', blocked_reason: 'No key' },
    });
    const { run } = await runner(project);
    const report = await run({ maxRetries: 1 });
    expect(report.subtasks).toMatchObject([{ status: 'completed', attempts: 2 }]);
    // The feature is not: one was left out.
    expect(report.next.feature_completed).toBe(false);
    expect(reportText(report)).toContain('Everything that could run is complete.');
    const [first, second] = project.notes('start').map(({ prompt }) => prompt!);
    expect(first).not.toContain('a does not exist');
    expect(second).toContain('a does not exist; a does not exist');
  });

  it('ends an agent that uses more than its budget, and keeps count', async () => {
    const project = new FeatureProject(
      { '01': { deliverables: ['a'], behaviour: { kind: 'spend' } } },
      { settings: '' },
    );
    project.put(
      'volley.toml',
      `[tasks]\nagent = "spender"\n${project.agent('spender', 'adapter = "claude"')}`,
    );
    const { run } = await runner(project);
    const { subtasks } = await run({ budget: { tokens: 2500 } });
    // Each turn takes 1,000 tokens. On a busy machine more of them may be read at once than the three that are too many.
    const turns = subtasks[0]!.usage?.turns ?? 0;
    expect(turns).toBeGreaterThanOrEqual(3);
    expect(subtasks[0]).toMatchObject({
      status: 'failed',
      reason: 'budget',
      attempts: 1,
      error: expect.stringMatching(/\(\d+000 tokens of 2500 allowed\)/),
      usage: { inputTokens: 900 * turns, outputTokens: 100 * turns },
    });
    expect(project.notes('end')).toEqual([]);
  });

  it('ends an attempt that takes too long before it begins the next, and keeps secrets out of the evidence', async () => {
    const project = new FeatureProject({
      '01': { deliverables: ['a'], behaviour: { kind: 'hang' } },
      '02': {
        deliverables: ['b'],
        verification: [{ type: 'command', command: 'echo "password=hunter2hunter2"; exit 4' }],
      },
    });
    const { run } = await runner(project);
    const secret = await run({ subtasks: ['02'] });
    const { text } = secret.subtasks[0]!.evidence[1]!;
    expect(text).toContain('status 4');
    expect(text).not.toContain('hunter2');
    const report = await run({ subtasks: ['01'], timeoutMs: 1500, maxRetries: 1 });
    expect(report.subtasks[0]).toMatchObject({
      status: 'failed',
      reason: 'timeout',
      error: expect.stringContaining('1.5 s'),
      attempts: 2,
    });
    expect(project.subtask('01')).toMatchObject({ status: 'pending' });
    expect(project.subtask('01')).not.toHaveProperty('claim');
    await until(() => !project.notes('child').some(({ child }) => isAlive(child!)), 'they are gone');
  });

  it('completes what was merged when a crash came before it was noted, without another agent', async () => {
    const project = new FeatureProject(
      { '01': { deliverables: ['src/a.ts'], verification: [{ type: 'file_exists', path: 'src/a.ts' }] } },
      { settings: 'worktrees = true' },
    );
    const { folder } = project;
    commitAll(project);
    const file = '.tmp/tasks/auth/subtask_01.json';
    const begun = {
      ...project.subtask('01'),
      status: 'in_progress',
      started_at: new Date(Date.now() - 60_000).toISOString(),
      claim: {
        agent: 'coder-gone',
        heartbeat_at: new Date(Date.now() - 60_000).toISOString(),
        lease_until: new Date(Date.now() - 1000).toISOString(),
      },
    };
    project.put(file, JSON.stringify(begun));
    const { subtasks } = await new TaskFolder(folder).read('auth');
    const before = await gitWorktrees({
      repository: await Repository.open(folder),
      project: folder,
      feature: 'auth',
      denied: { among: () => [] },
      launcher: createLauncher,
    });
    const workspace = await before.open(subtasks[0]!, new AbortController().signal);
    mkdirSync(join(workspace.folder, 'src'));
    writeFileSync(join(workspace.folder, 'src/a.ts'), 'merged\n');
    expect(await workspace.deliver('auth 01: Do 01')).toEqual({ ok: true });

    const { run } = await runner(project);
    const report = await run();
    expect(report.subtasks[0]).toMatchObject({ status: 'completed', verified: true, touched: ['src/a.ts'] });
    expect(report.subtasks[0]!.discrepancy).toContain('no agent was started');
    expect(project.begun()).toEqual([]);
    expect(git(folder, 'branch', '--list', 'volley/*')).toBe('');
    expect(git(folder, 'worktree', 'list').split('\n')).toHaveLength(1);
  });

  it('believes what was done a moment before a crash, though the next agent finds nothing to change', async () => {
    const project = new FeatureProject({ '01': { deliverables: ['a'] } });
    const now = new Date().toISOString();
    const claim = { agent: 'coder-gone', heartbeat_at: now, lease_until: now };
    const begun = { ...project.subtask('01'), status: 'in_progress', started_at: now, claim };
    project.put('.tmp/tasks/auth/subtask_01.json', JSON.stringify(begun));
    project.put('a', 'made by 01\n');
    const { run } = await runner(project);
    expect((await run()).subtasks).toMatchObject([{ seq: '01', status: 'completed', verified: true }]);
  });

  it('goes on where another failed, and believes what that left only as long as nobody changed it', async () => {
    const checks = [{ type: 'file_exists', path: 'ready' }];
    const project = new FeatureProject({
      '01': { deliverables: ['a'], verification: checks },
      '02': { deliverables: ['b'], verification: checks },
    });
    const { run } = await runner(project);
    expect((await run()).status).toBe('failed');
    // Now the agents have nothing to change any more.
    for (const seq of ['01', '02']) {
      const fields = { ...project.subtask(seq), behaviour: { kind: 'lie' } };
      project.put(`.tmp/tasks/auth/subtask_${seq}.json`, JSON.stringify(fields));
    }
    project.put('ready', '');
    project.put('b', 'by somebody else\n');
    const { subtasks } = await run();
    expect(subtasks).toMatchObject([
      { seq: '01', status: 'completed' },
      { seq: '02', status: 'failed', error: expect.stringContaining('b exists but was not changed') },
    ]);
  });

  it('is refused before anything starts where the program of an agent is missing, and says what to do', async () => {
    const project = new FeatureProject({ '01': {}, '02': { suggested_agent: 'helper' } });
    const table = '[tasks.agents.helper]\ncommand = ["./helper.sh"]\n';
    project.put('volley.toml', project.read('volley.toml') + table);
    const { run, setting } = await runner(project, { PATH: project.folder });
    const missing = { code: 'AGENT_NOT_INSTALLED', details: { subtasks: ['01', '02'], program: 'codex' } };
    const asked = { feature: 'auth', agent: 'codex', isPersonal: true, worktrees: true };
    await expect(run(asked)).rejects.toMatchObject({
      ...missing,
      message: expect.stringMatching(
        /"codex".*01 and 02.*no such program in PATH.*Install it.*\[tasks\.agents\.codex\]/,
      ),
    });
    const plan = (request: RunRequest) => planRun(setting.folder, setting.config, request, setting.env);
    await expect(plan(asked)).rejects.toMatchObject(missing);
    await expect(plan({ feature: 'auth' })).rejects.toMatchObject({ details: { program: './helper.sh' } });
    // The set-up of a worktree may make it.
    await expect(plan({ feature: 'auth', worktrees: true })).resolves.toMatchObject({});
    expect(project.subtask('01')).toMatchObject({ status: 'pending' });
    expect(project.notes()).toEqual([]);
    writeFileSync(join(project.folder, 'codex'), '', { mode: 0o755 });
    await expect(plan(asked)).resolves.toMatchObject({});
  });

  it('is asked for again with the options that it had', async () => {
    const project = new FeatureProject({ '01': { deliverables: ['a'], behaviour: { kind: 'fail' } } });
    const { run } = await runner(project);
    const report = await run({
      agent: 'coder',
      serialize: true,
      worktrees: false,
      timeoutMs: 9500,
      budget: {},
    });
    const command = 'volley tasks run auth --agent coder --serialize --no-worktrees --timeout 9.5';
    expect(report.next.command).toBe(command);
    expect(reportText(report).split('\n').at(-1)).toMatch(new RegExp(`: ${command}$`));
    const some = await run({ subtasks: ['01'], agent: 'coder', budget: { turns: 3 } });
    expect(reportText(some)).toMatch(/: volley tasks run auth --batch 1 --agent coder --budget-turns 3$/);
  });

  it('cannot be started by an agent of another, over any door', async () => {
    const project = new FeatureProject({ '01': { deliverables: ['a'] } });
    const env = { ...process.env, VOLLEY_FEATURE: 'auth', VOLLEY_SUBTASK: '07' };
    const { run, setting } = await runner(project, env);
    const refusal = { code: 'SUBTASK_REFUSED', message: expect.stringContaining('(auth 07)') };
    await expect(run()).rejects.toMatchObject(refusal);
    const place = { folder: setting.folder, workspace: project.folder };
    await expect(new FeatureService(place, setting).start('auth', {})).rejects.toMatchObject(refusal);
    expect(project.begun()).toEqual([]);
  });

  it('is the only one of its feature, and its tool is for itself alone', async () => {
    const project = new FeatureProject({ '01': { deliverables: ['a'], behaviour: { meet: 2 } } });
    const { run, executor, coordinator } = await runner(project);
    const first = run();
    await expect.poll(() => project.notes('start').length, { timeout: 60_000 }).toBe(1);
    await expect(run()).rejects.toMatchObject({
      code: 'FEATURE_RUNNING',
      message: expect.stringContaining(`process ${process.pid}`),
    });
    expect(await executor.view('feature-auth')).toMatchObject({ state: 'running', running: [{ id: '01' }] });
    expect(coordinator.tools('delegate*')).toEqual([]);
    const params = { feature: 'auth', seq: '01', agent: 'coder', run: 'guessed' };
    const call = { name: 'delegate_subtask', arguments: params };
    expect(await coordinator.executeSingle(call)).toMatchObject({
      status: 'failed',
      error: { code: 'TOOL_NOT_ALLOWED' },
    });
    project.put('.volley/agents.jsonl', `${JSON.stringify({ event: 'start' })}\n`.repeat(2));
    expect(await first).toMatchObject({ status: 'completed' });
  });

  it('leaves alone what a person completed or blocked while its agent worked, and merges nothing of it', async () => {
    const project = new FeatureProject(
      {
        '01': { deliverables: ['a'], behaviour: { meet: 4 } },
        '02': { deliverables: ['b'], behaviour: { meet: 4 } },
        '03': { deliverables: ['c'], behaviour: { kind: 'fail', meet: 4 } },
        '04': { deliverables: ['d'], depends_on: ['03'] },
      },
      { settings: 'worktrees = true' },
    );
    const { folder } = project;
    commitAll(project);
    const { run, setting } = await runner(project);
    const running = run();
    await expect.poll(() => project.notes('start').length, { timeout: 60_000 }).toBe(3);
    const by = (seq: string, force: boolean) =>
      verifyAndComplete(
        setting.folder,
        'auth',
        { seq, summary: 'By hand', force, env: process.env },
        new CommandRunner(setting.config),
      );
    await expect(by('01', false)).rejects.toMatchObject({
      code: 'SUBTASK_REFUSED',
      details: { obstacles: [expect.stringMatching(/^coder-\w+ /)] },
    });
    await by('01', true);
    await by('03', true);
    await setting.folder.change('auth', (now) => blockSubtask(now, { seq: '02', reason: 'Not like that' }));
    const { cwd } = project.notes('start')[0]!;
    appendFileSync(join(folder, '.volley/agents.jsonl'), `${JSON.stringify({ event: 'start', cwd })}\n`);
    const report = await running;
    const discrepancy = COMPLETED_ELSEWHERE;
    expect(report.subtasks).toMatchObject([
      { status: 'completed', verified: false, summary: 'By hand', discrepancy },
      { status: 'failed', error: expect.stringContaining('it is blocked (Not like that)') },
      { status: 'completed', verified: false, summary: 'By hand', discrepancy },
      // What waited for it did not wait in vain.
      { status: 'completed', verified: true },
    ]);
    expect(project.subtask('01')).toMatchObject({ status: 'completed', agent_id: null });
    expect(['a', 'b', 'c', 'd'].map((path) => project.has(path))).toEqual([false, false, false, true]);
    expect(report.subtasks.map(({ kept }) => kept !== null)).toEqual([true, true, false, false]);
  });

  it('gives subtasks back when it is stopped, and ends their agents', async () => {
    const project = new FeatureProject({
      '01': { deliverables: ['a'], behaviour: { kind: 'hang' } },
      '02': { deliverables: ['b'], depends_on: ['01'] },
    });
    const { run, executor } = await runner(project);
    const running = run();
    await expect.poll(() => project.notes('child').length, { timeout: 60_000 }).toBe(1);
    expect(project.subtask('01')).toMatchObject({
      status: 'in_progress',
      claim: { process: { pid: process.pid } },
    });
    await executor.handle({ action: 'stop', batch: 'feature-auth', graceful: false });
    expect(await running).toMatchObject({
      status: 'stopped',
      subtasks: [{ status: 'left' }, { status: 'left' }],
    });
    expect(project.subtask('01')).toMatchObject({ status: 'pending' });
    expect(project.subtask('01')).not.toHaveProperty('claim');
    await until(() => !project.notes('child').some(({ child }) => isAlive(child!)), 'they are gone');
  });
});
