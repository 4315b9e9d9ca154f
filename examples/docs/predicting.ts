import { setTimeout as pause } from 'node:timers/promises';
import { ParallelExecutionEngine } from 'volley';

const engine = new ParallelExecutionEngine({ maxConcurrency: 4 });
const fetchPage = () => pause(20 + 20 * Math.random());

// #region predict
const batch = engine.submitAll(
  Array.from({ length: 60 }, () => ({ toolName: 'fetch', run: fetchPage })),
  { name: 'pages' },
);
console.log(batch.timeLeft()); // Nothing is known of the tool.

await batch.handles[19]?.outcome();
const left = batch.timeLeft();
if (left !== undefined) console.log(`about ${left.expectedMs} ms, ${left.lowMs} to ${left.highMs}`);
// #endregion predict

await engine.close();
