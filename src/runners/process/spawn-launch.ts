import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import { endGroup, signalGroup } from './group.ts';
import type { LaunchedProcess, LaunchListener, OutputStream, ProcessEnd } from './launcher.ts';

/** How long streams are read after the end of a program: who left its group may hold them open for ever. */
const LINGER_MS = 500;

/** One program that Node's `spawn` started. */
export class SpawnLaunch implements LaunchedProcess {
  private child: ChildProcess | undefined;
  private isOver = false;
  /** Whether the program ended, and nothing of its group is left. */
  private isGroupGone = false;
  private openStreams = 0;
  private end: ProcessEnd | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly listener: LaunchListener,
    private readonly ended: (pid: number | undefined) => void,
  ) {}

  /** Ends without having started, but not before the caller of `launch` knows what it launched. */
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
    // Such as a signal that came too late.
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
