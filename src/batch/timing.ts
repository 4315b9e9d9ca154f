/** A clock with timers for what only shows or reports something. Tests inject their own. */
export interface Timing {
  now(): number;
  /** Calls once after a delay. Returns a function that cancels it. */
  after(ms: number, call: () => void): () => void;
}

/** The timers of the machine, with the given clock. They never keep the process alive. */
export function systemTiming(now: () => number): Timing {
  return {
    now,
    after: (ms, call) => {
      const timer = setTimeout(call, ms).unref();
      return () => clearTimeout(timer);
    },
  };
}
