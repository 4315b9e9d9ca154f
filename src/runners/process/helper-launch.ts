import { constants } from 'node:os';
import { encodeFrame, type FrameFromHelper, type FrameToHelper } from './framing.ts';
import { endGroup } from './group.ts';
import type { LaunchedProcess, Launcher, LaunchListener, LaunchRequest, ProcessEnd } from './launcher.ts';
import { signalName } from './signal-names.ts';

/** How much input may be on its way to a program that has not taken it. The rest waits here, where it already was. */
const WINDOW_BYTES = 256 * 1024;
const EMPTY = Buffer.alloc(0);

/** One program that a helper was asked to start. */
export class HelperLaunch implements LaunchedProcess {
  private pid: number | undefined;
  /** Whether the helper has nothing more to do with it. */
  private isOver = false;
  private input: Buffer[] = [];
  private isInputEnded = false;
  /** How many more bytes the helper takes now; none before the process is there. */
  private window = 0;
  private lastSignal: 'SIGTERM' | 'SIGKILL' | undefined;
  /** Where it runs instead, if the helper turned out to be unusable. */
  private substitute: LaunchedProcess | undefined;

  constructor(
    private readonly id: number,
    private readonly request: LaunchRequest,
    private readonly listener: LaunchListener,
    private readonly send: (frame: Buffer) => void,
  ) {}

  write(chunk: Buffer | string): void {
    this.substitute?.write(chunk);
    if (this.isOver || this.isInputEnded || !this.request.input || chunk.length === 0) return;
    this.input.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    this.pump();
  }

  endInput(): void {
    this.substitute?.endInput();
    if (this.isOver || this.isInputEnded) return;
    this.isInputEnded = true;
    if (this.pid !== undefined && this.input.length === 0) this.sendFrame('E', EMPTY);
  }

  kill(signal: 'SIGTERM' | 'SIGKILL'): void {
    this.substitute?.kill(signal);
    if (this.isOver) return;
    this.lastSignal = signal;
    this.sendFrame('K', Buffer.of(constants.signals[signal]));
  }

  /** Takes what the helper says of it. True if that was the last. */
  take(type: FrameFromHelper, payload: Buffer): boolean {
    switch (type) {
      case 'S':
        this.pid = payload.readUInt32LE(0);
        this.listener.started(this.pid);
        this.window = WINDOW_BYTES;
        this.pump();
        if (this.isInputEnded && this.input.length === 0) this.sendFrame('E', EMPTY);
        return false;
      case 'O':
        this.listener.data('stdout', payload);
        return false;
      case 'R':
        this.listener.data('stderr', payload);
        return false;
      case 'C':
        this.listener.data('channel', payload);
        return false;
      case 'A':
        this.window += payload.readUInt32LE(0);
        this.pump();
        return false;
      case 'X':
        this.end(decodeEnd(payload));
        return true;
      case 'H':
        return false;
    }
  }

  /** The helper is gone, and with it the program, but perhaps not yet all of its group. */
  async lose(reason: string): Promise<void> {
    const { pid } = this;
    if (pid === undefined) return this.end({ ...NOTHING, startError: reason });
    await endGroup(pid);
    this.end({ ...NOTHING, signal: 'SIGKILL' });
  }

  /** The helper could never be used: somebody else starts it. */
  moveTo(launcher: Launcher): void {
    const substitute = launcher.launch(this.request, this.listener);
    for (const chunk of this.input) substitute.write(chunk);
    if (this.isInputEnded) substitute.endInput();
    if (this.lastSignal !== undefined) substitute.kill(this.lastSignal);
    this.input = [];
    this.isOver = true;
    this.substitute = substitute;
  }

  private end(end: ProcessEnd): void {
    this.isOver = true;
    this.input = [];
    this.listener.ended(end);
  }

  private pump(): void {
    while (this.window > 0 && this.input.length > 0) {
      const chunk = this.input[0]!;
      const part = chunk.subarray(0, this.window);
      if (part.length === chunk.length) this.input.shift();
      else this.input[0] = chunk.subarray(part.length);
      this.window -= part.length;
      this.sendFrame('W', part);
      if (this.input.length === 0 && this.isInputEnded) this.sendFrame('E', EMPTY);
    }
  }

  private sendFrame(type: FrameToHelper, payload: Buffer): void {
    this.send(encodeFrame(this.id, type, payload));
  }
}

const NOTHING: ProcessEnd = {
  exitCode: undefined,
  signal: undefined,
  startError: undefined,
  cpuMs: undefined,
};

function decodeEnd(payload: Buffer): ProcessEnd {
  if (payload.length > 8) return { ...NOTHING, startError: payload.toString('utf8', 8) };
  const status = payload.readUInt32LE(0);
  const signal = status & 127;
  return {
    exitCode: signal === 0 ? status >> 8 : undefined,
    signal: signal === 0 ? undefined : (signalName(signal) ?? `signal ${signal}`),
    startError: undefined,
    cpuMs: payload.readUInt32LE(4),
  };
}
