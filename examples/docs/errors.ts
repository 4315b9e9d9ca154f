import { ParallelExecutionEngine, VolleyError } from 'volley';

const engine = new ParallelExecutionEngine();
const run = () => undefined;

// #region errors
try {
  engine.submitAll([
    { id: 'egg', toolName: 'lay', dependsOn: ['hen'], run },
    { id: 'hen', toolName: 'hatch', dependsOn: ['egg'], run },
  ]);
} catch (error) {
  if (!(error instanceof VolleyError)) throw error;
  console.log(error.code);
  console.log(error.message);
  console.log(error.details);
}
// #endregion errors

await engine.close();
