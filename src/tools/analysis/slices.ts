import { setImmediate } from 'node:timers/promises';

/** How long the event loop is held at once. */
const SLICE_MS = 8;

/**
 * Runs long work in slices, so that the rest of the process continues. The signal stops it between two slices; `report`
 * gets the last yielded value.
 */
export async function inSlices<S, T>(
  work: Generator<S, T>,
  signal: AbortSignal,
  report: (step: S) => void,
): Promise<T> {
  try {
    for (let sliceEnd = performance.now() + SLICE_MS; ; ) {
      const step = work.next();
      if (step.done) return step.value;
      if (performance.now() < sliceEnd) continue;
      report(step.value);
      await setImmediate();
      signal.throwIfAborted();
      sliceEnd = performance.now() + SLICE_MS;
    }
  } finally {
    work.return(undefined as T);
  }
}
