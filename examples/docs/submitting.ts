import { readFile } from 'node:fs/promises';
import { ParallelExecutionEngine } from 'volley';

const path = new URL(import.meta.url);

// #region submit
const engine = new ParallelExecutionEngine({ maxConcurrency: 8, limits: { cpu: 4, memoryMb: 8192 } });

const text = engine.submit({ toolName: 'read-file', priority: 'high', timeoutMs: 10_000 }, ({ signal }) =>
  readFile(path, { encoding: 'utf8', signal }),
);
const words = engine.submit({ toolName: 'count-words', dependsOn: [text] }, async () => {
  return (await text.wait()).split(/\s+/).length;
});
console.log((await words.wait()) > 50);
// #endregion submit

await engine.close();
