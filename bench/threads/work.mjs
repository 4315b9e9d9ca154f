// What the threads of all contestants do. Plain JavaScript: not all of them can load anything else.

/** Nothing. */
export async function noOp() {}

/** Keeps a processor busy for a millisecond. */
export function spin() {
  const end = performance.now() + 1;
  while (performance.now() < end);
}

/** Waits for ever. */
export function rest() {
  return new Promise(() => {});
}
