import { ParallelExecutionEngine } from '../../../src/index.ts';
import { InlineRunner } from '../../../src/runners/inline.ts';
import { describeRunner } from './suite.ts';

describeRunner('inline', async () => {
  const runner = new InlineRunner();
  return {
    runner,
    engine: ParallelExecutionEngine,
    failures: new URL('../../../src/engine/tool-failure.ts', import.meta.url),
    close: () => runner.close(),
  };
});
