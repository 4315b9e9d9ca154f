import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { encodeLaunch, FrameReader } from './framing.ts';
import { HelperLaunch } from './helper-launch.ts';
import type { LaunchListener, LaunchRequest } from './launcher.ts';
import { requestProblem } from './shell-limits.ts';

const SCRIPT = fileURLToPath(new URL('./launcher.pl', import.meta.url));
const CLOSE_LIMIT_MS = 5000;
const MAX_COMPLAINT_LENGTH = 1000;

/** How launcher.pl is run. */
export interface HelperCommand {
  readonly perl: string;
  /** The machine whose system calls it makes by number, or that it does without. */
  readonly mode: 'x86_64' | 'aarch64' | 'portable';
}

/** One running launcher.pl, and what it was asked to start. */
export class Helper {
  /** Whether it said that it can work. */
  isReady = false;
  /** Settles when the process is gone, with the reason. */
  readonly gone: Promise<string>;
  private readonly launches = new Map<number, HelperLaunch>();
  private readonly child: ChildProcessWithoutNullStreams;
  private lastId = 0;
  private outbox: Buffer[] = [];
  private complaint = '';

  constructor({ perl, mode }: HelperCommand) {
    const { PATH } = process.env;
    this.child = spawn(perl, [SCRIPT, mode], {
      cwd: '/',
      // Its error texts in English, and no settings for perl of the user.
      env: { PATH, LC_ALL: 'C' },
      // A session of its own: no terminal reaches it, or what it starts.
      detached: true,
      stdio: 'pipe',
    });
    const { child } = this;
    this.gone = new Promise((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('close', (code, signal) =>
        resolve(`it ended with ${signal ?? `exit status ${code}`}${this.complaint && `: ${this.complaint}`}`),
      );
    });
    const reader = new FrameReader((id, type, payload) => {
      if (type === 'H') this.isReady = true;
      else if (this.launches.get(id)?.take(type, payload)) this.forget(id);
    });
    child.stdout.on('data', (chunk: Buffer) => reader.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => {
      this.complaint = (this.complaint + chunk.toString()).slice(0, MAX_COMPLAINT_LENGTH).trim();
    });
    // A write to a helper that died; `gone` tells.
    child.stdin.on('error', () => {});
    child.unref();
    (child.stderr as Socket).unref();
    this.holdProcess(false);
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  launch(request: LaunchRequest, listener: LaunchListener): HelperLaunch {
    const id = ++this.lastId;
    const launch = new HelperLaunch(id, request, listener, this.send);
    if (this.launches.size === 0) this.holdProcess(true);
    this.launches.set(id, launch);
    const problem = requestProblem(request);
    if (problem === undefined) this.send(encodeLaunch(id, request));
    else queueMicrotask(() => this.refuse(id, problem));
    return launch;
  }

  /** What was launched and has not ended, for whoever takes it over. */
  abandon(): HelperLaunch[] {
    const launches = [...this.launches.values()];
    this.launches.clear();
    this.outbox = [];
    return launches;
  }

  /** The end of its input makes it kill everything and end. */
  async close(): Promise<void> {
    this.child.ref();
    this.child.stdin.destroy();
    const timer = setTimeout(() => this.child.kill('SIGKILL'), CLOSE_LIMIT_MS);
    await this.gone;
    clearTimeout(timer);
  }

  private refuse(id: number, problem: string): void {
    void this.launches.get(id)?.lose(problem);
    this.forget(id);
  }

  private forget(id: number): void {
    this.launches.delete(id);
    if (this.launches.size === 0) this.holdProcess(false);
  }

  /** Whether this process stays alive for the helper: only while something runs. */
  private holdProcess(hold: boolean): void {
    for (const stream of [this.child.stdin, this.child.stdout] as unknown as Socket[]) {
      if (hold) stream.ref();
      else stream.unref();
    }
  }

  /** All frames of one turn of the event loop leave as one. */
  private readonly send = (frame: Buffer): void => {
    if (this.outbox.push(frame) === 1) process.nextTick(this.flush);
  };

  private readonly flush = (): void => {
    const { outbox } = this;
    if (outbox.length === 0) return;
    this.outbox = [];
    this.child.stdin.write(outbox.length === 1 ? outbox[0]! : Buffer.concat(outbox));
  };
}
