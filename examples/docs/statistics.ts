import { setTimeout as pause } from 'node:timers/promises';
import { ParallelExecutionEngine } from 'volley';

const engine = new ParallelExecutionEngine({ maxConcurrency: 4 });
engine.submitAll(Array.from({ length: 8 }, () => ({ toolName: 'step', run: () => pause(10) })));
await engine.drain();

// #region statistics
const { submitted, counts, retries, abandoned, duration, waiting, utilization } = engine.statistics();
console.log(submitted, counts.completed, retries, abandoned);
console.log(duration.p50Ms <= duration.p95Ms, waiting.maxMs >= waiting.p99Ms);
console.log(utilization.concurrency);

const [first] = engine.allocationHistory(); // Who held what, from when until when.
console.log(first?.executionId, first?.amounts);
const samples = engine.utilizationHistory(); // What was in use over time.
console.log(samples.length > 0);
// #endregion statistics

await engine.close();
