import { setTimeout as pause } from 'node:timers/promises';
import { ParallelExecutionEngine } from 'volley';

const work = ({ signal }: { signal: AbortSignal }) => pause(60_000, undefined, { signal });

// #region explain
const engine = new ParallelExecutionEngine({ limits: { cpu: 4 } });
const migrate = engine.submit(
  { id: 'migrate', toolName: 'migrate', priority: 'high', resources: { cpu: 2, exclusive: ['db'] } },
  work,
);
engine.submit({ id: 'query', toolName: 'query', resources: { shared: ['db'] } }, work);
engine.submit({ id: 'render', toolName: 'render', resources: { cpu: 3 } }, work);
engine.submit({ id: 'report', toolName: 'report', dependsOn: ['query', 'render'] }, work);
for await (const { type } of migrate.progress()) if (type === 'started') break;

for (const id of ['query', 'render', 'report']) console.log(id, '·', engine.explain(id).text);

const explanation = engine.explain('query');
if (explanation.reason === 'lock') console.log(explanation.lock, explanation.heldBy);
// #endregion explain

await engine.close({ cancel: true });
