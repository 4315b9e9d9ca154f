import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MIGRATIONS } from '../../src/store/migrations.ts';
import { say } from '../cli/support/program.ts';
import { change } from '../store/support/raw.ts';
import { trustFolder } from '../support/trust.ts';
import { DEFINE, type Ended, endOf, runBuilt, startBuilt } from './support/built-volley.ts';
import { project } from './support/project.ts';

const SLOW = { timeout: 300_000 };
const TOOLS = `
${DEFINE}
import { appendFileSync, existsSync } from 'node:fs';
export const note = defineTool({
  name: 'note',
  idempotent: true,
  resources: { cpu: 0.01, memoryMb: 1 },
  run: async ({ key, ms = 0, bytes = 0, until }) => {
    appendFileSync('log.txt', 'start ' + key + '\\n');
    do await new Promise((resolve) => setTimeout(resolve, ms));
    while (until !== undefined && !existsSync(until));
    return 'x'.repeat(bytes);
  },
});
`;
const files = { 'volley.toml': '[tools]\nmodules = ["./tools.mjs"]\n', 'tools.mjs': TOOLS };
const STORE = '.volley/volley.db';

function tasks(count: number, params: object = {}): string {
  const list = Array.from({ length: count }, (_, index) => ({
    id: `t${index}`,
    function: 'note',
    params: { key: `t${index}`, ...params },
  }));
  return JSON.stringify({ max_concurrent: 4, tasks: list });
}

/** The same, but all except the first wait for the file `go`. */
function heldTasks(count: number): string {
  return tasks(count, { ms: 20, until: 'go' }).replace(',"until":"go"', '');
}

/** Said in a few lines for people, without a place in the code. */
function expectClear(ended: Ended, status: number, ...parts: string[]): void {
  for (const part of parts) expect(ended.stderr).toContain(part);
  expect(ended.status).toBe(status);
  expect(ended.stderr).not.toMatch(/^\s+at /m);
  expect(ended.stderr.length).toBeLessThan(2000);
}

function startsIn(folder: string): string[] {
  const log = join(folder, 'log.txt');
  return existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
}

async function untilStarts(folder: string, count: number): Promise<void> {
  await expect
    .poll(() => startsIn(folder).length, { timeout: 60_000, interval: 10 })
    .toBeGreaterThanOrEqual(count);
}

const isRoot = process.getuid?.() === 0;
const works = (...[command, ...args]: string[]) => spawnSync(command!, args).status === 0;
const OWN_MOUNTS = isRoot ? ['unshare', '-m'] : ['unshare', '-Urm'];
/** Permissions of files hold for root as well without these rights. */
const OBEYING_PERMISSIONS = isRoot ? ['setpriv', '--bounding-set', '-dac_override,-dac_read_search'] : [];

describe('a full disk', () => {
  it(
    'stops the batch with a clear message, and the same command goes on when there is room',
    SLOW,
    async (context) => {
      context.skip(
        !works(...OWN_MOUNTS, 'mount', '-t', 'tmpfs', 'tmpfs', '/tmp'),
        'no file system of its own here',
      );
      const folder = project({ ...files, 'work.json': tasks(60, { bytes: 100_000 }) });
      mkdirSync(join(folder, '.volley'));
      // Everything happens in one shell, for the file system is there for it alone.
      const script = `mount -t tmpfs -o size=12m tmpfs .volley && head -c 7000000 /dev/zero > .volley/ballast
      "$@"; echo "status $?"; echo "begin again" >&2; rm .volley/ballast; "$@"; echo "status $?"`;
      const ended = await runBuilt(folder, ['run', 'work.json'], {
        before: [...OWN_MOUNTS, 'sh', '-c', script, 'sh'],
      });
      const [first, second] = ended.stderr.split('begin again');
      expectClear({ ...ended, stderr: first! }, 0, 'ended early', 'the disk is full. Free some space');
      expect(ended.stdout).toContain('status 1\n');
      expect(second).not.toMatch(/error/);
      expect(ended.stdout).toContain('all 60 tasks completed');
      expect(ended.stdout).toMatch(/status 0\n$/);
      // What was safe before it was full did not run again: only what ran.
      const starts = startsIn(folder);
      expect(starts.length).toBeGreaterThan(60);
      expect(starts.length).toBeLessThanOrEqual(64);
    },
  );

  it('is told alike where a limit of the system stands in for it', SLOW, async () => {
    const folder = project({ ...files, 'work.json': tasks(60, { bytes: 100_000 }) });
    const ended = await runBuilt(folder, ['run', 'work.json'], {
      before: ['sh', '-c', 'ulimit -f 4000 && exec "$0" "$@"'],
    });
    expectClear(ended, 1, 'ended early: The store', 'is not available');
    const again = await runBuilt(folder, ['run', 'work.json']);
    expect(again).toMatchObject({ status: 0, stdout: expect.stringContaining('all 60 tasks completed') });
  });
});

describe('a folder that may not be written', () => {
  it.skipIf(isRoot && !works('setpriv', '--version'))(
    'is named by whatever adds something, and can be looked into',
    SLOW,
    async () => {
      const folder = project({ ...files, 'work.json': tasks(1) });
      const before = OBEYING_PERMISSIONS;
      chmodSync(folder, 0o555);
      onTestFinished(() => chmodSync(folder, 0o755));
      const commands = [
        ['run', 'work.json'],
        ['add', '--function', 'note'],
      ];
      for (const ended of await Promise.all(commands.map((args) => runBuilt(folder, args, { before }))))
        expectClear(ended, 2, `The store ${join(folder, STORE)} is not available`, 'EACCES');
      expect((await runBuilt(folder, ['list'], { before })).stdout).toContain('No batches yet');
      expect(readdirSync(folder).sort()).toEqual(['tools.mjs', 'volley.toml', 'work.json']);
    },
  );
});

describe('a tool that does not stop when its time is up', () => {
  it('does not keep the program from ending', SLOW, async () => {
    const [task] = JSON.parse(tasks(1, { ms: 1000, until: 'never' })).tasks;
    const folder = project({ ...files, 'work.json': JSON.stringify([{ ...task, timeout: 0.1 }]) });
    const ended = await runBuilt(folder, ['run', 'work.json'], { before: ['timeout', '200'] });
    expectClear(ended, 1, 'timeout: t0 (note) ran longer than its limit of 100 ms');
    expect(ended.stdout).toContain('Next\n');
  });
});

describe('a store that is deleted while a batch runs', () => {
  it('ends the run, which says so; the same command begins anew', SLOW, async () => {
    const folder = project({ ...files, 'work.json': heldTasks(12) });
    await trustFolder(folder);
    const running = endOf(startBuilt(folder, ['run', 'work.json']));
    await untilStarts(folder, 5);
    rmSync(join(folder, '.volley'), { recursive: true });
    writeFileSync(join(folder, 'go'), '');
    expectClear(await running, 1, 'ended early', 'deleted or replaced while it was open');
    expect(existsSync(join(folder, '.volley'))).toBe(false);
    const again = await runBuilt(folder, ['run', 'work.json', '--max-concurrent', '12']);
    expect(again).toMatchObject({ status: 0, stdout: expect.stringContaining('all 12 tasks completed') });
  });
});

describe('a store that cannot be read', () => {
  it('is never changed, and every command says what to do', SLOW, async () => {
    const folder = project({ ...files, 'work.json': tasks(2000) });
    expect(await say(folder, ['add-batch', 'work.json'])).toMatchObject({ status: 0 });
    truncateSync(join(folder, STORE), 20_000);
    const before = readFileSync(join(folder, STORE));
    const commands = [['status', '--batch', 'work'], ['clear'], ['recover']];
    const ends = [await runBuilt(folder, ['run', 'work.json'])];
    for (const args of commands) ends.push(await say(folder, args));
    for (const ended of ends) {
      expectClear(ended, 2, 'It was not changed. Move it away together with', 'or restore a backup');
    }
    expect(readFileSync(join(folder, STORE))).toEqual(before);
  });

  it('because a newer Volley has written it is left to that one', SLOW, async () => {
    const folder = project({ ...files, 'work.json': tasks(1) });
    expect(await say(folder, ['add-batch', 'work.json'])).toMatchObject({ status: 0 });
    change(join(folder, STORE), 'PRAGMA user_version = 999');
    for (const ended of [await runBuilt(folder, ['run', 'work.json']), await say(folder, ['list'])])
      expectClear(ended, 2, 'uses store format 999', 'Update Volley');
    change(join(folder, STORE), `PRAGMA user_version = ${MIGRATIONS.at(-1)!.version}`);
    expect((await say(folder, ['list'])).stdout).toContain('1 open');
  });
});

describe('processes on one store', () => {
  it('that want the same batch at the same moment run it once', SLOW, async () => {
    const folder = project({ ...files, 'work.json': tasks(40, { ms: 100 }) });
    const ends = await Promise.all(Array.from({ length: 3 }, () => runBuilt(folder, ['run', 'work.json'])));
    expect(ends.filter(({ stdout }) => stdout.includes('all 40 tasks completed')).length).toBeGreaterThan(0);
    for (const ended of ends) {
      if (ended.status === 0) continue;
      expectClear(ended, 2, 'The batch "work" is being run by process', 'Other batches can run meanwhile');
    }
    expect(startsIn(folder).sort()).toEqual(
      Array.from({ length: 40 }, (_, index) => `start t${index}`).sort(),
    );
  });

  it('run different batches at once', SLOW, async () => {
    const folder = project({ ...files, 'a.json': tasks(20, { ms: 50 }), 'b.json': tasks(20, { ms: 50 }) });
    const ends = await Promise.all(['a.json', 'b.json'].map((file) => runBuilt(folder, ['run', file])));
    for (const ended of ends)
      expect(ended).toMatchObject({ status: 0, stdout: expect.stringContaining('all 20 tasks completed') });
    expect(startsIn(folder)).toHaveLength(40);
  });
});

describe('a clock that jumps', () => {
  const YEAR_MS = 365 * 24 * 3600 * 1000;
  /** The time of day of the whole process, which a tool can set. */
  const CLOCK = `
    const { now } = Date;
    globalThis.leapMs = 0;
    globalThis.Date = class extends Date {
      constructor(...args) { super(...(args.length === 0 ? [now() + globalThis.leapMs] : args)); }
      static now() { return now() + globalThis.leapMs; }
    };`;
  const LEAP = `
    export const leap = defineTool({
      name: 'leap',
      idempotent: true,
      resources: { cpu: 0.01, memoryMb: 1 },
      run: ({ ms }) => { globalThis.leapMs = ms; },
    });
    export const flaky = defineTool({
      name: 'flaky',
      idempotent: true,
      resources: { cpu: 0.01, memoryMb: 1 },
      retry: { maxRetries: 1, delayMs: 100 },
      run: (_, { attempt }) => { if (attempt === 1) throw new Error('not yet'); },
    });`;

  it.each([
    ['forwards', YEAR_MS],
    ['backwards', -YEAR_MS],
  ])('%s neither holds a batch up nor ends it, and nobody else gets it', SLOW, async (_, ms) => {
    const list = [
      { id: 'before', function: 'note', params: { key: 'before', ms: 200 }, timeout: 300 },
      { id: 'leap', function: 'leap', params: { ms } },
      { id: 'flaky', function: 'flaky', depends_on: ['leap'] },
      {
        id: 'after',
        function: 'note',
        params: { key: 'after', ms: 10, until: 'go' },
        timeout: 300,
        depends_on: ['leap'],
      },
    ];
    const folder = project({
      ...files,
      'tools.mjs': TOOLS + LEAP,
      'clock.mjs': CLOCK,
      'work.json': JSON.stringify({ timeout: 600, tasks: list }),
    });
    const env = { NODE_OPTIONS: `--import ${new URL(`file://${join(folder, 'clock.mjs')}`).href}` };
    await trustFolder(folder);
    const running = endOf(startBuilt(folder, ['run', 'work.json'], { env }));
    await expect.poll(() => startsIn(folder), { timeout: 60_000 }).toContain('start after');
    const [second, recovery] = await Promise.all([
      say(folder, ['start', '--batch', 'work']),
      say(folder, ['recover']),
    ]);
    expectClear(second!, 2, 'is being run by process');
    expect(recovery!.stdout).toContain('Nothing to recover');
    writeFileSync(join(folder, 'go'), '');
    const ended = await running;
    expect(ended).toMatchObject({ status: 0, stdout: expect.stringContaining('all 4 tasks completed') });
    // By the steady clock it took no year.
    expect(ended.stdout.split('\n')[0]).toMatch(/ in [\d.]+ (ms|s|min)\b/);
    const { data } = JSON.parse((await say(folder, ['results', '--format', 'json', '--json'])).stdout);
    for (const { duration_ms } of data.results) expect(duration_ms).toBeGreaterThanOrEqual(0);
  });

  it('between a crash and the next start does not keep the batch from going on', SLOW, async () => {
    const folder = project({ ...files, 'clock.mjs': CLOCK, 'work.json': heldTasks(8) });
    await trustFolder(folder);
    const first = startBuilt(folder, ['run', 'work.json']);
    const killed = endOf(first);
    await untilStarts(folder, 5);
    first.kill('SIGKILL');
    expect(await killed).toMatchObject({ status: null });
    writeFileSync(join(folder, 'go'), '');
    writeFileSync(join(folder, 'clock.mjs'), CLOCK.replace('leapMs = 0', `leapMs = ${-YEAR_MS}`));
    const env = { NODE_OPTIONS: `--import ${new URL(`file://${join(folder, 'clock.mjs')}`).href}` };
    const again = await runBuilt(folder, ['run', 'work.json'], { env });
    expect(again).toMatchObject({ status: 0, stdout: expect.stringContaining('all 8 tasks completed') });
  });
});
