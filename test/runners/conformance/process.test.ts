import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { importBuilt } from '../support/built.ts';
import { describeRunner } from './suite.ts';

describeRunner('process', async () => {
  const { folder, ParallelExecutionEngine, ProcessRunner, createLauncher } = await importBuilt();
  const launcher = createLauncher();
  const runner = new ProcessRunner({ launcher });
  return {
    runner,
    engine: ParallelExecutionEngine,
    failures: pathToFileURL(join(folder, 'engine/tool-failure.js')),
    async close() {
      await runner.close();
      await launcher.close();
    },
  };
});
