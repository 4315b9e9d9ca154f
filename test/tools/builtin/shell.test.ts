import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Confinement } from '../../../src/runners/process/confinement.ts';
import { createLauncher } from '../../../src/runners/process/helper-launcher.ts';
import type { Launcher } from '../../../src/runners/process/launcher.ts';
import type { ToolContext } from '../../../src/runners/runner.ts';
import type { ShellSettings, ToolEnvironment } from '../../../src/tools/builtin/environment.ts';
import { shellTool } from '../../../src/tools/builtin/shell.ts';
import { codeOf, rejectionOf } from '../../engine/support/errors.ts';
import { isAlive } from '../../support/alive.ts';
import { until } from '../../support/until.ts';

let launcher: Launcher;
let confinement: Confinement;
let root: string;
beforeAll(() => {
  launcher = createLauncher();
  confinement = new Confinement(launcher);
  root = realpathSync(mkdtempSync(join(tmpdir(), 'volley-shell-')));
  mkdirSync(join(root, 'sub'));
  symlinkSync('/', join(root, 'out'));
});
afterAll(async () => {
  await confinement.close();
  await launcher.close();
  rmSync(root, { recursive: true });
});

function environment(settings: Partial<ShellSettings> = {}): ToolEnvironment {
  return {
    roots: [root],
    files: { maxBytes: 1e6, maxEntries: 1000 },
    http: {
      enabled: false,
      allowPrivate: false,
      allowHosts: [],
      maxBytes: 1e6,
      maxRedirects: 5,
      timeoutMs: 1000,
    },
    shell: {
      enabled: true,
      shell: ['/bin/sh', '-c'],
      env: [],
      limits: { cpuMs: 20_000, openFiles: 256, memoryMb: 1000, outputBytes: 1_000_000 },
      sandbox: { mode: 'off', read: [root], write: [root], network: false },
      launcher: () => launcher,
      confinement: () => confinement,
      ...settings,
    },
  };
}

interface Call {
  readonly settings?: Partial<ShellSettings>;
  readonly context?: Partial<ToolContext>;
}

/** Calls the tool as the coordinator does: the input is checked first. */
async function call(input: Record<string, unknown>, { settings, context }: Call = {}) {
  const tool = shellTool(environment(settings));
  const checked = await tool.input.check(input);
  if (!checked.ok) throw new Error(checked.issues.map(({ path, rule }) => `${path}: ${rule}`).join());
  const signal = new AbortController().signal;
  return tool.run!(checked.value, {
    id: 'a',
    attempt: 1,
    signal,
    report: () => {},
    log: () => {},
    ...context,
  });
}

describe('the shell tool', () => {
  test('runs a command in the first root and gives what it wrote', async () => {
    expect(await call({ command: 'pwd; echo oops >&2' })).toEqual({
      exit_code: 0,
      signal: null,
      stdout: `${root}\n`,
      stderr: 'oops\n',
      truncated: false,
      duration_ms: expect.any(Number),
    });
  });

  test('has pipes, variables and an input', async () => {
    const command = 'x=$(cat); echo "$x$x" | tr a b';
    expect(await call({ command, stdin: 'aha' })).toMatchObject({ stdout: 'bhbbhb\n' });
  });

  test('fails the call if the command does, with its last words in the message and all of it in the details', async () => {
    const command = 'echo result; for n in 1 2 3 4 5 6 7; do echo "line $n" >&2; done; exit 3';
    const error = await rejectionOf(call({ command }));
    expect(codeOf(error)).toBe('COMMAND_FAILED');
    expect(error).toMatchObject({
      message: expect.stringMatching(/status 3:\nresult\nline 3\nline 4\nline 5\nline 6\nline 7$/),
      details: { command, exit_code: 3, stdout: 'result\n', stderr: expect.stringContaining('line 1\n') },
      retryable: false,
    });
  });

  test('shows the end of the output if a failed command wrote no errors', async () => {
    const error = (await rejectionOf(call({ command: 'echo sorry; exit 1' }))) as Error;
    expect(error.message).toMatch(/status 1:\nsorry$/);
    const silent = (await rejectionOf(call({ command: 'false' }))) as Error;
    expect(silent.message).toMatch(/status 1\.$/);
  });

  test('gives a failure as a result if that is allowed', async () => {
    expect(await call({ command: 'exit 7', allow_failure: true })).toMatchObject({
      exit_code: 7,
      signal: null,
    });
    const killed = await call({ command: 'kill -s KILL $$', allow_failure: true });
    expect(killed).toMatchObject({ exit_code: null, signal: 'SIGKILL' });
  });

  test('says that it crashed if a signal ended it', async () => {
    const error = await rejectionOf(call({ command: 'kill -s SEGV $$' }));
    expect(error).toMatchObject({ reason: 'crashed', message: expect.stringContaining('SIGSEGV') });
    expect(codeOf((error as Error).cause)).toBe('COMMAND_FAILED');
  });

  test('runs in a folder inside the roots, and in no other', async () => {
    expect(await call({ command: 'pwd', cwd: 'sub' })).toMatchObject({ stdout: `${root}/sub\n` });
    for (const cwd of ['..', '/', 'out', 'sub/../..', '/proc/self/cwd']) {
      expect(codeOf(await rejectionOf(call({ command: 'pwd', cwd }))), cwd).toBe('PATH_NOT_ALLOWED');
    }
    const error = (await rejectionOf(call({ command: 'pwd', cwd: 'nowhere' }))) as Error;
    expect(error.message).toContain('"nowhere"');
  });

  test('leaves the shell out of a simple command without a difference that could be seen', async () => {
    const command = '/usr/bin/env';
    const direct = (await call({ command, cwd: 'sub' })) as { stdout: string };
    const shelled = (await call({ command: `${command};`, cwd: 'sub' })) as { stdout: string };
    const lines = ({ stdout }: { stdout: string }) => stdout.trim().split('\n').sort();
    const isOfTheShell = (line: string) => /^(_|SHLVL|OLDPWD)=/.test(line);
    expect(lines(direct)).toEqual(lines(shelled).filter((line) => !isOfTheShell(line)));
    const missing = await call({ command: 'no-such-program at all', allow_failure: true });
    // Where a folder of PATH cannot be read, the system says "Permission denied" instead of "not found".
    expect(missing).toMatchObject({ exit_code: 127, stderr: expect.stringMatching(/not found|denied/) });
  });

  test('hides the environment of this process, but for what a command needs and what is named', async () => {
    vi.stubEnv('VOLLEY_TEST_SECRET', 'hidden');
    vi.stubEnv('VOLLEY_TEST_NAMED', 'shown');
    try {
      const result = await call({ command: 'env' }, { settings: { env: ['VOLLEY_TEST_NAMED'] } });
      const lines = (result as { stdout: string }).stdout.trim().split('\n');
      const names = lines.map((line) => line.split('=')[0]!);
      // The shell itself adds the last ones.
      expect(
        names.filter((name) => !/^(PATH|HOME|LANG|LC_\w+|TMPDIR|TERM|PWD|SHLVL|_|OLDPWD)$/.test(name)),
      ).toEqual(['VOLLEY_TEST_NAMED']);
      expect(lines).toContain('TERM=dumb');
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test('ends a command after its own time limit', async () => {
    const error = await rejectionOf(call({ command: 'exec sleep 1000', timeout_ms: 50 }));
    expect(error).toMatchObject({ reason: 'timeout', message: expect.stringContaining('timeout_ms of 50') });
  });

  test.each([{}, { timeout_ms: 60_000 }])('ends a command when it is told to, with %o', async (limits) => {
    const controller = new AbortController();
    const steps: string[] = [];
    const context = { signal: controller.signal, report: (step: unknown) => void steps.push(String(step)) };
    const running = rejectionOf(call({ command: 'sleep 1000 & echo $!; wait', ...limits }, { context }));
    await until(() => steps.length > 0, 'it runs');
    controller.abort('cancelled');
    expect(await running).toBe('cancelled');
    expect(isAlive(Number(steps[0]))).toBe(false);
  });

  test('reports the last line that was written', async () => {
    const steps: string[] = [];
    const context = { report: (step: unknown) => void steps.push(String(step)) };
    await call({ command: 'printf "one\\ntwo\\n\\n"' }, { context });
    expect(steps).toEqual(['two']);
  });

  test('keeps the limits', async () => {
    expect(await call({ command: 'ulimit -n' })).toMatchObject({ stdout: '256\n' });
    const error = (await rejectionOf(call({ command: 'cat /dev/zero' }))) as Error;
    expect(codeOf(error.cause)).toBe('OUTPUT_LIMIT');
  });

  test('refuses an input that is not of its form', async () => {
    await expect(call({})).rejects.toThrow('/command');
    await expect(call({ command: 'true', timeout_ms: 0 })).rejects.toThrow('/timeout_ms');
    await expect(call({ command: 'true', env: { A: 'b' } })).rejects.toThrow('env');
  });

  test('is neither read-only nor idempotent, and runs in this process', () => {
    const tool = shellTool(environment());
    expect(tool).toMatchObject({ name: 'shell', readOnly: false, idempotent: false, isolation: 'inline' });
  });
});

describe('the shell tool in a sandbox', () => {
  const sandbox = (mode: 'auto' | 'required') => ({
    settings: { sandbox: { mode, read: [root], write: [root], network: false } },
  });

  test('sees the roots and its own processes only, or says that the sandbox is not to be had', async () => {
    const command = 'pwd; echo $$; ls -d /home /root 2>/dev/null; echo kept > file; cat file; rm file';
    const outcome = await call({ command, cwd: 'sub' }, sandbox('required')).catch((error) => codeOf(error));
    if (outcome === 'SANDBOX_UNAVAILABLE') return;
    expect((outcome as { stdout: string }).stdout).toMatch(/^\S+\/sub\n\d\nkept\n$/);
  });

  test('works with whatever there is in the mode auto', async () => {
    expect(await call({ command: 'echo here' }, sandbox('auto'))).toMatchObject({ stdout: 'here\n' });
  });

  test('keeps its exit status, its input and its end by a signal', async () => {
    const { settings } = sandbox('auto');
    const command = 'cat; exit 5';
    const result = await call({ command, stdin: 'text', allow_failure: true }, { settings });
    expect(result).toMatchObject({ exit_code: 5, stdout: 'text' });
    const controller = new AbortController();
    const report = () => controller.abort(new Error('enough'));
    const context = { signal: controller.signal, report };
    await expect(call({ command: 'echo begun; sleep 60' }, { settings, context })).rejects.toThrow('enough');
    await expect(call({ command: 'true' }, { settings, context })).rejects.toThrow('enough');
  });

  test.each([
    ['cpu', { cpuMs: 1000 }, 'for i in 1 2 3 4; do (while :; do :; done) & done; wait'],
    [
      'memory',
      { memoryMb: 64 },
      // With a last command after it, so that the shell does not become `sleep`, which has no memory.
      'for i in 1 2 3 4; do (sleep 0.2; x=$(head -c 40000000 /dev/zero | tr "\\0" a); sleep 60; :) & done; wait',
    ],
    ['crashed', { processes: 10 }, 'for i in $(seq 40); do sleep 60 & done; wait'],
  ] as const)(
    'ends for a limit of all processes together: %s',
    async (reason, limits, command) => {
      const { settings } = sandbox('auto');
      const error = await rejectionOf(
        call({ command, timeout_ms: 100_000 }, { settings: { ...settings, limits } }),
      );
      expect(error).toMatchObject({ name: 'ToolFailure', reason, retryable: false });
      expect((error as Error).message).toContain('limit of');
    },
    120_000,
  );

  test('has no more room for temporary files than memory', async () => {
    const { settings } = sandbox('auto');
    const limits = { memoryMb: 64 };
    const command = 'df -k --output=size /tmp /dev/shm | tail -n 2';
    const { stdout } = (await call({ command }, { settings: { ...settings, limits } })) as { stdout: string };
    const sizes = stdout.trim().split(/\s+/).map(Number);
    expect(sizes[0]! + sizes[1]!).toBeLessThanOrEqual(64 * 1024);
  });

  test('sees certificates but no keys of the host', async () => {
    const command = 'ls -A /etc/ssl /etc/pki 2>/dev/null | grep -c private';
    expect(await call({ command, allow_failure: true }, sandbox('auto'))).toMatchObject({ stdout: '0\n' });
  });

  test('tells a sandbox that could not be made from a command that failed', async () => {
    const missing = { ...sandbox('auto').settings, shell: ['/nowhere/sh', '-c'] as const };
    expect(codeOf(await rejectionOf(call({ command: 'true' }, { settings: missing })))).toBe(
      'PROCESS_NOT_STARTED',
    );
    const command = 'echo "bwrap: no" >&2; exit 1';
    const error = await rejectionOf(call({ command }, sandbox('auto')));
    expect(codeOf(error)).toBe('COMMAND_FAILED');
  });
});
