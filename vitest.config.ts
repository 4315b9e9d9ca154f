import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    globals: false,
    testTimeout: 20_000,
    passWithNoTests: false,
    reporters: ['default', './scripts/vitest-closing-line.ts'],
  },
});
