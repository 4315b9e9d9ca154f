import type { RunnerCall, RunnerTask } from '../runner.ts';
import type { KnownTool } from './known-tools.ts';
import type { Thread } from './thread.ts';

/** One call from the moment that the runner is asked until it settles. */
export class ThreadCall {
  /** Neighbours in the queue. */
  before: ThreadCall | undefined = undefined;
  after: ThreadCall | undefined = undefined;
  isQueued = false;
  /** The thread that it was sent to, and its place there. */
  thread: Thread | undefined = undefined;
  slot = -1;
  /** How long it was thought to take when it was sent. */
  expectedMs = 0;
  /** Why it is to end early, from the moment that somebody wants so. */
  stop: { readonly reason: unknown } | undefined = undefined;
  graceTimer: NodeJS.Timeout | undefined = undefined;
  private hasBegun = false;
  private isSettled = false;

  constructor(
    readonly call: RunnerCall,
    readonly task: RunnerTask,
    readonly tool: KnownTool,
    private readonly onStop: (call: ThreadCall, reason: unknown) => void,
    private readonly onValue: (value: unknown) => void,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Takes notice from now on that the attempt shall stop, which may be so already. */
  watch(): void {
    const { task } = this;
    if (task.onStop !== undefined) task.onStop((reason) => this.stopped(reason));
    else if (task.signal.aborted) this.stopped(task.signal.reason);
    else task.signal.addEventListener('abort', this);
  }

  /** Called by the signal. */
  handleEvent(): void {
    this.stopped(this.task.signal.reason);
  }

  /** It is the next, or the only one, of a thread that is free. */
  begin(): void {
    if (this.hasBegun) return;
    this.hasBegun = true;
    this.task.began();
  }

  resolve(value: unknown): void {
    this.settled();
    this.onValue(value);
  }

  reject(error: unknown): void {
    this.settled();
    this.onError(error);
  }

  private stopped(reason: unknown): void {
    if (this.isSettled || this.stop !== undefined) return;
    this.stop = { reason };
    this.onStop(this, reason);
  }

  private settled(): void {
    this.isSettled = true;
    if (this.task.onStop === undefined) this.task.signal.removeEventListener('abort', this);
    if (this.graceTimer !== undefined) clearTimeout(this.graceTimer);
  }
}
