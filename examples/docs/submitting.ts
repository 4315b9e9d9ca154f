import { readFile } from 'node:fs/promises';
import { ParallelExecutionEngine } from 'volley';

const path = new URL(import.meta.url);

// #region submit
const engine = new ParallelExecutionEngine({ maxConcurrency: 8, limits: { cpu: 4, memoryMb: 8192 } });

const text = engine.submit(({ signal }) => readFile(path, { encoding: 'utf8', signal }), {
  toolName: 'read-file',
  priority: 'high',
  timeoutMs: 10_000,
});
const words = engine.submit(async () => (await text.wait()).split(/\s+/).length, { dependsOn: [text] });
console.log((await words.wait()) > 50);
// #endregion submit

// #region map
const squares = await engine.map([1, 2, 3], async (n) => n ** 2, { concurrency: 2 });
console.log(squares.join(' '));
// #endregion map

await engine.close();
