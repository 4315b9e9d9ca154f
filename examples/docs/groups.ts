import { ParallelExecutionEngine } from 'volley';

const engine = new ParallelExecutionEngine();

// #region group
const batch = engine.submitAll(
  [
    {
      id: 'sum',
      toolName: 'add',
      dependsOn: ['left', 'right'], // Members may refer forward.
      run: ({ outcomes }) =>
        [...outcomes.values()].reduce(
          (sum, one) => sum + (one.status === 'completed' ? Number(one.value) : 0),
          0,
        ),
    },
    { id: 'left', toolName: 'read', run: () => 40 },
    { id: 'right', toolName: 'read', run: () => 2 },
  ],
  { name: 'sums', maxConcurrency: 4, failFast: true, timeoutMs: 60_000 },
);

const { succeeded, counts } = await batch.outcome();
console.log(succeeded, counts.completed);
console.log(await batch.handles[0].wait()); // A number, as its function returns.
// #endregion group

await engine.close();
