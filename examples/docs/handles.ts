import { setTimeout as work } from 'node:timers/promises';
import { ParallelExecutionEngine, VolleyError } from 'volley';

const engine = new ParallelExecutionEngine();

{
  // #region results
  const answer = engine.submit({ toolName: 'think' }, () => 42);
  console.log(await answer.wait());

  const broken = engine.submit({ toolName: 'parse' }, () => {
    throw new TypeError('no number');
  });
  const outcome = await broken.outcome();
  if (outcome.status === 'failed') console.log(outcome.reason, outcome.attempts, String(outcome.error));
  // #endregion results
}

{
  // #region cancel
  const crawl = engine.submit({ id: 'crawl', toolName: 'crawl' }, async ({ report, signal }) => {
    signal.addEventListener('abort', () => console.log('told to stop'));
    report('reading the first page');
    await work(60_000, undefined, { signal });
  });
  for await (const { type } of crawl.progress()) if (type === 'step') break;

  console.log(crawl.cancel('the user left'));
  console.log(crawl.cancel('once more'));
  try {
    await crawl.wait();
  } catch (error) {
    if (error instanceof VolleyError) console.log(error.code, '·', error.message);
  }
  // #endregion cancel
}

{
  // #region signal
  const request = new AbortController();
  const search = engine.submit({ toolName: 'search', signal: request.signal }, ({ signal }) =>
    work(60_000, 'found', { signal }),
  );
  request.abort('the request was closed');
  const outcome = await search.outcome();
  if (outcome.status === 'cancelled') console.log(outcome.reason);
  // #endregion signal
}

{
  // #region progress
  const copy = engine.submit({ toolName: 'copy' }, async ({ report }) => {
    report('looking for a place');
    for (let part = 1; part <= 2; part++) {
      await work(10);
      report(part / 2, `part ${part} of 2`);
    }
  });
  for await (const update of copy.progress()) {
    if (update.type === 'progress') console.log('progress', update.progress, update.step);
    else if (update.type === 'step') console.log('step', update.step);
    else console.log(update.type);
  }
  // #endregion progress
}

await engine.close();
