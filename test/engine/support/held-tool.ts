import type { TaskContext } from '../../../src/index.ts';
import { type Gate, gate } from './gate.ts';

/** One call of a held tool; it goes on until the test ends it, whatever its signal says. */
export interface HeldAttempt<T> {
  readonly task: TaskContext;
  finish(value: T): void;
  fail(error: unknown): void;
}

/** A tool that the test can hold open and finish at will. */
export class HeldTool<T = unknown> {
  /** How often it was called. */
  calls = 0;
  private readonly arrivals: Gate<HeldAttempt<T>>[] = [];
  private latest: HeldAttempt<T> | undefined;

  readonly run = (task: TaskContext): Promise<T> => {
    const end = gate<T>();
    this.latest = { task, finish: end.open, fail: end.fail };
    this.arrival(++this.calls).open(this.latest);
    return end.passed;
  };

  /** The call with the given number, as soon as it came. */
  started(call = 1): Promise<HeldAttempt<T>> {
    return this.arrival(call).passed;
  }

  /** Ends the latest call. */
  finish(value: T): void {
    this.latest!.finish(value);
  }

  /** Lets the latest call throw. */
  fail(error: unknown): void {
    this.latest!.fail(error);
  }

  private arrival(call: number): Gate<HeldAttempt<T>> {
    this.arrivals[call] ??= gate();
    return this.arrivals[call];
  }
}

/** Waits until the attempt is told to stop, and then ends with the reason that it was given. */
export function obedient({ signal }: TaskContext): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
