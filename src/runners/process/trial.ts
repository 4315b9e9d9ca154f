import type { Launcher, LaunchRequest, ProcessEnd } from './launcher.ts';

/** What became of a small program that was started to see whether something works. */
export interface Trial {
  readonly pid: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  readonly end: ProcessEnd;
}

const LIMIT_MS = 10_000;
const MAX_TEXT = 10_000;

export function runTrial(
  launcher: Launcher,
  request: Partial<LaunchRequest> & Pick<LaunchRequest, 'argv'>,
  whileRunning?: (pid: number) => void,
): Promise<Trial> {
  return new Promise((resolve) => {
    const texts = { stdout: '', stderr: '', channel: '' };
    let pid: number | undefined;
    const launched = launcher.launch(
      {
        cwd: '/',
        env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C' },
        limits: {},
        cgroups: [],
        input: false,
        channel: false,
        ...request,
      },
      {
        started: (started) => {
          pid = started;
          whileRunning?.(started);
        },
        data: (stream, chunk) => {
          texts[stream] = (texts[stream] + chunk.toString()).slice(0, MAX_TEXT);
        },
        ended: (end) => {
          clearTimeout(timer);
          resolve({ pid, stdout: texts.stdout, stderr: texts.stderr.trim(), end });
        },
      },
    );
    const timer = setTimeout(() => launched.kill('SIGKILL'), LIMIT_MS);
  });
}

/** Why a program that should have ended well did not. */
export function problemOf({ end, stderr }: Trial): string | undefined {
  if (end.startError !== undefined) return end.startError;
  if (end.exitCode === 0) return undefined;
  return stderr.split('\n')[0] || `it ended with ${end.signal ?? `exit status ${end.exitCode}`}`;
}
