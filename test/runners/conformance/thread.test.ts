import { ParallelExecutionEngine } from '../../../src/index.ts';
import { ThreadRunner } from '../../../src/runners/thread/thread-runner.ts';
import { describeRunner } from './suite.ts';

describeRunner('thread', async () => {
  const runner = new ThreadRunner({ maxThreads: 2 });
  return {
    runner,
    engine: ParallelExecutionEngine,
    failures: new URL('../../../src/engine/tool-failure.ts', import.meta.url),
    close: () => runner.close(),
  };
});
