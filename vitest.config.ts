import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { isDeep } from './test/support/depth.ts';

const common = {
  pool: 'forks',
  // Half of their time the tests wait for programs and time limits. What is timed runs alone anyway.
  maxWorkers: availableParallelism() + 4,
  globals: false,
  // These end what hangs. What they end must not depend on how quick the machine is, nor on what else it does.
  testTimeout: 180_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 60_000, interval: 20 } },
  setupFiles: 'test/support/fixed-seed.ts',
} as const;

/**
 * Loading what they test takes longer than most tests: files share processes, and leave nothing behind. These do not:
 * they need a stack, memory, descriptors, children or globals that nothing else has touched.
 */
const ALONE = [
  'test/runners/**/*.test.ts',
  'test/server/again.test.ts',
  'test/server/globals.test.ts',
  'test/server/load-drill.test.ts',
  'test/tools/analysis/nesting.test.ts',
  'test/tools/schema.test.ts',
];
/** Most code runs a few times. Optimizing it takes a fifth of the processor's time, and young memory a tenth. */
const LATE_OPTIMIZING = process.version.startsWith('v20.') ? ['--interrupt-budget=1000000'] : []; // Later versions refuse it.
const V8_FLAGS = [...LATE_OPTIMIZING, '--min-semi-space-size=16', '--max-semi-space-size=64'];
/**
 * These start thousands of programs, git above all. A start takes longer the more memory the process has that asks for it, so
 * they share processes that load less than the others, and keep V8's young memory small.
 */
const PROGRAMS = ['agents', 'e2e', 'git', 'security', 'tasks'].map((folder) => `test/${folder}/**/*.test.ts`);
/** Tests of batches that run on PostgreSQL, too: a few of them, and all in `npm run drill:postgres`. */
const ON_POSTGRES =
  process.env['VOLLEY_DRILL_POSTGRES'] === undefined
    ? ['test/batch/elsewhere.test.ts', 'test/batch/cancel-while-written.test.ts']
    : ['test/batch/**/*.test.ts', 'test/store/postgres*.test.ts'];
const TIMED = ['test/timing/**/*.test.ts'];
const DEEP = isDeep ? [] : ['test/**/*.deep.test.ts'];

export default defineConfig({
  test: {
    globalSetup: ['scripts/set-up-tests.ts'],
    passWithNoTests: false,
    reporters: ['default', './scripts/vitest-closing-line.ts'],
    projects: [
      {
        test: {
          ...common,
          name: 'alone',
          include: ALONE,
          exclude: [...configDefaults.exclude, ...DEEP],
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...common,
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...ALONE, ...PROGRAMS, ...TIMED, ...DEEP],
          isolate: false,
          execArgv: V8_FLAGS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...common,
          name: 'programs',
          include: PROGRAMS,
          exclude: [...configDefaults.exclude, ...DEEP],
          isolate: false,
          execArgv: LATE_OPTIMIZING,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...common,
          name: 'on-postgres',
          include: ON_POSTGRES,
          exclude: [...configDefaults.exclude, ...DEEP],
          isolate: false,
          execArgv: V8_FLAGS,
          env: { VOLLEY_TEST_STORE: 'postgres' },
          sequence: { groupOrder: 0 },
        },
      },
      {
        // What is timed runs alone, after everything else.
        test: {
          ...common,
          name: 'timing',
          include: TIMED,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
