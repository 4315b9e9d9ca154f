import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { ParallelExecutionEngine } from 'volley';

const engine = new ParallelExecutionEngine();

// #region context
const user = new AsyncLocalStorage<string>();
const whoami = () => user.getStore() ?? 'nobody';

await user.run('ann', async () => {
  console.log(await engine.submit({ toolName: 'whoami' }, whoami).wait());
  console.log(await engine.submit({ toolName: 'whoami' }, AsyncResource.bind(whoami)).wait());
});
// #endregion context

await engine.close();
