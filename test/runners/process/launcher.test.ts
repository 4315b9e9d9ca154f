import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { codeOf, thrownBy } from '../../engine/support/errors.ts';
import { isAlive } from '../../support/alive.ts';
import { until } from '../../support/until.ts';
import { LAUNCHERS, Launched, opened, PLAIN_ENV, shell } from './support/launch.ts';

const SUCCESS = { exitCode: 0, signal: undefined, startError: undefined };

/** A new folder, and its real path. */
function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'volley-launcher-')));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

describe.each(LAUNCHERS)('a launcher by %s', (_, create) => {
  test('runs a program, gives its output and error output apart, and its exit status', async () => {
    const launched = shell(opened(create()), 'printf out; printf err >&2; exit 3');
    expect(await launched.end).toMatchObject({ exitCode: 3, signal: undefined, startError: undefined });
    expect([launched.text(), launched.text('stderr')]).toEqual(['out', 'err']);
    expect(launched.calls).toEqual(['started', 'data', 'ended']);
  });

  test('passes arguments as they are, whatever is in them', async () => {
    const args = ['', ' ', '$HOME', 'a\nb', "it's", '"', '-n', 'ü€😀'];
    const launched = new Launched(opened(create()), ['printf', '%s|', ...args]);
    expect(await launched.end).toMatchObject(SUCCESS);
    expect(launched.text()).toBe(args.map((arg) => `${arg}|`).join(''));
  });

  test('gives the environment that was asked for and nothing else', async () => {
    const env = { ...PLAIN_ENV, EMPTY: '', TWO: 'a=b', LINES: 'x\ny' };
    const launched = new Launched(
      opened(create()),
      ['perl', '-e', 'print map { "$_<$ENV{$_}>" } sort keys %ENV'],
      {
        env,
      },
    );
    await launched.end;
    expect(launched.text()).toBe(`EMPTY<>LINES<x\ny>PATH<${PLAIN_ENV.PATH}>TWO<a=b>`);
  });

  test('runs in the folder that was asked for', async () => {
    const folder = temporaryFolder();
    const launched = shell(opened(create()), 'pwd', { cwd: folder });
    await launched.end;
    expect(launched.text()).toBe(`${folder}\n`);
  });

  test('carries megabytes through input and output unharmed, also zeros', async () => {
    const bytes = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => (index * 7) % 256));
    const launched = new Launched(opened(create()), ['cat'], { input: true });
    launched.process.write(bytes.subarray(0, 1_000_001));
    launched.process.write(bytes.subarray(1_000_001));
    launched.process.endInput();
    expect(await launched.end).toMatchObject(SUCCESS);
    expect(Buffer.concat(launched.bytes.stdout).equals(bytes)).toBe(true);
  });

  test('gives an empty input where none was asked for', async () => {
    const launched = new Launched(opened(create()), ['cat']);
    launched.process.write('nobody reads this');
    expect(await launched.end).toMatchObject(SUCCESS);
    expect(launched.text()).toBe('');
  });

  test('survives a program that does not read its input, and one that ends before it', async () => {
    const launcher = opened(create());
    const stubborn = shell(launcher, 'echo ready; exec sleep 1000', { input: true });
    stubborn.process.write(Buffer.alloc(2_000_000));
    const hasty = shell(launcher, 'exit 4', { input: true });
    hasty.process.write(Buffer.alloc(2_000_000));
    hasty.process.endInput();
    expect((await hasty.end).exitCode).toBe(4);
    await until(() => stubborn.text() === 'ready\n', 'the stubborn one runs');
    stubborn.process.kill('SIGKILL');
    expect((await stubborn.end).signal).toBe('SIGKILL');
  });

  test('takes what the program writes to descriptor 3 as a channel of its own', async () => {
    const launched = shell(opened(create()), 'echo out; echo message >&3', { channel: true });
    await launched.end;
    expect([launched.text(), launched.text('channel')]).toEqual(['out\n', 'message\n']);
  });

  test('leaves no descriptor open in the program but its own', async () => {
    const launcher = opened(create());
    const others = [
      shell(launcher, 'read line', { input: true }),
      shell(launcher, 'read line', { input: true }),
    ];
    await Promise.all(others.map(({ started }) => started));
    const script = 'for n in 3 4 5 6 7 8 9; do if (: >&$n) 2>/dev/null; then echo $n; fi; done';
    const launched = shell(launcher, script);
    await launched.end;
    expect(launched.text()).toBe('');
    for (const other of others) other.process.endInput();
    await Promise.all(others.map(({ end }) => end));
  });

  test('tells which signal ended a program', async () => {
    const launched = shell(opened(create()), 'kill -s USR1 $$');
    expect(await launched.end).toMatchObject({ exitCode: undefined, signal: 'SIGUSR1' });
  });

  test.each([
    ['a program that does not exist', { argv: ['no-such-program'] as const }, /no-such-program/],
    ['a file that may not be run', { argv: ['/etc/passwd'] as const }, /\/etc\/passwd: .*ermission/],
    ['an argument that is too long', { argv: ['true', 'x'.repeat(300_000)] as const }, /too long|E2BIG/],
    ['a text with a NUL', { argv: ['echo', 'a\0b'] as const }, /NUL/],
    ['a folder that does not exist', { argv: ['true'] as const, cwd: '/no/folder' }, /\/no\/folder/],
  ])('says why %s is not started', async (_, { argv, ...options }, reason) => {
    for (const limits of [{}, { openFiles: 64 }]) {
      const launched = new Launched(opened(create()), [...argv], { ...options, limits });
      const end = await launched.end;
      expect(end).toMatchObject({ exitCode: undefined, signal: undefined });
      expect(end.startError).toMatch(reason);
    }
  });

  test('signals the whole group', async () => {
    const launched = shell(opened(create()), 'sleep 1000 & echo $!; wait');
    await until(() => launched.text() !== '', 'both run');
    const child = Number(launched.text());
    launched.process.kill('SIGTERM');
    expect((await launched.end).signal).toBe('SIGTERM');
    expect(isAlive(child)).toBe(false);
  });

  test('does not lose a signal that comes before the program runs', async () => {
    const launcher = opened(create());
    const launched = Array.from({ length: 20 }, () => shell(launcher, 'exec sleep 1000'));
    for (const { process } of launched) process.kill('SIGTERM');
    for (const { end } of launched) expect((await end).signal).toBe('SIGTERM');
  });

  test('kills what is left of the group when the program itself has ended', async () => {
    const launched = shell(opened(create()), 'trap "" TERM HUP; sleep 1000 & echo $!');
    expect(await launched.end).toMatchObject(SUCCESS);
    const pid = Number(launched.text());
    expect(pid).toBeGreaterThan(1);
    expect(isAlive(pid)).toBe(false);
  });

  test('does not wait for a process that left the group and holds the output open', async () => {
    const launcher = opened(create());
    const folder = temporaryFolder();
    // The file is there only when the process is in its own session, so that the program ends after that.
    const daemon = `setsid sh -c 'echo $$ > ${folder}/pid; exec sleep 1000' &`;
    const launched = shell(launcher, `${daemon} until [ -s ${folder}/pid ]; do sleep 0.01; done; echo done`);
    expect(await launched.end).toMatchObject(SUCCESS);
    expect(launched.text()).toBe('done\n');
    // Nobody promises more of it without a sandbox.
    const pid = Number(readFileSync(`${folder}/pid`, 'utf8'));
    if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  });

  test('sets the limits for open files, CPU time, data and the size of files', async () => {
    const limits = { openFiles: 64, cpuSeconds: 7, dataBytes: 512 * 2 ** 20, fileBytes: 2 ** 20 };
    const launched = shell(opened(create()), 'ulimit -n; ulimit -t; ulimit -d; ulimit -f; ulimit -c', {
      limits,
    });
    await launched.end;
    expect(launched.text()).toBe(`64\n7\n${512 * 1024}\n2048\n0\n`);
  });

  test('sets a limit for processes', async () => {
    const script = 'ulimit -u 2>/dev/null || ulimit -p';
    const launched = shell(opened(create()), script, { limits: { processes: 77 } });
    await launched.end;
    expect(launched.text()).toBe('77\n');
  });

  test('ends a program that uses up its CPU time', async () => {
    const launched = shell(opened(create()), 'while :; do :; done', { limits: { cpuSeconds: 1 } });
    expect((await launched.end).signal).toBe('SIGXCPU');
  });

  test('enters the cgroups before the program starts', async () => {
    // Any file will do to see that the process writes its number there.
    const folder = temporaryFolder();
    const files = [join(folder, 'cgroup.procs'), join(folder, "it's tasks")];
    for (const file of files) writeFileSync(file, '');
    const launched = shell(opened(create()), 'echo $$', { cgroups: files });
    await launched.end;
    for (const file of files) expect(readFileSync(file, 'utf8').trim()).toBe(launched.text().trim());
  });

  test('does not start a program that cannot enter its cgroup', async () => {
    const launched = shell(opened(create()), 'echo here', { cgroups: ['/no/such/cgroup.procs'] });
    const end = await launched.end;
    expect(launched.text()).toBe('');
    expect(end.exitCode === 0).toBe(false);
  });

  test('runs hundreds at the same time', { timeout: 180_000 }, async () => {
    const launcher = opened(create());
    const count = 200;
    const all = Array.from({ length: count }, (_, index) =>
      shell(launcher, `read line; echo ${index}-$line`, { input: true }),
    );
    await Promise.all(all.map(({ started }) => started));
    for (const { process } of all) {
      process.write('go\n');
      process.endInput();
    }
    const ends = await Promise.all(all.map(({ end }) => end));
    expect(ends.filter(({ exitCode }) => exitCode === 0).length).toBe(count);
    expect(all.map((launched) => launched.text())).toEqual(all.map((_, index) => `${index}-go\n`));
  });

  test('kills all that runs when it is closed, and launches nothing afterwards', async () => {
    const launcher = create();
    const launched = shell(launcher, 'sleep 1000 & echo $!; wait');
    await until(() => launched.text() !== '', 'both run');
    await launcher.close();
    expect(launched.calls.at(-1)).toBe('ended');
    expect((await launched.end).signal).toBe('SIGKILL');
    expect([await launched.started, Number(launched.text())].map(isAlive)).toEqual([false, false]);
    expect(codeOf(thrownBy(() => shell(launcher, 'true')))).toBe('RUNNER_CLOSED');
    await launcher.close();
  });
});
