import { readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands/all.ts';
import { folderWith, say } from './support/program.ts';

const SLOW = { timeout: 180_000 };
const TASKS = {
  tasks: [
    { id: 'a', function: 'list_directory', params: { path: '.' } },
    { id: 'b', function: 'read_file', params: { path: 'missing' } },
    { id: 'c', function: 'read_file', params: { path: 'tasks.json' }, depends_on: ['b'] },
  ],
};
const files = { 'tasks.json': JSON.stringify(TASKS) };

describe('a command that has nothing to keep', () => {
  it.each([
    ...[['list'], ['status'], ['explain'], ['results'], ['watch'], ['wait'], ['start'], ['retry'], ['stop']],
    ...[
      ['clear'],
      ['cancel', '--all'],
      ['export', '--output-file', 'o.json'],
      ['recover'],
      ['simulate'],
      ['plan'],
    ],
    ...[
      ['run', 'tasks.json', '--dry-run'],
      ['run', 'tasks.json', '--timeout', '0'],
      ['start', '--dry-run'],
    ],
    ...[['completion', 'words', '--', 'status', '--batch', '']],
  ])('makes no store where there is none: %s %s %s', SLOW, async (...argv) => {
    const folder = folderWith(files);
    const given = argv.filter((word) => word !== undefined);
    expect((await say(folder, given)).stderr).not.toContain('not available');
    expect(readdirSync(folder)).toEqual(['tasks.json']);
  });
});

describe('a command that is refused', () => {
  const task = { id: 'a', function: 'read_file', params: { path: 'x' } };
  const cases = {
    'unknown tool': [{ ...task, function: 'nope' }],
    'wrong arguments': [{ ...task, params: {} }],
    cycle: [
      { ...task, depends_on: ['b'] },
      { ...task, id: 'b', depends_on: ['a'] },
    ],
    'same id': [task, task],
    'no tasks': [],
    'unknown field': [{ ...task, color: 'red' }],
  };

  it.each(Object.entries(cases))('leaves no store behind: %s', SLOW, async (_, tasks) => {
    const folder = folderWith({ 'tasks.json': JSON.stringify(tasks) });
    for (const command of ['run', 'add-batch']) {
      expect(await say(folder, [command, 'tasks.json'])).toMatchObject({ status: 2, stdout: '' });
      expect(readdirSync(folder)).toEqual(['tasks.json']);
    }
  });

  it('leaves no store behind: one task, or a feature', SLOW, async () => {
    const folder = folderWith();
    for (const argv of [
      ['add', '--function', 'nope'],
      ['tasks', 'run', 'nope'],
    ])
      expect(await say(folder, argv)).toMatchObject({ status: 2, stdout: '' });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('says where a store could not be made', SLOW, async () => {
    const folder = folderWith(files);
    symlinkSync('nowhere', join(folder, '.volley'));
    const { status, stderr } = await say(folder, ['run', 'tasks.json']);
    expect(status).toBe(2);
    expect(stderr).toContain(
      `The store ${folder}/.volley/volley.db is not available: its folder cannot be created`,
    );
  });
});

describe('a word too many', () => {
  it('gets no advice where there is no such option', SLOW, async () => {
    expect((await say(folderWith(), ['doctor', 'b'])).stderr).not.toContain('note');
  });
});

describe('a "~" that the shell has left as it stands', () => {
  it.each([
    ['run', '~/t.json'],
    ['add-batch', '~/t.json'],
    ['run', 'tasks.json', '--gantt=~/t.svg'],
    ['run', 'tasks.json', '--trace', '~/deep/t.json'],
    ['status', '--config=~/volley.toml'],
    ['tasks', 'new', '~/t.md'],
  ])('is pointed out where it was refused: %s %s %s %s', SLOW, async (...argv) => {
    const folder = folderWith(files);
    const words = argv.filter((word) => word !== undefined);
    const { status, stderr } = await say(folder, words);
    const path = words.at(-1)!.replace(/^.*~/, '');
    expect(status).toBe(2);
    expect(stderr).toMatch(/^error: .*\n[\s\S]*note: /);
    expect(stderr.endsWith(` "$HOME${path}"?\n`)).toBe(true);
    expect(readdirSync(folder)).toEqual(['tasks.json']);
  });

  it('is a name like any other where something has it', SLOW, async () => {
    const folder = folderWith({ '~/t.json': JSON.stringify(TASKS.tasks.slice(0, 1)) });
    const { status, stderr } = await say(folder, ['run', '~/t.json', '--gantt=~/t.svg']);
    expect(status).toBe(0);
    expect(stderr).not.toContain('The shell');
    expect(readdirSync(join(folder, '~'))).toEqual(['t.json', 't.svg']);
  });
});

describe('the help', () => {
  it('lists every command without loading it, and tells of one with examples', SLOW, async () => {
    const folder = folderWith();
    const all = await say(folder, ['--help']);
    for (const { name, summary } of COMMANDS) {
      expect(all.stdout).toContain(name);
      expect(all.stdout.replace(/\s+/g, ' ')).toContain(summary);
    }
    for (const { name } of COMMANDS) {
      const one = await say(folder, ['help', name]);
      expect(one).toMatchObject({ status: 0, stdout: expect.stringContaining('Examples:\n  ') });
      if (!one.stdout.includes('Commands:')) expect(one.stdout).toContain('--json');
    }
  });

  it('breaks no word in a narrow terminal', SLOW, async () => {
    const folder = folderWith();
    const lines = [['--help'], ...COMMANDS.map(({ name }) => ['help', name]), ['tasks', 'help', 'run']];
    for (const argv of lines) {
      const { stdout } = await say(folder, argv, '', 40);
      // Commands are to be copied as they stand.
      const [text = ''] = stdout.replace(/^Usage: .*$/m, '').split('\nExamples:\n');
      expect(text.split('\n').filter((line) => line.length > 40)).toEqual([]);
      expect(text).not.toBe('');
    }
    for (const name of ['run', 'start'])
      expect((await say(folder, ['help', name])).stdout).toContain('How many at once (max_concurrent):\n- ');
    expect((await say(folder, ['help', 'watch'])).stdout).toContain('With --json, ');
  });
});

describe('tools', () => {
  it('show their first sentence between margins, and all of it where one is asked for', SLOW, async () => {
    const folder = folderWith();
    const { stdout } = await say(folder, ['tools'], '', 80);
    const lines = stdout.split('\n');
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines).toContain('write_file          Writes a file, replacing its whole content atomically.');
    expect(stdout).toMatch(/^list_directory {6}Lists a folder: .*\n {20}\S/m);
    const one = await say(folder, ['tools', 'write_file'], '', 80);
    expect(one.stdout.replace(/\s+/g, ' ')).toContain('replacing its whole content atomically.');
    // A line for each where somebody looks for lines.
    expect((await say(folder, ['tools'])).stdout.trim().split('\n')).toHaveLength(7);
  });

  it('says which patterns match nothing beside others that do', SLOW, async () => {
    // One that only deny takes away is none of them.
    const lists = 'allow = ["list_*", "read_fil", "write_file"]\ndeny = ["write_*"]';
    const folder = folderWith({ 'volley.toml': `[tools]\n${lists}\n` });
    const said = await say(folder, ['tools']);
    expect(said).toMatchObject({ status: 0, stdout: expect.stringMatching(/^list_directory .*\n$/) });
    expect(said.stderr).toBe(
      'note: No tool matches "read_fil" in "allow" of [tools] in volley.toml; did you mean read_file?\n',
    );
    expect((await say(folder, ['tools', 'list_*'])).stderr).toBe('');
  });
});

describe('run --dry-run', () => {
  it('shows the plan and adds nothing', SLOW, async () => {
    const folder = folderWith(files);
    const said = await say(folder, ['run', 'tasks.json', '--dry-run', '--max-concurrent', '2']);
    expect(said).toMatchObject({ status: 0, stderr: '' });
    expect(said.stdout).toContain('tasks: 3 tasks, 2 at once; dry run, nothing was started');
    expect(said.stdout).toMatch(/Waves \(2\)\n {2}2 → 1/);
    expect(said.stdout).toContain('Critical path (2 tasks, 2 s)\n  b 1 s\n  c 1 s');
    const json = JSON.parse((await say(folder, ['run', 'tasks.json', '--dry-run', '--json'])).stdout);
    expect(json).toMatchObject({
      ok: true,
      waves: [2, 1],
      critical_path: ['b', 'c'],
      expected_ms: 2000,
      order: [{ id: 'b' }, { id: 'a' }, { id: 'c', depends_on: ['b'], start_ms: 1000 }],
    });
    expect((await say(folder, ['list'])).stdout).toContain('No batches yet');
    // A terminal that does not know how wide it is says 0.
    const plan = ['run', 'tasks.json', '--dry-run'];
    expect(await say(folder, plan, '', 0)).toEqual(await say(folder, plan));
  });

  it(
    'lists every fault once on its own line, with the tasks that have it, and ends with status 2',
    SLOW,
    async () => {
      const tasks = [
        { id: 'a', function: 'list_director', params: { path: '.' } },
        { id: 'b', function: 'read_file', params: { path: 1 } },
        { id: 'c', function: 'read_file', params: { path: 'x' }, depends_on: ['d'] },
        ...Array.from({ length: 8 }, (_, index) => ({ id: `x${index}`, function: 'read_file' })),
      ];
      const folder = folderWith({ 'bad.json': JSON.stringify(tasks) });
      const said = await say(folder, ['run', 'bad.json', '--dry-run']);
      expect(said).toMatchObject({ status: 2, stdout: '' });
      const lines = said.stderr.trimEnd().split('\n');
      expect(lines).toHaveLength(5);
      expect(lines[0]).toBe('error: 11 of 11 tasks cannot be added, so none were added.');
      expect(lines[1]).toBe(
        '  bad.json:1:2: task 1 (id "a"): There is no tool "list_director"; did you mean list_directory?',
      );
      expect(lines[3]).toContain('task 3 (id "c"): It depends on "d"');
      expect(lines[4]).toContain('task 4 (id "x0"), task 5 (id "x1"), task 6 (id "x2"), ');
      expect(lines[4]).toContain(' and 3 more: ');
    },
  );

  it('tells where in the file a cycle begins, by name or by reference', SLOW, async () => {
    const task = (id: string, more: string) => `  { id: ${id}, function: write_file, ${more} }`;
    const byName = [
      task('a', 'params: { path: x, content: y }, depends_on: [b]'),
      task('b', 'depends_on: [a], params: { path: x, content: y }'),
    ];
    const byReference = [task('a', 'params: { path: x, content: "${b}" }'), byName[1]!];
    const folder = folderWith({
      'named.yaml': `tasks: [\n${byName.join(',\n')} ]`,
      'referred.yaml': `tasks: [\n${byReference.join(',\n')} ]`,
    });
    const cycle = 'The dependencies form a cycle: a → b → a';
    for (const more of [['--dry-run'], []]) {
      expect((await say(folder, ['run', 'named.yaml', ...more])).stderr).toContain(
        `error: named.yaml:2:80: ${cycle}`,
      );
      expect((await say(folder, ['run', 'referred.yaml', ...more])).stderr).toContain(
        `error: referred.yaml:2:42: ${cycle}`,
      );
    }
  });

  it('plans what is left of a batch for start, and says what would be skipped', SLOW, async () => {
    const folder = folderWith(files);
    expect(await say(folder, ['run', 'tasks.json'])).toMatchObject({ status: 1 });
    expect((await say(folder, ['start', '--dry-run'])).stdout).toContain('no open tasks');
    await say(folder, [
      'add',
      '--id',
      'd',
      '--function',
      'read_file',
      '--params',
      '{"path":"x"}',
      '--depends-on',
      'b',
      '--batch',
      'tasks',
    ]);
    const said = await say(folder, ['start', '--dry-run']);
    expect(said.stdout).toContain('1 task would be skipped');
    expect(said.stdout).toContain(': d.');
    expect((await say(folder, ['start', '--dry-run', '--batch', 'nobody'])).status).toBe(2);
  });
});

describe('explain', () => {
  it('tells what became of a task, and why one waits', SLOW, async () => {
    const folder = folderWith(files);
    await say(folder, ['add-batch', 'tasks.json', '--batch', 'default']);
    expect((await say(folder, ['explain', 'c'])).stdout).toBe(
      'c (read_file) is open.\n  It is waiting for b (open). The batch is not running. Run it with: volley start\n',
    );
    await say(folder, ['start']);
    const all = await say(folder, ['explain']);
    expect(all.stdout).toContain('b (read_file) failed with reason "error"');
    expect(all.stdout).toMatch(
      /c \(read_file\) was skipped [\d.]+ m?s ago because of b \(read_file\), which failed:/,
    );
    expect(all.stdout).toContain('volley retry --ids b reopens both.');
    expect(all.stdout).not.toContain('a (list_directory)');
    expect((await say(folder, ['explain', 'a'])).stdout).toContain('completed after one attempt in');
    const json = JSON.parse((await say(folder, ['explain', 'c', '--json'])).stdout);
    expect(json).toMatchObject({
      ok: true,
      tasks: [{ id: 'c', status: 'skipped', cause: 'b', depends_on: [{ id: 'b', status: 'failed' }] }],
    });
  });
});

describe('simulate', () => {
  it('tells what other limits would bring, and where the durations come from', SLOW, async () => {
    const tasks = Array.from({ length: 8 }, (_, index) => ({
      id: `t${index}`,
      function: 'read_file',
      params: { path: `${index}` },
    }));
    const folder = folderWith({ 'work.json': JSON.stringify(tasks) });
    const argv = ['simulate', 'work.json', '--max-concurrent', '1,4,8', '--assume', '2s'];
    const said = await say(folder, argv);
    expect(said).toMatchObject({ status: 0, stderr: '' });
    expect(said.stdout.split('\n').map((line) => line.trimEnd())).toEqual([
      'work: 8 tasks, simulated; nothing was started',
      '  at once  takes about  between  speedup  busy',
      '        1         16 s                1×  100%',
      '        4          4 s                4×  100%',
      '        8          2 s                8×  100%',
      '',
      '  read_file: 2 s, assumed because it has not run here yet (change with --assume)',
      '',
    ]);
    expect(JSON.parse((await say(folder, [...argv, '--json'])).stdout)).toMatchObject({
      tasks: 8,
      forecasts: [{ max_concurrent: 1, expected_ms: 16_000 }, { speed_up: 4 }, { utilisation: 1 }],
      durations: [{ function: 'read_file', mean_ms: 2000, from_tasks: 0 }],
    });
    expect((await say(folder, ['list'])).stdout).toContain('No batches yet');
  });

  it('and the dry run and doctor show named resources', SLOW, async () => {
    const tasks = Array.from({ length: 4 }, (_, index) => ({
      id: `t${index}`,
      function: 'read_file',
      params: { path: `${index}` },
      resources: { gpu: 1 },
    }));
    const folder = folderWith({
      'work.json': JSON.stringify(tasks),
      'volley.toml': '[limits.resources]\ngpu = 2\n',
    });
    const argv = ['simulate', 'work.json', '--max-concurrent', '1,4'];
    expect((await say(folder, argv)).stdout.split('\n').slice(1, 4)).toEqual([
      '  at once  takes about  between  speedup  busy  gpu busy',
      '        1          4 s                1×  100%       50%',
      '        4          2 s                2×   50%      100%',
    ]);
    expect(JSON.parse((await say(folder, [...argv, '--json'])).stdout)).toMatchObject({
      forecasts: [{ resources: { gpu: 0.5 } }, { resources: { gpu: 1 } }],
    });
    const dry = ['run', 'work.json', '--dry-run', '--max-concurrent', '4'];
    expect((await say(folder, dry)).stdout).toMatch(/ needs\n.* 1 gpu\n/);
    expect(JSON.parse((await say(folder, [...dry, '--json'])).stdout)).toMatchObject({
      expected_ms: 2000,
      order: tasks.map(() => ({ resources: { gpu: 1 } })),
    });
    expect(JSON.parse((await say(folder, ['doctor', '--json'])).stdout)).toMatchObject({
      resources: { io_operations: 64, gpu: 2 },
    });
  });

  it('learns from what ran, and takes a batch that has ended', SLOW, async () => {
    const folder = folderWith(files);
    await say(folder, ['run', 'tasks.json']);
    const said = await say(folder, ['simulate']);
    expect(said.stdout).toContain('tasks: 3 tasks, simulated');
    expect(said.stdout).toMatch(/list_directory: [\d.]+ m?s on average, from 1 earlier task/);
  });
});

describe('plan', () => {
  const task = (id: string, cpu: number, dependsOn: string[] = [], name = 'read_file') => ({
    id,
    function: name,
    params: { path: 'x' },
    depends_on: dependsOn,
    resources: { cpu },
  });
  const tasks = [task('a', 1), task('wide', 2, ['a']), task('narrow', 1), task('last', 1, ['wide'])];
  const files = { 'work.json': JSON.stringify(tasks), 'volley.toml': '[limits]\ncpu = 2\n' };

  it('draws the schedule before anything runs, with its bound and what more would gain', SLOW, async () => {
    const said = await say(folderWith(files), [
      'plan',
      'work.json',
      '--assume',
      '2s',
      '--max-concurrent',
      '2',
    ]);
    expect(said).toMatchObject({ status: 0, stderr: '' });
    const lines = said.stdout.split('\n').map((line) => line.trimEnd());
    expect(lines.slice(0, 3)).toEqual([
      'work: 4 tasks, 2 at once; planned, nothing was started',
      '  takes about 6 s for 8 s of work, 1.3× the speed of one task at a time',
      '  no schedule can be shorter than 6 s; the plan achieves that',
    ]);
    // The bars of 88 columns for 6 s.
    const bars = lines.slice(5, 9).map((line) => [line.trim().split(' ')[0], line.indexOf('█') - 10]);
    expect(bars).toEqual([
      ['a', 0],
      ['narrow', 0],
      ['wide', 29],
      ['last', 59],
    ]);
    expect(lines.slice(10)).toEqual([
      'What limits it',
      '  limit          at least',
      '  critical path       6 s  a → wide → last',
      '  cpu                 5 s  2 in all',
      '  at once             4 s  2 in all',
      '',
      'Gain from raising a limit',
      '  with            takes about  gain',
      '  1 more cpu              6 s  none',
      '  1 more at once          6 s  none',
      '',
    ]);
  });

  it('plans for workers that are larger than this machine', SLOW, async () => {
    const large = [task('a', 8), { ...task('b', 4), on: { zone: 'b' } }, task('c', 8, ['a'])];
    const folder = folderWith({
      'work.json': JSON.stringify(large),
      'workers.txt': '2x cpu=8\ncpu=4,zone=b\n',
    });
    const argv = ['plan', 'work.json', '--assume', '2s', '--workers', join(folder, 'workers.txt')];
    const said = await say(folder, [...argv, '--json']);
    expect(JSON.parse(said.stdout)).toMatchObject({
      expected_ms: 4000,
      order: [
        { id: 'a', worker: 'w1' },
        { id: 'b', worker: 'w3' },
        { id: 'c', worker: 'w1' },
      ],
      gains: expect.arrayContaining([expect.objectContaining({ kind: 'worker', name: 'w3', gain_ms: 0 })]),
    });
    const text = await say(folder, argv);
    const chart = text.stdout.split('\n').slice(5, 10);
    expect(chart.map((line) => line.trim().split(' ')[0])).toEqual(['w1', 'a', 'c', 'w3', 'b']);
    const refused = await say(folder, [...argv.slice(0, -1), 'cpu=8']);
    expect(refused.status).toBe(2);
    expect(refused.stderr).toContain('Task b fits on none of the workers');
  });

  it('gives the same as data, and stores nothing', SLOW, async () => {
    const folder = folderWith(files);
    const said = await say(folder, [
      'plan',
      'work.json',
      '--assume',
      '2s',
      '--max-concurrent',
      '2',
      '--json',
    ]);
    expect(JSON.parse(said.stdout)).toMatchObject({
      ok: true,
      expected_ms: 6000,
      unplanned_ms: 6000,
      bound_ms: 6000,
      limited_by: { kind: 'path' },
      bounds: [
        { kind: 'path', bound_ms: 6000, tasks: ['a', 'wide', 'last'] },
        { kind: 'resource', name: 'cpu', bound_ms: 5000, capacity: 2 },
        { kind: 'resource', name: 'concurrency', bound_ms: 4000, capacity: 2 },
      ],
      gains: [{ name: 'cpu', more: 1, gain_ms: 0 }, { name: 'concurrency' }],
    });
    expect((await say(folder, ['list'])).stdout).toContain('No batches yet');
  });
});

describe('results', () => {
  it('pages with --after and --offset, and says so in those words', SLOW, async () => {
    const folder = folderWith(files);
    await say(folder, ['run', 'tasks.json']);
    const first = await say(folder, ['results', '--format', 'detailed', '--limit', '1']);
    expect(first.stdout).toContain('Next page: --after 1');
    const next = await say(folder, ['results', '--format', 'detailed', '--limit', '1', '--after', '1']);
    expect(next.stdout).toMatch(/- b \(read_file\): failed in .* after 1 attempt: error: /);
    const part = await say(folder, ['results', '--id', 'a', '--offset', '1', '--length', '5']);
    expect(part.stdout).toContain('\n"path\nNext part: --offset 6');
  });
});

describe('retry', () => {
  it('does not say how to run what has nothing to run', SLOW, async () => {
    const folder = folderWith({ 'good.json': JSON.stringify([TASKS.tasks[0]]) });
    await say(folder, ['run', 'good.json']);
    const { stdout } = await say(folder, ['retry']);
    expect(stdout).toMatch(/^Nothing to retry: .*\nIt has 1 task: 1 completed\.\n$/);
  });
});

describe('wait', () => {
  it('tells by its exit status how the batch ended', SLOW, async () => {
    const folder = folderWith(files);
    await say(folder, ['run', 'tasks.json']);
    const failed = await say(folder, ['wait', '--batch', 'tasks']);
    expect(failed).toMatchObject({ status: 1, stdout: expect.stringContaining('has ended') });
    await say(folder, ['add', '--batch', 'good', '--function', 'list_directory', '--params', '{"path":"."}']);
    await say(folder, ['start', '--batch', 'good']);
    expect(await say(folder, ['wait', '--batch', 'good'])).toMatchObject({ status: 0 });
  });
});
