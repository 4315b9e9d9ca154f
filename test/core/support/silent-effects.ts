import type { Effects } from '../../../src/core/effects.ts';

/** For tests of sizes at which a validation of everything after every step would take too long. */
export const SILENT_EFFECTS: Effects = {
  start: () => {},
  stop: () => {},
  retrying: () => {},
  settled: () => {},
  released: () => {},
  abandoned: () => {},
  resumed: () => {},
};
