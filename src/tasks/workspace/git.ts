import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { VolleyError } from '../../core/errors.ts';
import { printableText } from '../../core/printable-text.ts';
import { childEnvironment } from './child-environment.ts';

export interface GitAnswer {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

const TIMEOUT_MS = 10 * 60_000;
const MAX_BYTES = 64 * 1024 * 1024;
const SHOWN_LENGTH = 1000;
/** The user, too, works with the repository, and so may a git that outlived a crash. */
const MAX_TRIES = 20;
const PAUSE_MS = 100;

/** What of the user's settings would ask somebody, run something, or refuse. The work is checked in other ways. */
const SETTINGS = [
  'core.hooksPath=/dev/null',
  'core.safecrlf=false',
  'core.fsmonitor=false',
  'commit.gpgSign=false',
  'merge.verifySignatures=false',
  'merge.autoStash=false',
  'submodule.recurse=false',
  'log.showSignature=false',
  'gc.auto=0',
  'maintenance.auto=false',
].flatMap((setting) => ['-c', setting]);

/** Runs git in one folder. */
export class Git {
  constructor(
    readonly folder: string,
    private readonly settings: readonly string[] = [],
  ) {}

  in(folder: string): Git {
    return new Git(folder, this.settings);
  }

  /** In a working tree that is told to git, whatever has become of the link in it. */
  at(folder: string, gitFolder: string): Git {
    return new Git(folder, [...this.settings, `--git-dir=${gitFolder}`, `--work-tree=${folder}`]);
  }

  with(...settings: readonly string[]): Git {
    return new Git(this.folder, [...this.settings, ...settings.flatMap((setting) => ['-c', setting])]);
  }

  /** Whatever the exit status. Paths in `input` and in the answer are separated by NUL. */
  async run(args: readonly string[], input = ''): Promise<GitAnswer> {
    for (let tries = 1; ; tries++) {
      const answer = await runGit(this.folder, [...SETTINGS, ...this.settings, ...args], input);
      if (!isLocked(answer) || tries === MAX_TRIES) return answer;
      await sleep(PAUSE_MS);
    }
  }

  /** What it writes; any exit status but 0 is an error. */
  async ask(args: readonly string[], input = ''): Promise<string> {
    const answer = await this.run(args, input);
    if (answer.exitCode === 0) return answer.stdout;
    const message = `git ${args[0]} failed in ${this.folder}: ${gitFailureText(answer)}`;
    throw new VolleyError('WORKTREE_FAILED', message, { folder: this.folder, exitCode: answer.exitCode });
  }

  async succeeds(args: readonly string[]): Promise<boolean> {
    return (await this.run(args)).exitCode === 0;
  }

  async paths(args: readonly string[], input = ''): Promise<string[]> {
    return splitNul(await this.ask(args, input));
  }
}

export function splitNul(text: string): string[] {
  return text.split('\0').filter((path) => path !== '');
}

/** What git says went wrong. */
export function gitFailureText({ exitCode, stdout, stderr }: GitAnswer): string {
  const text = printableText(stderr.trim() || stdout.trim());
  return text === '' ? `it ended with exit status ${exitCode}` : text.slice(-SHOWN_LENGTH);
}

function isLocked({ exitCode, stderr }: GitAnswer): boolean {
  return exitCode !== 0 && /Unable to create '.*\.lock': File exists/.test(stderr);
}

/**
 * Git is never cut short, not even when this process dies or the user interrupts it: it would leave its locks behind,
 * and half of a merge.
 */
function runGit(cwd: string, args: readonly string[], input: string): Promise<GitAnswer> {
  return new Promise((resolve, reject) => {
    const child = spawn('git', args, { cwd, env: environment(), detached: true });
    // Not left to spawn, which forgets to clear it for what could not be started: it would hold the process up.
    const timer = setTimeout(() => child.kill(), TIMEOUT_MS);
    const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    let bytes = 0;
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_BYTES) child.kill();
        else output[stream].push(chunk);
      });
    }
    // It need not read what it is told.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    child.on('error', (error) => {
      clearTimeout(timer);
      reject(notStarted(cwd, error));
    });
    child.on('close', (exitCode, signal) => {
      clearTimeout(timer);
      const [stdout, stderr] = [Buffer.concat(output.stdout), Buffer.concat(output.stderr)];
      const ended = signal === null ? '' : `it was ended by ${signal}, for it took or wrote too much`;
      resolve({ exitCode: exitCode ?? -1, stdout: stdout.toString(), stderr: ended || stderr.toString() });
    });
  });
}

function environment(): NodeJS.ProcessEnv {
  return {
    ...childEnvironment(),
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_EDITOR: 'true',
    GIT_OPTIONAL_LOCKS: '0',
  };
}

function notStarted(cwd: string, cause: Error): VolleyError {
  const message = existsSync(cwd)
    ? `git cannot be started (${cause.message}): install it, or run without worktrees.`
    : `The folder ${cwd} is not there any more.`;
  return new VolleyError('WORKSPACE_UNAVAILABLE', message, { folder: cwd }, { cause });
}
