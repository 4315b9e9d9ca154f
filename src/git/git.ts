import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { VolleyError } from '../core/errors.ts';
import { printableText } from '../core/printable-text.ts';
import { childEnvironment } from './child-environment.ts';

interface GitAnswer {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

const TIMEOUT_MS = 10 * 60_000;
const MAX_BYTES = 64 * 1024 * 1024;
const SHOWN_LENGTH = 1000;
/** The user, or a git process that outlived a crash, may hold a lock of the repository. */
const MAX_TRIES = 20;
const PAUSE_MS = 100;

/** Turns off settings that would prompt, run programs or refuse. */
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
    /** The most memory that git may allocate at once. */
    private readonly maxBytes?: number,
  ) {}

  in(folder: string): Git {
    return new Git(folder, this.settings);
  }

  /** With an explicit git folder, in case an agent changed the link in the working tree. */
  at(folder: string, gitFolder: string): Git {
    return new Git(folder, [...this.settings, `--git-dir=${gitFolder}`, `--work-tree=${folder}`]);
  }

  with(...settings: readonly string[]): Git {
    return new Git(this.folder, [...this.settings, ...settings.flatMap((setting) => ['-c', setting])]);
  }

  /** Runs git and returns the answer, whatever its exit status. Paths in `input` and output are NUL-separated. */
  async run(args: readonly string[], input: string | Uint8Array = ''): Promise<GitAnswer> {
    for (let tries = 1; ; tries++) {
      const { folder, settings, maxBytes } = this;
      const answer = await runGit(folder, [...SETTINGS, ...settings, ...args], input, maxBytes);
      if (!isLocked(answer) || tries === MAX_TRIES) return answer;
      await sleep(PAUSE_MS);
    }
  }

  /** Returns the output; throws on a nonzero exit status. */
  async ask(args: readonly string[], input: string | Uint8Array = ''): Promise<string> {
    const answer = await this.run(args, input);
    if (answer.exitCode === 0) return answer.stdout;
    const message = `git ${args[0]} failed in ${this.folder}: ${gitFailureText(answer)}`;
    throw new VolleyError('WORKTREE_FAILED', message, { folder: this.folder, exitCode: answer.exitCode });
  }

  async succeeds(args: readonly string[]): Promise<boolean> {
    return (await this.run(args)).exitCode === 0;
  }

  isAncestor(commit: string, of: string): Promise<boolean> {
    return this.succeeds(['merge-base', '--is-ancestor', commit, of]);
  }

  /** The commit that a revision names, or undefined. */
  async resolve(revision: string): Promise<string | undefined> {
    const { exitCode, stdout } = await this.run(['rev-parse', '--verify', '-q', revision]);
    return exitCode === 0 ? stdout.trim() : undefined;
  }

  async paths(args: readonly string[], input = ''): Promise<string[]> {
    return splitNul(await this.ask(args, input));
  }
}

/** The paths of submodules in the output of `ls-files --stage -z`. */
export function submodulePaths(staged: string): string[] {
  return splitNul(staged)
    .filter((entry) => entry.startsWith('160000 '))
    .map((entry) => entry.slice(entry.indexOf('\t') + 1));
}

export function splitNul(text: string): string[] {
  return text.split('\0').filter((path) => path !== '');
}

export function gitFailureText({ exitCode, stdout, stderr }: GitAnswer): string {
  const text = printableText(stderr.trim() || stdout.trim());
  return text === '' ? `exit status ${exitCode}` : text.slice(-SHOWN_LENGTH);
}

function isLocked({ exitCode, stderr }: GitAnswer): boolean {
  return exitCode !== 0 && /Unable to create '.*\.lock': File exists/.test(stderr);
}

/**
 * Git is detached so that it finishes even if this process dies or the user interrupts it. Otherwise it would leave
 * locks and half-finished merges behind.
 */
function runGit(
  cwd: string,
  args: readonly string[],
  input: string | Uint8Array,
  maxBytes: number | undefined,
): Promise<GitAnswer> {
  return new Promise((resolve, reject) => {
    const child = spawn('git', args, { cwd, env: environment(maxBytes), detached: true });
    // Not spawn's own timeout, which keeps the process alive if the program cannot be started.
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
    // Git may exit without reading its input.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    child.on('error', (error) => {
      clearTimeout(timer);
      reject(notStarted(cwd, error));
    });
    child.on('close', (exitCode, signal) => {
      clearTimeout(timer);
      const [stdout, stderr] = [Buffer.concat(output.stdout), Buffer.concat(output.stderr)];
      const ended = signal === null ? '' : `terminated by ${signal} for exceeding its time or output limit`;
      resolve({ exitCode: exitCode ?? -1, stdout: stdout.toString(), stderr: ended || stderr.toString() });
    });
  });
}

function environment(maxBytes: number | undefined): NodeJS.ProcessEnv {
  return {
    ...childEnvironment(),
    ...(maxBytes !== undefined && { GIT_ALLOC_LIMIT: String(maxBytes) }),
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_EDITOR: 'true',
    GIT_OPTIONAL_LOCKS: '0',
  };
}

function notStarted(cwd: string, cause: Error): VolleyError {
  const message = existsSync(cwd)
    ? `Cannot start git (${cause.message}). Install it, or run without worktrees.`
    : `The folder ${cwd} no longer exists.`;
  return new VolleyError('WORKSPACE_UNAVAILABLE', message, { folder: cwd }, { cause });
}
