import { ParallelExecutionEngine, ToolFailure } from 'volley';

const engine = new ParallelExecutionEngine();
const answers = [503, 503, 200];
const callService = async () => answers.shift() ?? 401;

// #region retries
const call = engine.submit(
  {
    toolName: 'call-service',
    retry: { maxRetries: 3, delayMs: 20, factor: 2, maxDelayMs: 1000, jitter: 0.5 },
  },
  async ({ attempt }) => {
    const status = await callService();
    if (status === 401) throw new ToolFailure('The key was refused', { retryable: false });
    if (status !== 200) throw new Error(`HTTP ${status}`);
    return `answered at attempt ${attempt}`;
  },
);
for await (const update of call.progress()) {
  console.log(update.type === 'retrying' ? `retrying: ${update.error}` : update.type);
}
console.log(await call.wait());
// #endregion retries

await engine.close();
