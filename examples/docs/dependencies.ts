import { ParallelExecutionEngine } from 'volley';

const engine = new ParallelExecutionEngine();
const build = () => {
  throw new Error('does not compile');
};
const nothing = () => undefined;

// #region policies
const batch = engine.submitAll([
  { id: 'build', toolName: 'build', run: build },
  { id: 'test', toolName: 'test', dependsOn: ['build'], run: nothing },
  { id: 'publish', toolName: 'publish', dependsOn: ['test'], run: nothing },
  { id: 'alert', toolName: 'mail', dependsOn: ['publish'], onDependencyFailure: 'on-failure', run: nothing },
  {
    id: 'clean-up',
    toolName: 'remove',
    dependsOn: ['build', 'test'],
    onDependencyFailure: 'run',
    run: ({ outcomes }) => [...outcomes.values()].map(({ id, status }) => `${id} ${status}`).join(', '),
  },
]);
for (const outcome of await batch.outcomes()) {
  const because = outcome.status === 'skipped' ? `because of ${outcome.cause}` : '';
  const value = outcome.status === 'completed' ? (outcome.value ?? '') : '';
  console.log(`${outcome.id.padEnd(9)} ${outcome.status} ${because}${value}`.trimEnd());
}
// #endregion policies

await engine.close();
