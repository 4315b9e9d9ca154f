import { afterEach } from 'vitest';
import { ThreadRunner } from '../../../../src/runners/thread/thread-runner.ts';

const opened: ThreadRunner[] = [];

/** A runner that is closed after the test. */
export function openRunner(maxThreads: number): ThreadRunner {
  const runner = new ThreadRunner({ maxThreads });
  opened.push(runner);
  return runner;
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((runner) => runner.close()));
});
