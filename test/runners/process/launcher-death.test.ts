import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { isAlive } from '../../support/alive.ts';
import { until } from '../../support/until.ts';
import { hasFastHelper, helperLauncher, LAUNCHERS, opened, shell } from './support/launch.ts';

const TSX = ['--import', 'tsx'];
const NAMES = LAUNCHERS.map(([name]) => name);

function fixture(name: string): string {
  return fileURLToPath(new URL(`./fixtures/${name}.ts`, import.meta.url));
}

describe.each(NAMES)('a process that launches by %s', (name) => {
  test('lives while a program runs, and ends by itself then, though the launcher is still open', async () => {
    const args = [...TSX, fixture('leaves-a-launcher-open'), name];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 150_000 });
    expect(stdout).toBe('0 done\n');
  });

  test('takes everything that it launched with it when it is killed', async () => {
    const child = spawn(process.execPath, [...TSX, fixture('runs-until-killed'), name], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const pids = line.toString().trim().split(' ').map(Number);
    expect(pids.map(isAlive)).toEqual([true, true]);
    child.kill('SIGKILL');
    await until(() => !pids.some(isAlive), 'both are gone');
  });
});

const modes = [...(hasFastHelper ? (['fast'] as const) : []), 'portable' as const];

describe.each(modes)('a launcher whose helper (%s) dies', (mode) => {
  test('kills what the helper had launched, says so, and starts another helper', async () => {
    const launcher = opened(helperLauncher(mode));
    const launched = shell(launcher, 'trap "" TERM HUP; sleep 1000 & echo $!; wait');
    await until(() => launched.text() !== '', 'both run');
    const helper = launcher.helperPid!;
    process.kill(helper, 'SIGKILL');
    expect(await launched.end).toMatchObject({ exitCode: undefined, signal: 'SIGKILL' });
    const pids = [helper, await launched.started, Number(launched.text())];
    await until(() => !pids.some(isAlive), 'all are gone');

    const next = shell(launcher, 'echo again');
    expect((await next.end).exitCode).toBe(0);
    expect(next.text()).toBe('again\n');
    expect(launcher.helperPid).not.toBe(helper);
  });

  test('ends what the helper was only asked to launch', async () => {
    const launcher = opened(helperLauncher(mode));
    await shell(launcher, 'true').end;
    const helper = launcher.helperPid!;
    process.kill(helper, 'SIGSTOP');
    const launched = shell(launcher, 'true');
    process.kill(helper, 'SIGKILL');
    expect(launched.calls).toEqual([]);
    expect((await launched.end).startError).toMatch(/helper .* is gone: it ended with SIGKILL/);
    expect(launched.calls).toEqual(['ended']);
  });
});
