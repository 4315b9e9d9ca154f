import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../../src/cli/commands/all.ts';
import { type Io, Output } from '../../../src/cli/output/io.ts';
import { runProgram } from '../../../src/cli/program/program.ts';
import { withFolderLock } from '../../../src/store/folder-lock.ts';
import { project, projectWith, put, readJson } from '../../tasks/support/feature.ts';

/** Runs a command line in this process. */
function tasks(cwd: string, ...args: string[]) {
  return tasksAs({}, cwd, ...args);
}

async function tasksAs(env: Io['env'], cwd: string, ...args: string[]) {
  const output = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => {
    const write = (text: string) => {
      output[name] += text;
      return true;
    };
    return new Output({ write } as unknown as NodeJS.WriteStream);
  };
  const streams = { stdin: process.stdin, stdout: stream('stdout'), stderr: stream('stderr') };
  const io = {
    ...streams,
    env: { XDG_CONFIG_HOME: process.env['XDG_CONFIG_HOME'], ...env },
    cwd,
    outliveReader: () => undefined,
  };
  const status = await runProgram(['tasks', ...args], COMMANDS, '1.0.0', io as unknown as Io);
  return { status, ...output };
}

const json = async (cwd: string, ...args: string[]) =>
  JSON.parse((await tasks(cwd, ...args, '--json')).stdout);

const SEED = {
  '01': { title: 'Setup project structure', status: 'completed' },
  '02': { title: 'Configure database', status: 'completed' },
  '03': { title: 'Install dependencies', status: 'completed' },
  '04': { title: 'Implement auth service', depends_on: ['01', '02', '03'] },
  ...Object.fromEntries(['05', '06', '07', '08', '09', '10'].map((seq) => [seq, { depends_on: ['04'] }])),
};

describe('volley tasks', () => {
  test('status prints the header, the progress and a line for each subtask', async () => {
    const root = projectWith(SEED, { name: 'Authentication System Implementation' });
    const { status, stdout } = await tasks(root, 'status', 'auth');
    expect(status).toBe(0);
    expect(stdout.split('\n').slice(0, 8).join('\n')).toBe(
      `[auth] Authentication System Implementation
  Status: active | Progress: 30% (3/10)

  Subtasks:
  ✓ 01 - Setup project structure [completed]
  ✓ 02 - Configure database [completed]
  ✓ 03 - Install dependencies [completed]
  ○ 04 - Implement auth service [pending]`,
    );
  });

  test('status goes on past a broken file and names it', async () => {
    const root = projectWith({ '01': { status: 'completed' } });
    put(root, '.tmp/tasks/auth/subtask_02.json', '{');
    const { stdout } = await tasks(root, 'status');
    expect(stdout).toContain('Progress: 50% (1/2)');
    expect(stdout).toContain('! auth/subtask_02.json: ');
    expect((await json(root, 'status')).features[0]).toMatchObject({ unreadable: ['subtask_02.json'] });
  });

  test('status names what is doubtful: unknown statuses, forced completions and a missing task.json', async () => {
    const root = projectWith({
      '01': { status: 'done' },
      '02': { status: 'completed', forced: { at: '2026-01-01', in_spite_of: ['a does not exist'] } },
    });
    rmSync(join(root, '.tmp/tasks/auth/task.json'));
    const { stdout } = await tasks(root, 'status', 'auth');
    expect(stdout).toContain('! 01 - Do 01 [unknown status "done"]');
    expect(stdout).toContain('! 02 - Do 02 [completed with --force]');
    expect(stdout).toContain('task.json is missing');
    const [feature] = (await json(root, 'status', 'auth')).features;
    expect(feature.subtasks[1].forced).toEqual(['a does not exist']);
  });

  test('missing arguments print how to call the command', async () => {
    const root = projectWith({ '01': {} });
    const { status, stderr } = await tasks(root, 'claim');
    expect(status).toBe(2);
    expect(stderr).toContain('Usage: volley tasks claim [options] <feature> <seq>');
  });

  test('an archived feature is not called unknown', async () => {
    const root = projectWith({ '01': { status: 'completed' } });
    await tasks(root, 'archive', 'auth');
    expect(await json(root, 'status', 'auth')).toMatchObject({
      error: { code: 'UNKNOWN_FEATURE', message: expect.stringContaining('.tmp/tasks/completed/auth') },
    });
  });

  test('plan explains the waves that it leaves out', async () => {
    const root = projectWith({
      '01': { status: 'completed' },
      '02': { depends_on: ['01'] },
      '03': { depends_on: ['02'], status: 'completed' },
      '04': { depends_on: ['03'] },
    });
    const { stdout } = await tasks(root, 'plan', 'auth');
    const waves = stdout.split('\n').filter((line) => line.startsWith('  Wave'));
    expect(waves).toEqual([
      '  Wave 1: completed or cannot run',
      '  Wave 2: 02',
      '  Wave 3: completed or cannot run',
      '  Wave 4: 04',
    ]);
  });

  test('new warns of labels that are nearly right, and takes names in any script', async () => {
    const root = project();
    const text =
      '# 日本語 の機能\n\n## One\n\n- Deliver: a.ts\n- Depend on: 02\n- Veriffy: npm test\n- Note: fine\n';
    put(root, 'a.md', text);
    const made = await json(root, 'new', 'a.md');
    expect(made.feature).toBe('日本語-の機能');
    const labels = made.warnings.filter(({ code }: { code: string }) => code === 'label');
    expect(labels.map(({ file }: { file: string }) => file)).toEqual(['a.md:5', 'a.md:6', 'a.md:7']);
    expect(labels[0].remedy).toContain('"Delivers:"');
  });

  test('import keeps what a task says when its subtasks replace it', async () => {
    const root = project();
    const children = [{ id: 1, title: 'Child', description: 'Own text' }];
    const parent = { id: 1, title: 'Parent', description: 'Why', details: 'How', testStrategy: 'Try it' };
    put(root, 'tasks.json', JSON.stringify({ tasks: [{ ...parent, subtasks: children }] }));
    await tasks(root, 'import', 'tasks.json', '--feature', 'kept');
    const { description } = readJson(root, 'kept/subtask_01.json');
    for (const text of ['Own text', '"Parent"', 'Why', 'How', 'Try it']) expect(description).toContain(text);
  });

  test('what stands in a file cannot control the terminal', async () => {
    const root = projectWith({ '01': { title: 'Red \x1b[31malert\x07\nand more' } });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
    expect((await tasks(root, 'status')).stdout).not.toMatch(/[\x00-\x09\x0b-\x1f]/);
  });

  test('an unknown feature, subtask or command is status 2, with the nearest', async () => {
    const root = projectWith({ '01': {}, '02': {} });
    expect(await tasks(root, 'status', 'atuh')).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('"auth"?'),
    });
    expect(await json(root, 'deps', 'auth', '3')).toMatchObject({
      error: { code: 'UNKNOWN_SUBTASK', message: expect.stringContaining(' 02?') },
    });
    expect(await tasks(root, 'stauts')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(' status?'),
    });
    expect(await json(root, 'stauts')).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining('status') },
    });
    expect((await tasks(root, 'deps', 'auth')).status).toBe(2);
    expect((await tasks(root, 'status', '../auth')).status).toBe(2);
  });

  test('the help lists all commands, and has examples for each', async () => {
    const root = project();
    expect((await tasks(root, '--help')).stdout).toMatch(/^ {2}complete +\S/m);
    const { stdout, status } = await tasks(root, 'help', 'complete');
    expect([status, stdout]).toEqual([0, expect.stringContaining('volley tasks complete auth-system 01')]);
    expect((await tasks(root, 'claim', '--help')).stdout).toContain('--lease <seconds>');
    expect((await tasks(root)).status).toBe(2);
  });

  test('a feature goes from its description to the archive', async () => {
    const root = project({
      'auth.md': '# Auth\n## 01 API\nDelivers: api.ts\n## 02 Tests\nDepends on: 01\nVerify: test -f api.ts\n',
    });
    expect(await json(root, 'new', 'auth.md')).toMatchObject({
      ok: true,
      feature: 'auth',
      subtasks: ['01', '02'],
    });
    expect(await json(root, 'new', 'auth.md')).toMatchObject({ ok: false, error: { code: 'INVALID_VALUE' } });
    expect((await json(root, 'next')).features[0].ready).toMatchObject([{ seq: '01' }]);
    expect((await tasks(root, 'claim', 'auth', '1', '--agent', 'a')).status).toBe(0);
    expect((await tasks(root, 'claim', 'auth', '1', '--agent', 'b')).stderr).toContain(
      'is claimed by a until',
    );
    expect((await json(root, 'next')).features[0].ready).toEqual([]);
    // An agent of a run speaks for itself only, whatever it calls itself.
    const another = { VOLLEY_AGENT: 'b' };
    expect(await tasksAs(another, root, 'complete', 'auth', '01', 'Done', '--agent', 'a')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('this is not its agent'),
    });

    expect(await tasks(root, 'complete', 'auth', '02', 'All tested')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('it depends on 01, which is in_progress'),
    });
    expect(await tasks(root, 'complete', 'auth', '01', 'I am done')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('api.ts does not exist'),
    });
    expect((await tasks(root, 'verify', 'auth')).status).toBe(1);
    put(root, 'api.ts', 'export {};');
    expect((await tasks(root, 'verify', 'auth', '01')).stdout).toContain('✓ api.ts exists and was changed');
    expect((await tasks(root, 'complete', 'auth', '01', 'Wrote it', '--agent', 'a')).stdout).toBe(
      '✓ 01 - API [completed]\n  Progress: 1/2\n  Ready to start: 02\n',
    );
    expect((await tasks(root, 'archive', 'auth')).stderr).toContain('1 of 2 subtasks are completed');
    expect(await json(root, 'complete', 'auth', '02', 'Tested')).toMatchObject({ ok: true, changed: true });
    expect(readJson(root, 'auth/task.json')).toMatchObject({ status: 'completed', completed_count: 2 });
    // A run that is about to end still writes its report there.
    await withFolderLock(join(root, '.tmp/tasks/auth'), async () => {
      const refused = { status: 2, stderr: expect.stringContaining('auth is being run by process') };
      expect(await tasks(root, 'archive', 'auth', '--force')).toMatchObject(refused);
    });
    expect((await tasks(root, 'archive', 'auth')).status).toBe(0);
    expect(readdirSync(join(root, '.tmp/tasks')).sort()).toEqual(['.lock', 'completed']);
    expect(readJson(root, 'completed/auth/task.json')).toMatchObject({ status: 'archived' });
    expect((await tasks(root, 'status')).stdout).toContain('No features');
  });

  test('complete --force says in the file what it overruled', async () => {
    const root = projectWith({ '01': {}, '02': { depends_on: ['01'], deliverables: ['gone.ts'] } });
    expect((await tasks(root, 'complete', 'auth', '02', 'trust me', '--force')).status).toBe(0);
    expect(readJson(root, 'auth/subtask_02.json')).toMatchObject({
      status: 'completed',
      forced: { in_spite_of: ['it depends on 01, which is pending', 'gone.ts does not exist'] },
    });
  });

  test('block, blocked, unblock and release', async () => {
    const root = projectWith({ '01': {}, '02': { depends_on: ['01'] }, '03': { status: 'in_progress' } });
    await tasks(root, 'block', 'auth', '01', 'no key yet');
    expect((await tasks(root, 'blocked')).stdout).toBe(
      '[auth] Blocked or waiting:\n  ✗ 01 - Do 01 [blocked] no key yet\n  ○ 02 - Do 02 [pending] waits for 01\n',
    );
    await tasks(root, 'unblock', 'auth', '01');
    await tasks(root, 'release', 'auth', '03');
    expect((await json(root, 'next', 'auth')).features[0].ready).toMatchObject([
      { seq: '01' },
      { seq: '03' },
    ]);
  });

  test('parallel leaves out what would write the same files', async () => {
    const root = projectWith({
      '01': { deliverables: ['a/'] },
      '02': { deliverables: ['a/b'] },
      '03': {},
      '04': { parallel: false },
    });
    expect((await tasks(root, 'parallel', 'auth')).stdout).toBe(
      '[auth] Can run at the same time:\n  01 - Do 01 [pending]\n  03 - Do 03 [pending]\n  Not at the same time: 02 (overlapping deliverables)\n',
    );
  });

  test('validate is status 2 with file and remedy, also for a batch', async () => {
    const root = projectWith({
      '01': { depends_on: ['02'] },
      '02': { depends_on: ['01'] },
      '03': {},
      '04': { parallel: false },
    });
    const { status, stdout } = await tasks(root, 'validate');
    expect(status).toBe(2);
    expect(stdout).toContain('✗ auth/subtask_01.json: the dependencies form a cycle: 01 → 02 → 01');
    const batch = await json(root, 'validate', 'auth', '--subtasks', '03,04');
    const codes = batch.features[0].problems.map(({ code }: { code: string }) => code);
    expect(codes.filter((code: string) => code !== 'unverifiable')).toEqual(['cycle', 'not-parallel']);
    expect((await tasks(projectWith({ '01': {} }), 'validate')).status).toBe(0);
  });

  test('plan and graph show waves, the critical path and edges, also as pictures', async () => {
    const root = projectWith(SEED);
    expect((await json(root, 'plan', 'auth')).features[0]).toMatchObject({
      waves: [['04'], ['05', '06', '07', '08', '09', '10']],
      critical_path: ['04', '05'],
      conflicts: [],
    });
    expect((await tasks(root, 'graph', 'auth')).stdout).toContain(
      '○ 04 - Implement auth service [pending] ← 01, 02, 03',
    );
    for (const [name, begin] of [
      ['g.svg', '<svg'],
      ['g.mmd', '%%'],
      ['g.dot', 'digraph'],
    ] as const) {
      expect((await tasks(root, 'graph', 'auth', '--output', name)).status).toBe(0);
      expect(readFileSync(join(root, name), 'utf8').slice(0, begin.length)).toBe(begin);
    }
    expect((await tasks(root, 'graph', 'auth', '--output', 'g.png')).status).toBe(2);
  });

  test('import takes a tasks.json of claude-task-master', async () => {
    const list = [
      { id: 1, title: 'A', status: 'done' },
      { id: 2, title: 'B', dependencies: [1], status: 'pending' },
    ];
    const root = project({ 'tasks.json': JSON.stringify({ master: { tasks: list } }) });
    expect(await json(root, 'import', 'tasks.json')).toMatchObject({
      feature: 'master',
      subtasks: ['01', '02'],
    });
    expect((await json(root, 'next')).features[0].ready).toMatchObject([{ seq: '02' }]);
    expect(await tasks(root, 'import', 'gone.json')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('there is no such file'),
    });
  });
});
