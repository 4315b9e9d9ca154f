import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ToolFailure } from '../../../src/engine/tool-failure.ts';
import { type CommandOptions, runCommand } from '../../../src/runners/process/command.ts';
import { createLauncher } from '../../../src/runners/process/helper-launcher.ts';
import { codeOf, rejectionOf } from '../../engine/support/errors.ts';
import { isAlive } from '../../support/alive.ts';
import { until } from '../../support/until.ts';
import { LAUNCHERS, opened, PLAIN_ENV } from './support/launch.ts';

function command(script: string, options: Partial<CommandOptions> = {}): CommandOptions {
  return { argv: ['/bin/sh', '-c', script], cwd: '/', env: PLAIN_ENV, limits: {}, ...options };
}

describe('runCommand', () => {
  test('gives exit status and output of a command, whatever the status', async () => {
    const result = await runCommand(opened(createLauncher()), command('echo out; echo err >&2; exit 3'));
    expect(result).toEqual({
      exitCode: 3,
      signal: undefined,
      stdout: 'out\n',
      stderr: 'err\n',
      truncated: false,
      durationMs: expect.any(Number),
      usage: { cpuMs: expect.any(Number), durationMs: expect.any(Number) },
    });
  });

  test('gives the input to the command', async () => {
    const input = `${'x'.repeat(300_000)}\n`;
    const result = await runCommand(opened(createLauncher()), command('wc -c', { input }));
    expect(Number(result.stdout)).toBe(input.length);
  });

  test('tells of output as it comes, and of the start', async () => {
    const seen: string[] = [];
    const options = command('echo one; echo two >&2', {
      onStarted: (pid) => seen.push(typeof pid),
      onOutput: (stream, chunk) => seen.push(`${stream} ${chunk.toString()}`),
    });
    await runCommand(opened(createLauncher()), options);
    expect(seen[0]).toBe('number');
    expect(seen.slice(1).sort()).toEqual(['stderr two\n', 'stdout one\n']);
  });

  test('keeps the beginning and the end of a long output, and says how much is left out', async () => {
    const script = 'printf first; head -c 300000 /dev/zero | tr "\\0" "é" | tr "\\0-\\377" x; printf last';
    const { stdout, truncated } = await runCommand(opened(createLauncher()), command(script));
    expect(truncated).toBe(true);
    expect(stdout.startsWith('firstxxx')).toBe(true);
    expect(stdout.endsWith('xxxlast')).toBe(true);
    const left = 300_009 - 65_536;
    expect(stdout).toContain(`\n[… ${left} bytes left out …]\n`);
    expect(stdout.length).toBeLessThan(66_000);
  });

  test('cuts no character in half', async () => {
    const script = 'printf x; i=0; while [ $i -lt 5000 ]; do printf "€€€€€€€€€€"; i=$((i+1)); done';
    const { stdout, truncated } = await runCommand(opened(createLauncher()), command(script));
    expect(truncated).toBe(true);
    expect(stdout.replace(/\n\[… \d+ bytes left out …\]\n/, '')).toMatch(/^x€+$/);
  });

  test('ends a command that writes too much', async () => {
    const options = command('echo $$ >&2; cat /dev/zero', { limits: { outputBytes: 1_000_000 } });
    const error = await rejectionOf(runCommand(opened(createLauncher()), options));
    expect(error).toBeInstanceOf(ToolFailure);
    expect(error).toMatchObject({ reason: 'error', retryable: false });
    expect((error as Error).message).toContain('1000000 bytes');
    expect(codeOf((error as Error).cause)).toBe('OUTPUT_LIMIT');
  });

  test('rejects with what the signal says after an abort, when the whole group is gone', async () => {
    const controller = new AbortController();
    let output = '';
    const options = command('sleep 1000 & echo $$ $!; wait', {
      signal: controller.signal,
      onOutput: (_, chunk) => {
        output += chunk.toString();
      },
    });
    const running = rejectionOf(runCommand(opened(createLauncher()), options));
    await until(() => output !== '', 'it runs');
    const reason = new Error('enough');
    controller.abort(reason);
    expect(await running).toBe(reason);
    expect(output.trim().split(' ').map(Number).map(isAlive)).toEqual([false, false]);
  });

  test('lets a command end in its own way after an abort, but not for ever', async () => {
    const controller = new AbortController();
    let output = '';
    const script = 'trap "echo cleaned" TERM; echo $$; while :; do sleep 0.05; done';
    const options = command(script, {
      signal: controller.signal,
      onOutput: (_, chunk) => {
        output += chunk.toString();
      },
    });
    const running = rejectionOf(runCommand(opened(createLauncher()), options));
    await until(() => output !== '', 'it runs');
    // The test says when its time is up: however slow the machine is, it may clean up before.
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    controller.abort('stop');
    await until(() => output.includes('cleaned'), 'it cleaned up');
    vi.advanceTimersByTime(200);
    expect(await running).toBe('stop');
    expect(isAlive(Number(output.split('\n')[0]))).toBe(false);
  });

  test('starts nothing if it was aborted before', async () => {
    const launcher = opened(createLauncher());
    const options = command('true', { signal: AbortSignal.abort('early') });
    expect(await rejectionOf(runCommand(launcher, options))).toBe('early');
  });

  test('rejects if the program cannot be started', async () => {
    const options = { ...command(''), argv: ['no-such-program'] } as const;
    const error = await rejectionOf(runCommand(opened(createLauncher()), options));
    expect(codeOf(error)).toBe('PROCESS_NOT_STARTED');
    expect((error as Error).message).toMatch(/^no-such-program could not be started: .*No such file/);
  });

  test('sets limits for open files and for memory', async () => {
    const limits = { openFiles: 50, memoryMb: 100 };
    const { stdout } = await runCommand(
      opened(createLauncher()),
      command('ulimit -n; ulimit -d', { limits }),
    );
    expect(stdout).toBe(`50\n${100 * 1024}\n`);
  });

  test('forgets the signal when the command has ended', async () => {
    const controller = new AbortController();
    const launcher = opened(createLauncher());
    await runCommand(launcher, command('true', { signal: controller.signal }));
    controller.abort();
    expect((await runCommand(launcher, command('echo still here'))).stdout).toBe('still here\n');
  });
});

describe.each(LAUNCHERS)('a limit of CPU time, by %s', (_, create) => {
  test.each([
    ['a command', 'while :; do :; done'],
    ['a program that a command waits for', 'sh -c "while :; do :; done"; exit $?'],
  ])('ends %s with the reason cpu', async (_, script) => {
    const options = command(script, { limits: { cpuMs: 500 } });
    const error = await rejectionOf(runCommand(opened(create()), options));
    expect(error).toMatchObject({ name: 'ToolFailure', reason: 'cpu' });
    expect((error as Error).message).toContain('1 s of CPU time');
  });
});
