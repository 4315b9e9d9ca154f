import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const common = {
  pool: 'forks',
  // The default leaves one core free; what is timed runs alone anyway.
  maxWorkers: Math.max(2, availableParallelism()),
  globals: false,
  testTimeout: 20_000,
} as const;

/** Loading what they test takes longer than the tests: these files share processes, and leave nothing behind. */
const SHARING = ['core', 'engine', 'config', 'coordinator', 'store', 'batch', 'cli'].map(
  (layer) => `test/${layer}/**/*.test.ts`,
);

export default defineConfig({
  test: {
    globalSetup: ['scripts/set-up-tests.ts'],
    passWithNoTests: false,
    reporters: ['default', './scripts/vitest-closing-line.ts'],
    projects: [
      {
        test: {
          ...common,
          name: 'behaviour',
          include: ['test/**/*.test.ts'],
          exclude: ['test/timing/**', ...SHARING],
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...common,
          name: 'together',
          include: SHARING,
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        // What is timed runs alone, after everything else.
        test: {
          ...common,
          name: 'timing',
          include: ['test/timing/**/*.test.ts'],
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
