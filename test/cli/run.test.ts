import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands/all.ts';
import { summarizeRun } from '../../src/cli/display/summary.ts';
import type { Io } from '../../src/cli/output/io.ts';
import { runProgram } from '../../src/cli/program/program.ts';
import { HeldCalls, openRig } from '../batch/support/rig.ts';
import { folderWith, outputTo, say } from './support/program.ts';

const SLOW = { timeout: 180_000 };
const read = (id: string, path: string) => ({ id, function: 'read_file', params: { path } });
const fileOf = (tasks: readonly object[], settings: object = {}) => JSON.stringify({ ...settings, tasks });

async function batches(folder: string): Promise<{ batch: string; counts: Record<string, number> }[]> {
  return JSON.parse((await say(folder, ['list', '--json'])).stdout).data.batches;
}

describe('run', () => {
  const computing = {
    json: '{"tasks": [{"id": "each", "function": "compute", "params": {"expression": "item * 2"}, "for_each": [1, 2]}], "return": "each"}',
    jsonl:
      '{"id": "each", "function": "compute", "params": {"expression": "item * 2"}, "for_each": "[1, 2]"}\n{"return": "each"}\n',
    yaml: 'tasks:\n- id: each\n  function: compute\n  params: { expression: item * 2 }\n  for_each: "[1, 2]"\nreturn: each\n',
    toml: 'return = "each"\n[[tasks]]\nid = "each"\nfunction = "compute"\nparams = { expression = "item * 2" }\nfor_each = [1, 2]\n',
  };

  it.each(Object.entries(computing))(
    'prints what a file of %s returns, also if it has run before',
    SLOW,
    async (format, text) => {
      const folder = folderWith({ [`a.${format}`]: text });
      const said = await say(folder, ['run', `a.${format}`]);
      expect(said).toMatchObject({ status: 0, stderr: expect.stringMatching(/^a: running 2 tasks\n/) });
      expect(said.stdout.endsWith('[\n  2,\n  4\n]\n')).toBe(true);
      const again = await say(folder, ['run', `a.${format}`, '--json']);
      expect(JSON.parse(again.stdout).data).toMatchObject({ returned: [2, 4], counts: { completed: 4 } });
      expect((await say(folder, ['results', '--batch', 'a'])).stdout.split('\n')[0]).toContain('[2,4]');
      expect((await say(folder, ['explain', 'each[1]', '--batch', 'a'])).stdout).toContain('completed');
    },
  );

  it.each([
    ['{"tasks": [{"function": "compute", "params": {"expression": "1"}}], "return": 3}', 'string'],
    ['{"tasks": [{"function": "compute", "params": {"expression": "1"}}], "return": "1 +"}', 'syntax'],
  ])('refuses a file whose return is wrong: %s', SLOW, async (text, problem) => {
    const said = await say(folderWith({ 'a.json': text }), ['run', 'a.json']);
    expect(said.status).toBe(2);
    expect(said.stderr).toContain(problem);
  });

  it('says which tasks of a changed file it does not take, because the batch has others', SLOW, async () => {
    const folder = folderWith({ 'a.json': fileOf([read('one', 'a.json'), read('two', 'missing')]) });
    await say(folder, ['run', 'a.json']);
    expect((await say(folder, ['run', 'a.json'])).stderr).toBe('');
    writeFileSync(join(folder, 'a.json'), fileOf([read('one', 'a.json'), read('two', 'a.json')]));
    const said = await say(folder, ['run', 'a.json']);
    expect(said).toMatchObject({ status: 1, stdout: expect.stringContaining('1 of 2 completed, 1 failed') });
    expect(said.stderr).toContain('which the batch keeps: two.');
    expect(said.stderr).toContain('volley clear --batch a first');
    await say(folder, ['clear', '--batch', 'a']);
    const cleared = await say(folder, ['run', 'a.json']);
    expect(cleared).toMatchObject({ status: 0, stderr: expect.not.stringContaining('note') });
  });

  it('tells each mistake once, where it was made', SLOW, async () => {
    const folder = folderWith({
      'a.json': fileOf([{ function: 5 }]),
      'b.json': fileOf([read('one', 'a.json'), { ...read('two', 'a.json'), function: 'read_fil' }]),
      'c.json': fileOf([{ function: 'read_fil' }]),
      'd.json': `[${JSON.stringify(read('one', 'a'))},\n${JSON.stringify(read('one', 'b'))}]`,
    });
    const wrong = await say(folder, ['run', 'a.json']);
    expect(wrong.stderr).toBe(
      'error: a.json:1:23: The request "add_batch" is not valid: tasks[0].function must be a string, but it is 5. Nothing was changed.\n',
    );
    const named = await say(folder, ['run', 'b.json', '--batch', 'a\nb']);
    expect(named.stderr).toMatch(/^error: --batch must not contain control characters/);
    expect((await say(folder, ['run', 'c.json'])).stderr).toMatch(/^error: c\.json:1:11: There is no tool/);
    expect((await say(folder, ['run', 'd.json'])).stderr).toMatch(
      /^error: d\.json:2:7: Two tasks have the id/,
    );
    for (const command of [['simulate'], ['run', '--dry-run'], ['run'], ['add-batch']]) {
      const { stderr } = await say(folder, [...command, 'b.json']);
      expect(stderr).toMatch(/b\.json:1:\d+: task 2 \(id "two"\): There is no tool "read_fil"; did you mean/);
    }
  });

  it('tells tasks without a name apart by their ids as they fail', SLOW, async () => {
    const unnamed = ['x', 'y'].map((path) => ({ function: 'read_file', params: { path } }));
    const folder = folderWith({ 'a.json': fileOf([...unnamed, { ...read('z', 'z'), name: 'the last' }]) });
    const { stdout, stderr } = await say(folder, ['run', 'a.json']);
    const [one, two] = / {6}(\w{12}), (\w{12}), the last\n/.exec(stdout)?.slice(1) ?? [];
    for (const name of [one, two, 'the last']) expect(stderr).toContain(`✗ ${name} (read_file): Cannot read`);
  });

  it('says that nothing was left to run, and how to begin anew', SLOW, async () => {
    const folder = folderWith({ 'a.json': fileOf([read('one', 'a.json')]) });
    expect((await say(folder, ['run', 'a.json'])).stdout).toContain('1 task completed in ');
    const again = (await say(folder, ['run', 'a.json'])).stdout;
    expect(again).toContain('✓ a: 1 task completed; nothing left to run');
    expect(again).toContain('volley clear --batch a ');
  });

  it.each([
    [['--max-concurrent', '0']],
    [['--timeout', '-1']],
    [['--timeout', '-1', '--max-concurrent', '0']],
    [['--gantt', 'a.json/a.svg']],
    [['--trace', '.']],
    [['--graph', 'a.png']],
    [['--function', 'read_file']],
  ])('adds nothing if it cannot be run as asked: %j', SLOW, async (argv) => {
    const folder = folderWith({ 'a.json': fileOf([read('one', 'a.json')]) });
    expect(await say(folder, ['run', 'a.json', ...argv])).toMatchObject({ status: 2, stdout: '' });
    expect(await batches(folder)).toEqual([]);
  });

  it('shows a task without a name by the id that it was given, or by its function', SLOW, async () => {
    const folder = folderWith({
      'a.json': fileOf([read('one', 'missing'), { ...read('', 'missing too'), id: undefined }]),
    });
    const ran = await say(folder, ['run', 'a.json']);
    const { stdout } = await say(folder, ['results', '--batch', 'a', '--format', 'json', '--json']);
    const { results } = JSON.parse(stdout).data;
    expect(ran.stdout).toContain(`      one, ${results[1].id}\n`);
    expect(results.map(({ name }: { name: string }) => name)).toEqual(['one', 'read_file']);
  });

  it(
    'says where in the file each mistake stands, in every format, in a dry run, and beside what was added before',
    SLOW,
    async () => {
      const folder = folderWith({
        'a.json':
          '[\n{"id":"a","function":"read_file",\n"params":{"path":"a.json"},"priority":"hi"},\n{"function":"x","parms":{}}]',
        'a.jsonl': '{"function":"x","priority":"hi"}\n\n{"function":"x","parms":{}}\n',
        'a.yaml': 'tasks:\n  - function: x\n    priority: hi\n  - function: x\n    parms: {}\n',
        'a.toml': '[[tasks]]\nfunction = "x"\npriority = "hi"\n[[tasks]]\nfunction = "x"\nparms = {}\n',
      });
      const places = async (file: string, ...argv: string[]) => {
        const { status, stderr } = await say(folder, ['run', file, ...argv]);
        expect(status).toBe(2);
        return [...stderr.matchAll(/^ {2}(\S+): (tasks\[\d\]\.\w+|unknown field "\w+"|task \d)/gm)].map(
          ([, place, what]) => `${place} ${what}`,
        );
      };
      const json = ['a.json:3:39 tasks[0].priority', 'a.json:4:25 unknown field "parms"'];
      expect(await places('a.json')).toEqual(json);
      expect(await places('a.json', '--dry-run')).toEqual(json);
      expect(await places('a.jsonl')).toEqual([
        'a.jsonl:1:28 tasks[0].priority',
        'a.jsonl:3:25 unknown field "parms"',
      ]);
      expect(await places('a.yaml')).toEqual([
        'a.yaml:3:15 tasks[0].priority',
        'a.yaml:5:12 unknown field "parms"',
      ]);
      expect(await places('a.toml')).toEqual([
        'a.toml:3:12 tasks[0].priority',
        'a.toml:6:9 unknown field "parms"',
      ]);

      // What the batch has already is not asked for again: the others keep their places.
      writeFileSync(join(folder, 'b.yaml'), '- {id: one, function: read_file, params: {path: a.json}}\n');
      expect((await say(folder, ['run', 'b.yaml'])).status).toBe(0);
      writeFileSync(
        join(folder, 'b.yaml'),
        '- {id: one, function: read_file, params: {path: a.json}}\n- {id: b, function: nope}\n- {id: c, function: nope}\n',
      );
      expect(await places('b.yaml')).toEqual(['b.yaml:2:3 task 1', 'b.yaml:3:3 task 2']);
    },
  );

  it('makes the folder of a picture', SLOW, async () => {
    const folder = folderWith({ 'a.json': fileOf([read('one', 'a.json')]) });
    expect(await say(folder, ['run', 'a.json', '--gantt', 'new/deep/a.svg'])).toMatchObject({ status: 0 });
    expect(readFileSync(join(folder, 'new/deep/a.svg'), 'utf8')).toContain('<svg');
  });

  it.runIf(existsSync('/dev/full'))(
    'says which picture could not be written and what to do, and draws the others',
    SLOW,
    async () => {
      const folder = folderWith({ 'a.json': fileOf([read('one', 'a.json')]) });
      const argv = ['--gantt', '/dev/full', '--trace', 'a.trace', '--json'];
      const { status, stdout, stderr } = await say(folder, ['run', 'a.json', ...argv]);
      expect(status).toBe(1);
      expect(JSON.parse(stdout)).toMatchObject({ ok: true, data: { succeeded: true } });
      expect(stderr).toBe(
        'Wrote a.trace\nerror: Cannot write "/dev/full": the disk is full. Free some space, or choose a file on another disk.\n',
      );
      expect(readdirSync(folder).sort()).toEqual(['.volley', 'a.json', 'a.trace']);
    },
  );

  it('adds nothing if what the file says of the run is wrong', SLOW, async () => {
    const folder = folderWith({ 'a.json': fileOf([read('one', 'a.json')], { timeout: 'soon' }) });
    expect(await say(folder, ['run', 'a.json'])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('error: a.json: timeout must be a number'),
    });
    expect(await batches(folder)).toEqual([]);
    expect(await say(folder, ['run', 'a.json', '--timeout', '60'])).toMatchObject({ status: 0 });
  });

  it('takes files of every name, one task for each', SLOW, async () => {
    const deep = `d/${'long'.repeat(40)}/${'name'.repeat(20)}.txt`;
    const names = ['d/a b.txt', 'd/new\nline.txt', 'd/{}.txt', 'd/${x}.txt', 'd/-dash.txt', 'd/,.txt', deep];
    const folder = folderWith(Object.fromEntries(names.map((name) => [name, name])));
    const params = '{"path":"{}"}';
    const said = await say(folder, ['run', '--each', 'd/**', '--function', 'read_file', '--params', params]);
    expect(said).toMatchObject({ status: 0, stdout: expect.stringContaining('all 7 tasks completed') });
    const [only] = await batches(folder);
    await say(folder, ['export', '--batch', only!.batch, '--format', 'jsonl', '--output-file', 'o.jsonl']);
    const rows = readFileSync(join(folder, 'o.jsonl'), 'utf8').trim().split('\n');
    const contents = rows.map((row) => JSON.parse(row).result.content);
    expect(contents.sort()).toEqual([...names].sort());
  });
});

describe('the summary of a run', () => {
  it('claims nothing of what another process had started, and no speed', SLOW, async () => {
    const calls = new HeldCalls();
    const rig = await openRig([calls.tool()]);
    await rig.ask('add_batch', { tasks: [{ id: 'a', function: 'held', params: { key: 'a' } }] });
    await rig.ask('start');
    await calls.started('a');
    const begun = (await rig.store.tasks('default', { limit: 1 }))[0]?.startedAt ?? Date.now();
    await expect.poll(() => Date.now()).toBeGreaterThan(begun + 20);
    const facts = { hasFailures: false, hadWork: true, since: Date.now(), elapsedMs: 1 };
    calls.finish('a');
    await rig.ask('wait');
    // A terminal that does not know how wide it is says 0.
    const stdout = Object.assign(new PassThrough(), { columns: 0 });
    const io = { stdout: outputTo(stdout), env: {} } as unknown as Io;
    const summary = async (since: number) =>
      summarizeRun(
        rig.store,
        'default',
        { ...facts, counts: (await rig.store.batch('default'))!.counts, since },
        undefined,
        io,
      );
    expect(await summary(facts.since)).toMatch(/^✓ default: 1 task completed; nothing left to run\n\n/);
    // The same work, had this run started it.
    expect(await summary(0)).toContain('the speed of one task at a time');
  });
});

describe('add-batch', () => {
  it(
    'adds the tasks that run takes, to the batch that run uses, also if they have no ids',
    SLOW,
    async () => {
      const { id: _, ...task } = read('one', 'a.json');
      const folder = folderWith({ 'a.json': fileOf([task, task]) });
      await say(folder, ['add-batch', 'a.json']);
      expect(await say(folder, ['run', 'a.json'])).toMatchObject({ status: 0 });
      expect(await batches(folder)).toMatchObject([{ batch: 'a', counts: { completed: 2, open: 0 } }]);
    },
  );

  it(
    'refuses tasks that the batch has already, with and without ids, and says what to do',
    SLOW,
    async () => {
      const { id: _, ...task } = read('one', 'a.json');
      const folder = folderWith({
        'a.json': fileOf([task, task]),
        'b.json': fileOf([task, { ...task, name: 'new' }]),
        'c.json': fileOf([read('one', 'c.json')]),
      });
      await say(folder, ['add-batch', 'a.json']);
      await say(folder, ['add-batch', 'c.json']);
      for (const [argv, words] of [
        [['a.json'], 'has these 2 tasks'],
        [['b.json', '--batch', 'a'], 'has 1 of these 2 tasks'],
        [['c.json'], '"one"'],
      ] as const) {
        const said = await say(folder, ['add-batch', ...argv, '--json']);
        expect(said.status).toBe(2);
        const { error } = JSON.parse(said.stdout);
        expect(error.code).toBe('DUPLICATE_ID');
        expect(error.message).toContain(words);
      }
      expect((await say(folder, ['add-batch', 'a.json'])).stderr).toContain('use volley run a.json.');
      expect(await batches(folder)).toMatchObject([{ counts: { open: 2 } }, { counts: { open: 1 } }]);
    },
  );

  it('says that it keeps nothing of what the file says of a run', SLOW, async () => {
    const tasks = fileOf([read('one', 'a.json')], { batch: 'mine', max_concurrent: 2, fail_fast: true });
    const folder = folderWith({ 'a.json': tasks });
    const said = await say(folder, ['add-batch', 'a.json']);
    expect(said).toMatchObject({ status: 0, stdout: expect.stringContaining('to the batch "mine"') });
    expect(said.stderr).toContain('the settings max_concurrent and fail_fast in the file');
  });
});

describe('what a command says to do next', () => {
  it('names the configuration that it was given', SLOW, async () => {
    const tasks = fileOf([read('one', 'missing'), { ...read('two', 'a.json'), depends_on: ['one'] }]);
    const folder = folderWith({ 'a.json': tasks, 'my conf/volley.toml': '[tools]\nroots = [".."]\n' });
    const config = ['--config', 'my conf/volley.toml'];
    const place = "--batch a --config 'my conf/volley.toml'";
    const added = await say(folder, ['add-batch', 'a.json', '--batch', 'a', ...config]);
    expect(added.stdout).toContain(`volley start ${place}\n`);
    const run = await say(folder, ['run', 'a.json', ...config]);
    expect(run.stdout).toContain(`volley retry ${place}`);
    expect(run.stdout).toContain(`volley results ${place} --filter-status failed`);
    expect((await say(folder, ['explain', ...config])).stdout).toContain(`volley retry ${place} reopens`);
    const more = fileOf([read('one', 'a.json'), { ...read('new', 'a.json'), depends_on: ['one'] }]);
    writeFileSync(join(folder, 'a.json'), more);
    const planned = await say(folder, ['run', 'a.json', '--dry-run', ...config]);
    expect(planned.stderr).toContain(`volley clear ${place} first`);
    expect(planned.stdout).toContain(`To reopen, run: volley retry ${place}`);
  });

  it('names the batch, so that it can be typed as it stands', SLOW, async () => {
    const folder = folderWith({ 'a.json': fileOf([read('one', 'missing')]) });
    const added = await say(folder, ['add-batch', 'a.json', '--batch', "it's $& mine"]);
    expect(added.stdout).toContain("Run it with: volley start --batch 'it'\\''s $& mine'\n");
    await say(folder, ['add-batch', 'a.json', '--batch', 'default']);
    await say(folder, ['start', '--batch', "it's $& mine"]);
    const waited = await say(folder, ['wait', '--batch', "it's $& mine"]);
    expect(waited.stdout).toContain("volley retry --batch 'it'\\''s $& mine' reopens them.");
    expect((await say(folder, ['status'])).stdout).not.toContain('--batch');
  });
});

describe('a batch that nobody named', () => {
  it('is neither cleared nor cancelled, though there is no other', SLOW, async () => {
    const folder = folderWith({ 'a.json': fileOf([read('one', 'a.json')]) });
    expect(await say(folder, ['clear'])).toMatchObject({ status: 0 });
    await say(folder, ['run', 'a.json']);
    await say(folder, ['add', '--batch', 'a', '--function', 'read_file', '--params', '{"path":"a.json"}']);
    expect(await say(folder, ['clear'])).toMatchObject({ status: 0, stdout: expect.stringContaining('"a"') });
    expect(await say(folder, ['cancel', '--all'])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('"a"'),
    });
    expect(await batches(folder)).toMatchObject([{ counts: { completed: 1, open: 1 } }]);
    expect(await say(folder, ['status'])).toMatchObject({ status: 0 });
    expect((await say(folder, ['help', 'clear'])).stdout).toContain('(default: "default")');
    expect((await say(folder, ['help', 'stop'])).stdout).toMatch(/"default",\s+or the only one/);
  });
});

describe('what is not there', () => {
  it('is said to be not there: a batch to clear, a part behind the end of a result', SLOW, async () => {
    const folder = folderWith({ 'a.json': fileOf([read('one', 'a.json')]) });
    expect(await say(folder, ['clear', '--batch', 'b'])).toMatchObject({
      status: 0,
      stdout: 'Nothing to clear. There is no batch "b". There are no batches yet.\n',
    });
    await say(folder, ['run', 'a.json']);
    const behind = await say(folder, ['results', '--id', 'one', '--offset', '9999']);
    expect(behind.stdout).toMatch(/^The result of one .* 9999 .*\n$/);
  });
});

describe('status and list', () => {
  it('answer in an empty folder', SLOW, async () => {
    for (const command of ['status', 'list']) {
      const folder = folderWith();
      expect(await say(folder, [command])).toEqual({
        status: 0,
        stdout: 'No batches yet. Add tasks first.\n',
        stderr: '',
      });
      expect(existsSync(join(folder, '.volley'))).toBe(false);
    }
    expect(await say(folderWith(), ['status', '--batch', 'nope'])).toMatchObject({ status: 2 });
  });

  it('show the state and the times of each batch', SLOW, async () => {
    const folder = folderWith({ 'a.json': fileOf([read('one', 'a.json')]) });
    await say(folder, ['run', 'a.json']);
    await say(folder, ['add-batch', 'a.json', '--batch', 'b']);
    const { stdout } = await say(folder, ['list']);
    expect(stdout).toMatch(/^- "a" has ended, 1 task: 1 completed; started \S+Z, took \d+(\.\d+)? \w+$/m);
    expect(stdout).toMatch(/^- "b" has not started, 1 task: 1 open; created \S+Z$/m);
    expect(await batches(folder)).toMatchObject([
      { batch: 'a', state: 'idle', started_at: expect.any(String), ended_at: expect.any(String) },
      { batch: 'b', state: 'idle', created_at: expect.any(String) },
    ]);
  });
});

describe('watch', () => {
  it('does not take a batch for done that nobody runs', SLOW, async () => {
    const folder = folderWith({ 'a.json': fileOf([read('one', 'a.json')]) });
    await say(folder, ['add-batch', 'a.json']);
    expect(await say(folder, ['watch'])).toMatchObject({ status: 1 });
    await say(folder, ['start']);
    expect(await say(folder, ['watch'])).toMatchObject({ status: 0 });
  });
});

describe('watch of a batch that another process runs', () => {
  it('shows how fast it goes and what is left, as that one would', SLOW, async () => {
    const folder = folderWith({ 'volley.toml': '' });
    const calls = new HeldCalls();
    const tools = [calls.tool('held', { idempotent: true })];
    const { ask } = await openRig(tools, undefined, join(folder, '.volley/volley.db'));
    const tasks = ['a', 'b'].map((key) => ({ id: key, function: 'held', params: { key } }));
    await ask('add_batch', { tasks });
    await ask('start', { max_concurrent: 1 });
    await calls.started('a');
    calls.finish('a');
    await calls.started('b');
    const stdout = new PassThrough().setEncoding('utf8');
    let shown = '';
    stdout.on('data', (text) => {
      shown += text;
    });
    const io = {
      stdout: outputTo(stdout),
      stderr: outputTo(new PassThrough()),
      env: {},
      cwd: folder,
    } as unknown as Io;
    const watched = runProgram(['watch', '--json'], COMMANDS, '1.2.3', io);
    const views = () =>
      shown
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line || '{}'));
    await expect
      .poll(() => views().at(-1), { timeout: 60_000 })
      .toMatchObject({
        state: 'elsewhere',
        rate_per_second: expect.any(Number),
        time_left: { expected_seconds: expect.any(Number) },
      });
    calls.finish('b');
    expect(await watched).toBe(0);
    expect(views().at(-1)).toMatchObject({ state: 'idle', counts: { completed: 2 } });
  });
});

describe('--json', () => {
  it.each([
    [['start', '--btch', 'x'], "unknown option '--btch' (Did you mean --batch?)"],
    [['add'], "required option '--function <name>' not specified"],
    [['start', '--timeout', 'soon'], 'Must be a number.'],
    [['tasks'], 'status, next,'],
    [['tasks', 'next', '--frist'], "unknown option '--frist'"],
    [['statsu'], "unknown command 'statsu' (Did you mean status?)"],
  ])('says what is wrong with the command line itself: %j', SLOW, async (argv, words) => {
    const said = await say(folderWith(), [...argv, '--json']);
    expect(said).toMatchObject({ status: 2, stderr: '' });
    const answer = JSON.parse(said.stdout);
    expect(answer).toMatchObject({ ok: false, error: { code: 'INVALID_VALUE' } });
    expect(answer.error.message).toContain(words);
  });

  it('a doctor tells of a mistake in the configuration beside all the rest', SLOW, async () => {
    const folder = folderWith({ 'volley.toml': '[defaults]\nmax_concurency = 3\n' });
    const told = await say(folder, ['doctor', '--json']);
    expect(told).toMatchObject({ status: 2, stderr: '' });
    expect(JSON.parse(told.stdout)).toMatchObject({
      ok: false,
      config: join(folder, 'volley.toml'),
      error: { code: 'INVALID_CONFIG', problems: [{ line: 2 }] },
      layers: expect.arrayContaining([expect.objectContaining({ name: 'process-group', active: true })]),
    });
    const shown = await say(folder, ['doctor']);
    expect(shown.status).toBe(2);
    expect(shown.stdout).toMatch(/✓ node .*\n✗ configuration .*1 problem/);
    expect(shown.stdout).toMatch(/volley\.toml:2:(.|\n)*\n✓ process-group /);
  });

  it(
    'has the same words for a batch that has ended, with what failed in it, in status and in watch',
    SLOW,
    async () => {
      const tasks = [read('one', 'a.json'), read('two', 'gone.txt'), read('three', 'gone too.txt')];
      const folder = folderWith({ 'a.json': fileOf(tasks) });
      expect((await say(folder, ['run', 'a.json'])).status).toBe(1);
      const { data, text } = JSON.parse((await say(folder, ['status', '--json'])).stdout);
      const failed = ['two', 'three'].map((id) => expect.objectContaining({ id, reason: 'error' }));
      expect(data).toMatchObject({ state: 'idle', last_failures: expect.arrayContaining(failed) });
      expect(text).toContain('Last failures:\n- ');
      const { ok, progress, ...watched } = JSON.parse((await say(folder, ['watch', '--json'])).stdout);
      // One of three is done: failures are not.
      expect([ok, progress, watched]).toEqual([true, 1 / 3, data]);
    },
  );

  it.each([[['tools']], [['doctor']], [['watch']]])('is an object that says ok: %j', SLOW, async (argv) => {
    const folder = folderWith({ 'a.json': fileOf([read('one', 'a.json')]) });
    await say(folder, ['run', 'a.json']);
    expect(JSON.parse((await say(folder, [...argv, '--json'])).stdout)).toMatchObject({ ok: true });
  });
});
