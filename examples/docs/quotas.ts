import { ParallelExecutionEngine, RateLimitedError } from 'volley';

const answers = [429, 429, 200, 200, 200];
const callApi = async () => answers.shift();

const engine = new ParallelExecutionEngine();

// #region quotas
const work = Array.from({ length: 3 }, (_, index) =>
  engine.submit({ toolName: 'ask', quota: 'account:team' }, async () => {
    if ((await callApi()) === 429) throw new RateLimitedError('Too many requests', { retryAfterMs: 50 });
    return `answer ${index}`;
  }),
);
console.log(await Promise.all(work.map((handle) => handle.wait())));
const { retries, refusals } = engine.statistics();
console.log(retries, 'retries,', refusals, 'refusals');
// #endregion quotas

await engine.close();
