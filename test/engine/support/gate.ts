/** A promise that the test settles when it wants to. */
export interface Gate<T> {
  readonly passed: Promise<T>;
  open(value: T): void;
  fail(error: unknown): void;
}

export function gate<T = void>(): Gate<T> {
  let open!: (value: T) => void;
  let fail!: (error: unknown) => void;
  const passed = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { passed, open, fail };
}

/** Lets an engine do all that it can do without time passing: it works in microtasks and immediates. */
export async function quiet(): Promise<void> {
  for (let round = 0; round < 3; round++) await new Promise((resolve) => setImmediate(resolve));
}
