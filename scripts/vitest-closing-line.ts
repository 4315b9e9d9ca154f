import type { Reporter, SerializedError, TestModule, Vitest } from 'vitest/node';

/**
 * Ends a test run with a line of its own, "12 passed, 0 failed", that a program can read.
 * What broke outside any test (a file that does not load, a failing hook, a stray rejection) counts as failed.
 */
export default class ClosingLine implements Reporter {
  #watching = false;

  onInit(vitest: Vitest): void {
    this.#watching = vitest.config.watch;
  }

  onTestRunEnd(modules: readonly TestModule[], strayErrors: readonly SerializedError[]): void {
    let passed = 0;
    let failed = strayErrors.length;
    for (const module of modules) {
      failed += module.errors().length;
      for (const suite of module.children.allSuites()) failed += suite.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') passed += 1;
        if (state === 'failed') failed += 1;
      }
    }
    const write = () => process.stdout.write(`${passed} passed, ${failed} failed\n`);
    // The other reporters still print their summary; only at exit is this line the last.
    if (this.#watching) write();
    else process.once('exit', write);
  }
}
