import { onTestFinished } from 'vitest';
import { HelperLauncher, modeOfThisMachine } from '../../../../src/runners/process/helper-launcher.ts';
import type {
  LaunchedProcess,
  Launcher,
  LaunchRequest,
  ProcessEnd,
} from '../../../../src/runners/process/launcher.ts';
import { SpawnLauncher } from '../../../../src/runners/process/spawn-launcher.ts';

/** Whether the helper makes system calls by number here. */
export const hasFastHelper = modeOfThisMachine() !== 'portable';

/** Every way to launch that this machine has. */
export const LAUNCHERS: readonly (readonly [string, () => Launcher])[] = [
  ...(hasFastHelper ? [['helper', () => helperLauncher('fast')] as const] : []),
  ['portable helper', () => helperLauncher('portable')],
  ['spawn', () => new SpawnLauncher()],
];

export function helperLauncher(mode: 'fast' | 'portable', perl = 'perl'): HelperLauncher {
  return new HelperLauncher(new SpawnLauncher(), {
    perl,
    mode: mode === 'fast' ? modeOfThisMachine() : mode,
  });
}

/** A launcher that is closed after the test. */
export function opened<T extends Launcher>(launcher: T): T {
  onTestFinished(() => launcher.close());
  return launcher;
}

/** A program that was launched, and what is known of it. */
export class Launched {
  readonly bytes: Record<'stdout' | 'stderr' | 'channel', Buffer[]> = { stdout: [], stderr: [], channel: [] };
  readonly end: Promise<ProcessEnd>;
  readonly started: Promise<number>;
  readonly process: LaunchedProcess;
  /** What the launcher said, in order; data only once in a row. */
  readonly calls: string[] = [];

  constructor(
    launcher: Launcher,
    argv: readonly [string, ...string[]],
    options: Partial<LaunchRequest> = {},
  ) {
    let started!: (pid: number) => void;
    let ended!: (end: ProcessEnd) => void;
    this.started = new Promise((resolve) => {
      started = resolve;
    });
    this.end = new Promise((resolve) => {
      ended = resolve;
    });
    const call = (name: string) => {
      if (this.calls.at(-1) !== name) this.calls.push(name);
    };
    this.process = launcher.launch(
      { argv, cwd: '/', env: PLAIN_ENV, limits: {}, cgroups: [], input: false, channel: false, ...options },
      {
        started(pid) {
          call('started');
          started(pid);
        },
        data: (stream, chunk) => {
          call('data');
          this.bytes[stream].push(Buffer.from(chunk));
        },
        ended(end) {
          call('ended');
          ended(end);
        },
      },
    );
  }

  text(stream: 'stdout' | 'stderr' | 'channel' = 'stdout'): string {
    return Buffer.concat(this.bytes[stream]).toString();
  }
}

export const PLAIN_ENV = { PATH: '/usr/local/bin:/usr/bin:/bin' };

export function shell(launcher: Launcher, script: string, options: Partial<LaunchRequest> = {}): Launched {
  return new Launched(launcher, ['/bin/sh', '-c', script], options);
}
