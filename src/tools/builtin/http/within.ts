import { requestFailed } from './failures.ts';

/** Runs something whose signal is aborted when its time is over or the caller wants it to end. */
export async function within<T>(
  timeoutMs: number,
  outer: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer.throwIfAborted();
  const controller = new AbortController();
  const stop = () => controller.abort(outer.reason);
  const timer = setTimeout(() => {
    controller.abort(requestFailed(`it took longer than ${timeoutMs} ms`, true));
  }, timeoutMs);
  outer.addEventListener('abort', stop);
  try {
    return await run(controller.signal);
  } finally {
    clearTimeout(timer);
    outer.removeEventListener('abort', stop);
  }
}

/** Waits no longer than the signal allows for what cannot be interrupted; what comes of it then is dropped. */
export async function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
