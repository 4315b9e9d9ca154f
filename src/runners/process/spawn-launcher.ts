import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { VolleyError } from '../../core/errors.ts';
import { endGroup, signalGroup } from './confined-process.ts';
import { Guard } from './guard.ts';
import {
  KEPT_VARIABLES,
  type LaunchedProcess,
  type Launcher,
  type LaunchListener,
  type LaunchRequest,
  type OutputStream,
  type ProcessEnd,
} from './launcher.ts';
import { requestProblem, startProblem, withShellLimits } from './shell-limits.ts';

const CLOSED_ON_EXEC = 0o2000000;

let inherited: readonly number[] | undefined;

/**
 * Descriptors of this process that a spawned program would inherit: those it inherited itself and Node does not know.
 * Node's own are closed on exec. Checked once.
 */
function inheritedDescriptors(): readonly number[] {
  inherited ??= find();
  return inherited;
}

function find(): number[] {
  try {
    return readdirSync('/proc/self/fd')
      .map(Number)
      .filter((descriptor) => descriptor > 2 && isInheritable(descriptor));
  } catch {
    // Only Linux lists them, and only Linux has a sandbox.
    return [];
  }
}

function isInheritable(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) === 0;
  } catch {
    // It was the one used to read the list.
    return false;
  }
}

/** How long streams are read after a program ended: a process that left its group may keep them open forever. */
const LINGER_MS = 500;

/** One program started by Node's `spawn`. */
class SpawnLaunch implements LaunchedProcess {
  private child: ChildProcess | undefined;
  private isOver = false;
  /** Whether the program ended and its group is gone. */
  private isGroupGone = false;
  private openStreams = 0;
  private end: ProcessEnd | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly listener: LaunchListener,
    private readonly ended: (pid: number | undefined) => void,
  ) {}

  /** Ends without having started, but only after `launch` has returned. */
  refuse(startError: string): void {
    queueMicrotask(() =>
      this.finish({ exitCode: undefined, signal: undefined, startError, cpuMs: undefined }),
    );
  }

  follow(child: ChildProcess, started: (pid: number) => void): void {
    const { pid } = child;
    this.child = child;
    if (pid === undefined) {
      child.once('error', (error) => this.refuse(error.message));
      return;
    }
    started(pid);
    // For example a late signal.
    child.on('error', () => {});
    child.stdin?.on('error', () => {});
    this.read('stdout', child.stdout);
    this.read('stderr', child.stderr);
    this.read('channel', child.stdio[3] as Readable | undefined);
    child.once('exit', (exitCode, signal) => this.takeEnd(pid, exitCode, signal));
    queueMicrotask(() => this.listener.started(pid));
  }

  write(chunk: Buffer | string): void {
    const input = this.child?.stdin;
    if (input?.writable) input.write(chunk);
  }

  endInput(): void {
    this.child?.stdin?.end();
  }

  kill(signal: 'SIGTERM' | 'SIGKILL'): void {
    if (!this.isOver && !this.isGroupGone && this.child?.pid !== undefined) {
      signalGroup(this.child.pid, signal);
    }
  }

  private read(stream: OutputStream, readable: Readable | null | undefined): void {
    if (readable === null || readable === undefined) return;
    this.openStreams++;
    readable.on('data', (chunk: Buffer) => this.listener.data(stream, chunk));
    readable.on('error', () => {});
    readable.once('close', () => {
      this.openStreams--;
      this.finishIfOver();
    });
  }

  private takeEnd(pid: number, exitCode: number | null, signal: NodeJS.Signals | null): void {
    this.end = {
      exitCode: exitCode ?? undefined,
      signal: signal ?? undefined,
      startError: undefined,
      cpuMs: undefined,
    };
    this.child!.stdin?.destroy();
    this.timer = setTimeout(() => {
      for (const stream of this.child!.stdio) stream?.destroy();
    }, LINGER_MS);
    void endGroup(pid).then(() => {
      this.isGroupGone = true;
      this.finishIfOver();
    });
  }

  private finishIfOver(): void {
    if (this.end !== undefined && this.isGroupGone && this.openStreams === 0) this.finish(this.end);
  }

  private finish(end: ProcessEnd): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.timer);
    this.ended(this.child?.pid);
    this.listener.ended(end);
  }
}

type Stdio = Extract<NonNullable<SpawnOptions['stdio']>, unknown[]>;

/**
 * Launches with Node's own `spawn`, which blocks the event loop in proportion to this process's memory, and a shell
 * that sets the limits. For systems without perl.
 */
export class SpawnLauncher implements Launcher {
  private readonly guard = new Guard();
  private readonly launches = new Set<SpawnLaunch>();
  private isClosed = false;
  private allEnded: (() => void) | undefined;

  prepare(): void {
    this.guard.start();
  }

  launch(request: LaunchRequest, listener: LaunchListener): LaunchedProcess {
    if (this.isClosed) throw new VolleyError('RUNNER_CLOSED', 'The launcher is closed. Create a new one.');
    this.guard.start();
    const launch = new SpawnLaunch(listener, (pid) => this.forget(launch, pid));
    this.launches.add(launch);
    const problem = requestProblem(request) ?? startProblem(request);
    if (problem !== undefined) launch.refuse(problem);
    else this.start(launch, request);
    return launch;
  }

  keepSandbox(): undefined {}

  hasSandbox(): boolean {
    return false;
  }

  dropSandbox(): void {}

  async close(): Promise<void> {
    this.isClosed = true;
    if (this.launches.size > 0) {
      const ended = new Promise<void>((resolve) => {
        this.allEnded = resolve;
      });
      for (const launch of this.launches) launch.kill('SIGKILL');
      await ended;
    }
    await this.guard.stop();
  }

  private start(launch: SpawnLaunch, request: LaunchRequest): void {
    try {
      launch.follow(this.spawn(request), (pid) => this.guard.add(pid));
    } catch (error) {
      // For example an argument list that is too long.
      launch.refuse((error as Error).message);
    }
  }

  private spawn(request: LaunchRequest): ChildProcess {
    const { argv, cwd, env, input, channel } = withShellLimits(request);
    const stdio: Stdio = [input ? 'pipe' : 'ignore', 'pipe', 'pipe', ...(channel ? ['pipe' as const] : [])];
    const nothing = coverInherited(stdio);
    try {
      return spawn(argv[0], argv.slice(1), { cwd, env: passedOn(env), detached: true, stdio });
    } finally {
      if (nothing !== undefined) closeSync(nothing);
    }
  }

  private forget(launch: SpawnLaunch, pid: number | undefined): void {
    if (pid !== undefined) this.guard.remove(pid);
    this.launches.delete(launch);
    if (this.launches.size === 0) this.allEnded?.();
  }
}

function passedOn(env: LaunchRequest['env']): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !KEPT_VARIABLES.has(name)));
}

/**
 * Replaces each descriptor that the program would inherit with an empty file: one for a host folder would lead out of
 * any sandbox. Neither Node nor every shell can close them. Returns the file, to be closed afterwards.
 */
function coverInherited(stdio: Stdio): number | undefined {
  const covered = inheritedDescriptors().filter((descriptor) => descriptor >= stdio.length);
  if (covered.length === 0) return undefined;
  const nothing = openSync('/dev/null', 'r');
  while (stdio.length <= Math.max(...covered)) stdio.push('ignore');
  for (const descriptor of covered) stdio[descriptor] = nothing;
  return nothing;
}
