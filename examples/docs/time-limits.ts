import { setTimeout as pause } from 'node:timers/promises';
import { ParallelExecutionEngine } from 'volley';

const engine = new ParallelExecutionEngine();
const forever = ({ signal }: { signal: AbortSignal }) => pause(60_000, undefined, { signal });

// #region limits
const limited = [
  engine.submit({ toolName: 'download', timeoutMs: 20 }, forever), // One attempt, from its start.
  engine.submit({ toolName: 'download', stallMs: 20 }, forever), // Between two reports of an attempt.
  engine.submit({ toolName: 'download', deadlineMs: 20 }, forever), // Everything, from the submission.
  ...engine.submitAll([{ toolName: 'download', run: forever }], { timeoutMs: 20 }).handles, // A whole group.
];
for (const handle of limited) {
  const outcome = await handle.outcome();
  if (outcome.status === 'failed') console.log(outcome.reason);
}
// #endregion limits

await engine.close();
