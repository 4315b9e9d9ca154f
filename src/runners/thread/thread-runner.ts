import { availableParallelism } from 'node:os';
import { VolleyError } from '../../core/errors.ts';
import { checkNumber } from '../../core/numbers.ts';
import type { Runner, RunnerCall, RunnerTask } from '../runner.ts';
import { KnownTools } from './known-tools.ts';
import { crashOf, startFailure, Thread, ThreadCall, type ThreadEnd, type ThreadOwner } from './thread.ts';

/** Calls that wait for a thread, as a linked list: a cancelled one is removed from the middle at once. */
class CallQueue {
  size = 0;
  first: ThreadCall | undefined = undefined;
  private last: ThreadCall | undefined = undefined;

  push(call: ThreadCall): void {
    call.before = this.last;
    call.after = undefined;
    if (this.last === undefined) this.first = call;
    else this.last.after = call;
    this.last = call;
    this.enter(call);
  }

  /** Puts back a call that was taken back from a thread: it was here before all others. */
  pushFront(call: ThreadCall): void {
    call.before = undefined;
    call.after = this.first;
    if (this.first === undefined) this.last = call;
    else this.first.before = call;
    this.first = call;
    this.enter(call);
  }

  remove(call: ThreadCall): void {
    if (call.before === undefined) this.first = call.after;
    else call.before.after = call.after;
    if (call.after === undefined) this.last = call.before;
    else call.after.before = call.before;
    call.before = undefined;
    call.after = undefined;
    call.isQueued = false;
    this.size--;
  }

  shift(): ThreadCall | undefined {
    const { first } = this;
    if (first !== undefined) this.remove(first);
    return first;
  }

  private enter(call: ThreadCall): void {
    call.isQueued = true;
    this.size++;
  }
}

interface ThreadRunnerOptions {
  /** The maximum number of threads. They start on demand. Default: the number of processors. */
  readonly maxThreads?: number;
}

const MAX_THREADS = 1024;
const SETTLED = Promise.resolve();

/**
 * Runs calls in worker threads, one at a time in each. A call that does not stop when it is asked to ends with its thread.
 * A thread is no boundary for memory, nor for what a tool may access.
 *
 * While all threads are busy, calls wait here, but a few are sent ahead: waking a thread takes longer than many a call.
 * A call that was sent ahead is unclaimed until the thread starts it and can be taken back at any time: it never waits
 * behind a slow call while another thread is free.
 */
export class ThreadRunner implements Runner {
  private readonly maxThreads: number;
  private readonly tools = new KnownTools();
  private readonly queue = new CallQueue();
  private readonly threads: Thread[] = [];
  private willDistribute = false;
  private willBalance = false;
  private closing: Promise<void> | undefined = undefined;

  private readonly owner: ThreadOwner = {
    hasRoom: () => this.requestDistribution(),
    gaveBack: (calls) => this.takeBack(calls),
    ended: (thread, end, lost) => this.threadEnded(thread, end, lost),
  };

  constructor({ maxThreads = availableParallelism() }: ThreadRunnerOptions = {}) {
    this.maxThreads = checkNumber('maxThreads', maxThreads, { min: 1, max: MAX_THREADS, integer: true });
  }

  run(call: RunnerCall, task: RunnerTask): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const { code, toolName } = call;
      if (this.closing !== undefined) throw closedError(toolName);
      if (code.kind === 'function') {
        throw new VolleyError(
          'INVALID_TOOL',
          `The tool "${toolName}" is a function of this thread and cannot run in another. Pass its source code or a module.`,
          { toolName },
        );
      }
      const tool = this.tools.find(code, toolName);
      const queued = new ThreadCall(call, task, tool, this.onStop, resolve, reject);
      this.queue.push(queued);
      queued.watch();
      this.requestDistribution();
    });
  }

  /** Ends all threads; calls that wait or run are rejected. */
  close(): Promise<void> {
    this.closing ??= this.endAll();
    return this.closing;
  }

  private takeBack(calls: readonly ThreadCall[]): void {
    for (const call of calls.toReversed()) {
      if (this.closing === undefined) this.queue.pushFront(call);
      else call.reject(closedError(call.tool.name));
    }
    this.requestDistribution();
  }

  private threadEnded(thread: Thread, end: ThreadEnd, lost: ThreadCall | undefined): void {
    this.threads.splice(this.threads.indexOf(thread), 1);
    lost?.reject(lost.stop === undefined ? crashOf(lost, end) : lost.stop.reason);
    if (!end.wasReady) this.failToStart(end);
    this.requestDistribution();
  }

  /** Each thread that fails to start costs one call, so that this ends even if none can start. */
  private failToStart(end: ThreadEnd): void {
    if (this.closing === undefined) this.queue.shift()?.reject(startFailure(end));
  }

  private readonly onStop = (call: ThreadCall, reason: unknown): void => {
    if (call.isQueued) this.queue.remove(call);
    else if (!call.thread!.withdraw(call)) {
      call.thread!.stop(call, reason);
      return;
    }
    call.reject(reason);
  };

  /** At the end of the current turn, so that consecutive calls are sent together. */
  private requestDistribution(): void {
    if (this.willDistribute || this.closing !== undefined) return;
    this.willDistribute = true;
    // Node's own queueMicrotask allocates an object per call.
    void SETTLED.then(this.distributeNow);
  }

  private readonly distributeNow = (): void => {
    this.willDistribute = false;
    if (this.closing === undefined) this.distribute();
  };

  private distribute(): void {
    for (let next = this.queue.first; next !== undefined; next = this.queue.first) {
      const call = next;
      const takers = this.threads.filter((thread) => thread.wants(call));
      if (takers.length === 0) break;
      takers.sort((a, b) => a.flight.length - b.flight.length);
      const share = Math.ceil(this.queue.size / takers.length);
      for (const thread of takers) this.give(thread, share);
    }
    this.startThreads();
    this.requestBalance();
  }

  private give(thread: Thread, count: number): void {
    const calls: ThreadCall[] = [];
    while (calls.length < count && this.queue.first !== undefined && thread.canTake(this.queue.first)) {
      const call = this.queue.shift()!;
      thread.take(call);
      calls.push(call);
    }
    if (calls.length > 0) thread.send(calls);
  }

  /** As many as there are calls that no thread works on, including those sent ahead. */
  private startThreads(): void {
    let missing = this.queue.size;
    for (const { isReady, isEnding, flight } of this.threads) {
      if (flight.length > 1) missing += flight.length - 1;
      if (!isReady && !isEnding) missing--;
    }
    for (; missing > 0 && this.threads.length < this.maxThreads; missing--) {
      try {
        this.threads.push(new Thread(this.owner));
      } catch (value) {
        this.failToStart({ exitCode: 1, error: { value }, wasReady: false });
      }
    }
  }

  /** Not in this turn: a caller that gets an answer often has the next call. */
  private requestBalance(): void {
    if (this.willBalance || !this.threads.some((thread) => thread.isIdle)) return;
    if (!this.threads.some((thread) => thread.flight.length > 1)) return;
    this.willBalance = true;
    setImmediate(() => {
      this.willBalance = false;
      if (this.closing === undefined) this.balance();
    });
  }

  /** Gives idle threads half of the calls sent ahead to others. */
  private balance(): void {
    for (const idle of this.threads) {
      if (!idle.isIdle) continue;
      const calls = this.takeFromBusiest();
      if (calls.length === 0) return;
      for (const call of calls) idle.take(call);
      idle.send(calls);
    }
  }

  private takeFromBusiest(): ThreadCall[] {
    const busy = this.threads.filter((thread) => thread.flight.length > 1);
    busy.sort((a, b) => b.flight.length - a.flight.length);
    for (const thread of busy) {
      const calls = thread.withdrawLast(Math.floor(thread.flight.length / 2));
      if (calls.length > 0) return calls;
    }
    return [];
  }

  private async endAll(): Promise<void> {
    for (let call = this.queue.shift(); call !== undefined; call = this.queue.shift())
      call.reject(closedError(call.tool.name));
    for (const thread of this.threads) {
      for (const call of [...thread.flight]) {
        call.stop ??= { reason: closedError(call.tool.name) };
        if (thread.withdraw(call)) call.reject(call.stop.reason);
      }
    }
    await Promise.all(this.threads.map((thread) => thread.end()));
  }
}

function closedError(toolName: string): VolleyError {
  return new VolleyError('RUNNER_CLOSED', `The runner was closed before "${toolName}" was done.`, {
    toolName,
  });
}
