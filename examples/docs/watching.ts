import { setTimeout as pause } from 'node:timers/promises';
import { ParallelExecutionEngine } from 'volley';

const engine = new ParallelExecutionEngine({ maxConcurrency: 2 });

// #region subscribe
const batch = engine.submitAll(
  ['a', 'b', 'c'].map((id, index) => ({ id, toolName: 'step', run: () => pause(20 * (index + 1)) })),
  { name: 'steps' },
);
let last = 0;
for await (const update of engine.progress.subscribe({ after: last })) {
  if (update.type === 'missed') {
    console.log(`${update.count} updates are gone`);
    continue;
  }
  last = update.eventId; // Remember it, and a later reader can go on from here.
  console.log(update.eventId, update.type, update.executionId);
  if (update.type === 'completed') break;
}
// #endregion subscribe

await batch.outcome();

// #region resume
for await (const update of engine.progress.subscribe({ after: last })) {
  if (update.type === 'missed') continue;
  console.log(update.eventId, update.type, update.executionId);
  if (update.eventId === engine.progress.lastEventId) break;
}
console.log(batch.progress());
// #endregion resume

await engine.close();
