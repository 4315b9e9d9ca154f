import { setTimeout as pause } from 'node:timers/promises';
import { ParallelExecutionEngine, VolleyError } from 'volley';

const work = ({ signal }: { signal: AbortSignal }) => pause(10, undefined, { signal });

// #region limits
const engine = new ParallelExecutionEngine({
  maxConcurrency: 16,
  limits: { cpu: 4, memoryMb: 8192, ioOperations: 32, networkOperations: 8 },
  resources: { gpu: 2, license: 5 },
  tools: { search: { maxConcurrency: 2, rate: { count: 10, perMs: 1000 } } },
  groups: { crawl: { maxConcurrency: 4 } },
});
// #endregion limits

// #region needs
engine.submit({ toolName: 'resize', resources: { cpu: 1, memoryMb: 500, io: 'high' } }, work);
engine.submit({ toolName: 'search', resources: { network: true } }, work);
engine.submit({ toolName: 'train', resources: { gpu: 2, license: 1 } }, work); // Named resources, declared below.

engine.submit({ toolName: 'migrate', resources: { exclusive: ['db'] } }, work); // Nobody else has `db` meanwhile,
engine.submit({ toolName: 'query', resources: { shared: ['db'] } }, work); // while these two may have it
engine.submit({ toolName: 'query', resources: { shared: ['db'] } }, work); // at the same time.

engine.submit({ toolName: 'deploy', conflictsWith: ['test'] }, work); // No `test` runs meanwhile, no matter who submits it.
// #endregion needs

// #region impossible
try {
  engine.submit({ toolName: 'train', resources: { cpu: 64 } }, work);
} catch (error) {
  if (error instanceof VolleyError) console.log(error.code, error.details, error.message);
}
// #endregion impossible

// #region unknown
try {
  engine.submit({ toolName: 'train', resources: { gpus: 1 } }, work);
} catch (error) {
  if (error instanceof VolleyError) console.log(error.code, error.details['nearest']);
}
// #endregion unknown

// #region change
engine.setLimits({
  maxConcurrency: 4,
  limits: { cpu: 2 },
  resources: { gpu: 4 },
  tools: { search: { rate: null } },
});
// #endregion change

await engine.close();
