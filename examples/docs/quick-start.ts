// #region main
import { setTimeout as work } from 'node:timers/promises';
import { ParallelExecutionEngine } from 'volley';

const engine = new ParallelExecutionEngine({ maxConcurrency: 8 });

const pages = ['trees', 'roofs', 'water'].map((topic, index) =>
  engine.submit({ id: topic, toolName: 'fetch', timeoutMs: 5000, retry: { maxRetries: 2 } }, async (task) => {
    await work(100 * (index + 1), undefined, { signal: task.signal });
    if (topic === 'roofs' && task.attempt === 1) throw new Error('503');
    return `a page on ${topic}`;
  }),
);
const report = engine.submit({ id: 'report', toolName: 'write', dependsOn: pages }, async () => {
  return (await Promise.all(pages.map((page) => page.wait()))).join(', ');
});

void engine.close(); // Takes no more work; the stream of updates ends when all is done.
for await (const update of engine.progress.subscribe({ after: 0 })) {
  if (update.type !== 'missed') console.log(update.type.padEnd(9), update.executionId);
}
console.log(await report.wait());
// #endregion main
