import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createLauncher } from '../../../src/runners/process/helper-launcher.ts';
import { stayBusyFor } from '../../engine/support/busy.ts';
import { isAlive } from '../../support/alive.ts';
import { until } from '../../support/until.ts';
import { hasFastHelper, helperLauncher, Launched, opened, shell } from './support/launch.ts';

describe('a launcher with a helper', () => {
  test('starts its helper when it is told to prepare, and ends it when it is closed', async () => {
    const launcher = helperLauncher('portable');
    expect(launcher.helperPid).toBeUndefined();
    launcher.prepare();
    const pid = launcher.helperPid!;
    await shell(launcher, 'true').end;
    expect(launcher.helperPid).toBe(pid);
    await launcher.close();
    expect(isAlive(pid)).toBe(false);
  });

  test('can be closed before it was used, and right after it was prepared', async () => {
    await createLauncher().close();
    const launcher = createLauncher();
    launcher.prepare();
    await launcher.close();
  });

  test.skipIf(!hasFastHelper)('leaves no process that left its group once nothing runs', async () => {
    const launcher = opened(helperLauncher('fast'));
    const other = shell(launcher, 'read line', { input: true });
    const script = 'setsid sh -c "echo \\$\\$; exec sleep 1000" & read line';
    const launched = shell(launcher, script, { input: true });
    await until(() => launched.text() !== '', 'it left');
    const pid = Number(launched.text());
    launched.process.endInput();
    await launched.end;
    other.process.endInput();
    await other.end;
    await until(() => !isAlive(pid), 'it is gone');
  });

  test.skipIf(!hasFastHelper)(
    'keeps a bounded amount of output for a process that does not read',
    async () => {
      const launcher = opened(helperLauncher('fast'));
      const floods = Array.from({ length: 3 }, () => shell(launcher, 'exec cat /dev/zero'));
      await until(() => floods.every(({ bytes }) => bytes.stdout.length > 0), 'it floods');
      stayBusyFor(500);
      const status = readFileSync(`/proc/${launcher.helperPid}/status`, 'utf8');
      for (const flood of floods) flood.process.kill('SIGKILL');
      await Promise.all(floods.map(({ end }) => end));
      // Of which the helper itself has about 7 MB; in that time three programs write hundreds.
      expect(Number(/VmHWM:\s+(\d+) kB/.exec(status)![1])).toBeLessThan(40_000);
    },
  );

  test.skipIf(!hasFastHelper)('tells how much CPU time a program used', async () => {
    const launcher = opened(helperLauncher('fast'));
    const launched = shell(launcher, 'while :; do :; done', { limits: { cpuSeconds: 1 } });
    const end = await launched.end;
    expect(end.signal).toBe('SIGXCPU');
    // The kernel counts the limit in ticks, of which others' work can be a part, and the time used exactly.
    expect(end.cpuMs).toBeGreaterThan(300);
    expect(end.cpuMs).toBeLessThan(3000);
  });
});

describe('a launcher whose helper cannot start', () => {
  test.each([
    ['there is no perl', 'no-perl-here'],
    ['what is called perl ends at once', 'false'],
  ])('uses spawn instead because %s, also for what was asked for before', async (_, perl) => {
    const launcher = opened(helperLauncher('portable', perl));
    const echo = new Launched(launcher, ['cat'], { input: true });
    echo.process.write('input');
    echo.process.endInput();
    const sleeper = shell(launcher, 'exec sleep 1000');
    sleeper.process.kill('SIGTERM');
    expect((await echo.end).exitCode).toBe(0);
    expect(echo.text()).toBe('input');
    expect((await sleeper.end).signal).toBe('SIGTERM');

    launcher.prepare();
    const later = shell(launcher, 'echo later; ulimit -n', { limits: { openFiles: 60 } });
    expect((await later.end).exitCode).toBe(0);
    expect(later.text()).toBe('later\n60\n');
    expect(launcher.helperPid).toBeUndefined();
  });
});
