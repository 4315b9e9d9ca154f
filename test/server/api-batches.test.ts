import { expect, test } from 'vitest';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { HeldCalls } from '../batch/support/rig.ts';
import { serve, TOKENS } from './support/serve.ts';

const tasks = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ function: 'echo', params: { value: index } }));

test('a batch that computes returns its value with the answer and with the results', async () => {
  const { json } = await serve();
  await json('POST', '/v1/batches', {
    batch: 'sums',
    tasks: [{ id: 'each', function: 'echo', params: { value: '${item.n}' }, for_each: [{ n: 1 }, { n: 2 }] }],
    return: 'each.map(({ value }) => Number(value) * 2)',
  });
  const started = await json('POST', '/v1/batches/sums/start', { wait: true });
  expect(started.body).toMatchObject({ data: { returned: [2, 4], counts: { completed: 4 } } });
  expect((await json('GET', '/v1/batches/sums/results')).body).toMatchObject({ data: { returned: [2, 4] } });
  const item = await json('GET', `/v1/executions/sums/${encodeURIComponent('each[1]')}`);
  expect(item.body).toMatchObject({ id: 'each[1]', status: 'completed', params: { value: '2' } });
});

test('a batch is made, started, followed to its end and read', async () => {
  const { json, executor } = await serve();
  const made = await json('POST', '/v1/batches', {
    batch: 'audit',
    tasks: [
      { id: 'a', function: 'echo', params: { value: 1 } },
      { id: 'b', function: 'broken', depends_on: ['a'] },
    ],
    start: { max_concurrent: 2 },
  });
  expect(made.status).toBe(201);
  expect(made.headers.get('location')).toBe('/v1/batches/audit');
  await executor.handle({ action: 'wait', batch: 'audit' });
  const { body } = await json('GET', '/v1/batches/audit');
  expect(body).toMatchObject({
    batch: 'audit',
    state: 'idle',
    total: 2,
    progress: 0.5,
    counts: { completed: 1, failed: 1, open: 0 },
    holder: null,
    problem: null,
  });
});

test('a batch and its tasks say what their models and agents cost', async () => {
  const asking = defineTool({
    name: 'asking',
    run: (_, context) => {
      context.spent?.({ inputTokens: 90, outputTokens: 10, costUsd: 0.25 });
      return 'fine';
    },
  });
  const { json, executor } = await serve({ tools: [asking] });
  await json('POST', '/v1/batches', { batch: 'ask', tasks: [{ id: 'a', function: 'asking' }], start: {} });
  await executor.handle({ action: 'wait', batch: 'ask' });
  const spent = { input_tokens: 90, output_tokens: 10, cost_usd: 0.25 };
  expect((await json('GET', '/v1/batches/ask')).body).toMatchObject({ spending: { calls: 1, ...spent } });
  expect((await json('GET', '/v1/executions/ask/a')).body).toMatchObject(spent);
});

test('batches come in pages, the newest first, and each of them once', async () => {
  const { json } = await serve();
  for (const name of ['one', 'two', 'three', 'four', 'five'])
    await json('POST', '/v1/batches', { batch: name, tasks: tasks(1) });
  const seen: string[] = [];
  let cursor: string | null = '';
  for (let pages = 0; cursor !== null && pages < 5; pages++) {
    const { body } = await json('GET', `/v1/batches?limit=2${cursor && `&cursor=${cursor}`}`);
    seen.push(...body.batches.map((one: { batch: string }) => one.batch));
    cursor = body.next_cursor;
  }
  expect(seen).toEqual(['five', 'four', 'three', 'two', 'one']);
});

test('batches are found by a part of their name and by how they stand', async () => {
  const held = new HeldCalls();
  const { json, executor } = await serve({ tools: [held.tool()] });
  await json('POST', '/v1/batches', { batch: 'Import-1', tasks: tasks(1), start: {} });
  await json('POST', '/v1/batches', { batch: 'import-2', tasks: [{ function: 'broken' }], start: {} });
  await json('POST', '/v1/batches', { batch: 'left', tasks: tasks(1) });
  const first = { id: 'first', function: 'held', params: { key: 'first' } };
  await json('POST', '/v1/batches', { batch: 'busy', tasks: [first], start: {} });
  await held.started('first');
  for (const batch of ['Import-1', 'import-2']) await executor.handle({ action: 'wait', batch });
  const found = async (query: string) => {
    const { body } = await json('GET', `/v1/batches?${query}`);
    expect(body.next_cursor).toBe(null);
    return body.batches.map((one: { batch: string }) => one.batch);
  };
  expect(await found('search=IMPORT')).toEqual(['import-2', 'Import-1']);
  expect(await found('search=import&state=failed')).toEqual(['import-2']);
  expect(await found('state=active&state=unfinished')).toEqual(['busy', 'left']);
  expect(await found('state=succeeded')).toEqual(['Import-1']);
  expect((await json('GET', '/v1/batches?state=nonsense')).status).toBe(400);
  held.finish('first');
  await executor.handle({ action: 'wait', batch: 'busy' });
});

test('tasks are added to a batch that runs, and run too; it is stopped, retried and cleared', async () => {
  const held = new HeldCalls();
  const { json, executor } = await serve({ tools: [held.tool()] });
  const first = { id: 'first', function: 'held', params: { key: 'first' } };
  await json('POST', '/v1/batches', { batch: 'work', tasks: [first], start: {} });
  await held.started('first');
  const added = await json('POST', '/v1/batches/work/tasks', {
    tasks: [{ id: 'second', function: 'held', params: { key: 'second' } }],
  });
  expect(added).toMatchObject({
    status: 201,
    body: { ids: ['second'], batch: { total: 2, state: 'running' } },
  });
  await held.started('second');
  const cancelled = await json('POST', '/v1/executions/work/second/cancel');
  expect(cancelled).toMatchObject({ status: 200, body: { ok: true, data: { cancelled: 1 } } });
  held.finish('first');
  await executor.handle({ action: 'wait', batch: 'work' });
  const again = await json('POST', '/v1/batches/work/retry', { ids: ['second'] });
  expect(again.body.data).toMatchObject({ reopened: 1, counts: { open: 1, completed: 1 } });
  const stopped = await json('POST', '/v1/batches/work/stop');
  expect(stopped.status).toBe(200);
  expect((await json('POST', '/v1/batches/work/cancel', {})).body.data.cancelled).toBe(1);
  expect((await json('POST', '/v1/batches/work/clear', { status: 'cancelled' })).body.data.cleared).toBe(1);
  expect((await json('POST', '/v1/batches/work/clear')).body.data.cleared).toBe(1);
  expect((await json('GET', '/v1/batches/work')).status).toBe(404);
});

test('results, attempts and exports of a batch can be read', async () => {
  const { json, fetch, executor } = await serve();
  const odd = '=cmd|"x"';
  await json('POST', '/v1/batches', {
    batch: 'a/b "quoted"',
    tasks: [
      { id: 'a', function: 'echo', params: { value: odd } },
      { id: 'b', function: 'broken', max_retries: 0 },
    ],
    start: {},
  });
  const path = `/v1/batches/${encodeURIComponent('a/b "quoted"')}`;
  await executor.handle({ action: 'wait', batch: 'a/b "quoted"' });
  const { body } = await json('GET', `${path}/results?format=json&limit=1`);
  expect(body.data.results).toMatchObject([{ id: 'a', result: { value: odd } }]);
  expect(body.data.next_cursor).toBe(1);
  const attempts = (await json('GET', `${path}/attempts`)).body;
  expect(attempts.attempts).toMatchObject([
    { id: 'a', attempt: 1, outcome: 'completed' },
    { id: 'b', attempt: 1, outcome: 'failed' },
  ]);
  const csv = await fetch(`${path}/export?format=csv`);
  expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
  expect(csv.headers.get('content-disposition')).toBe('attachment; filename="a_b_quoted_.csv"');
  expect((await csv.text()).split('\r\n').length).toBe(4);
  const jsonl = await (await fetch(`${path}/export?format=jsonl&status=completed`)).text();
  expect(
    jsonl
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).id),
  ).toEqual(['a']);
  expect((await json('GET', `${path}/export`)).body.tasks).toHaveLength(2);
  expect((await json('GET', '/v1/batches/none/export')).status).toBe(404);
});

test('a picture of a result is downloaded as its server described it, and never shown as a page', async () => {
  const bytes = Buffer.from('<script>alert(1)</script>');
  const picture = defineTool({
    name: 'picture',
    description: 'Returns a picture.',
    run: () => ({ parts: [{ type: 'image', mimeType: 'image/svg+xml', data: bytes.toString('base64') }] }),
  });
  const { json, fetch, executor } = await serve({ tools: [picture as Tool] });
  const tasks = [{ id: 'a', function: 'picture', params: {} }];
  await json('POST', '/v1/batches', { batch: 'shots', tasks, start: {} });
  await executor.handle({ action: 'wait', batch: 'shots' });
  const { body } = await json('GET', '/v1/batches/shots/results?format=json');
  const { id } = body.data.results[0].result.parts[0].data;
  const path = `/v1/batches/shots/blobs/${id}`;
  const answer = await fetch(path, { token: TOKENS.read });
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(bytes);
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'image/svg+xml',
    'content-disposition': `attachment; filename="${id}"`,
    'x-content-type-options': 'nosniff',
    'content-security-policy': expect.stringContaining("default-src 'none'"),
  });
  expect((await fetch(path, { token: null })).status).toBe(401);
  expect(await json('GET', `/v1/batches/shots/blobs/${'0'.repeat(32)}`)).toMatchObject({
    status: 404,
    body: { code: 'UNKNOWN_BLOB' },
  });
});

test('an export of many tasks is streamed whole', async () => {
  const { json, fetch } = await serve();
  await json('POST', '/v1/batches', { batch: 'many', tasks: tasks(3000) });
  const text = await (await fetch('/v1/batches/many/export?format=jsonl')).text();
  const lines = text.trim().split('\n');
  expect(lines).toHaveLength(3000);
  expect(JSON.parse(lines.at(-1)!).id).toBe('t3000');
});

test('an action of batch_executor_tool is answered as it is, its refusals too', async () => {
  const { json } = await serve();
  const added = await json('POST', '/v1/actions', { action: 'add', function: 'echo' });
  expect(added).toMatchObject({ status: 200, body: { ok: true, data: { id: 't1' } } });
  const refused = await json('POST', '/v1/actions', { action: 'status', batch: 'none' });
  expect(refused).toMatchObject({ status: 200, body: { ok: false, error: { code: 'UNKNOWN_BATCH' } } });
});

test.each([
  '/v1/batches/audti',
  '/v1/batches/audti/attempts',
  '/v1/batches/audti/events',
  '/v1/batches/audti/export?format=csv',
  '/v1/batches/audti/results',
  '/v1/executions?batch=audti',
])('a batch that is not there is answered with the one that was meant: %s', async (path) => {
  const { json } = await serve();
  await json('POST', '/v1/batches', { batch: 'audit', tasks: tasks(1) });
  expect(await json('GET', path)).toMatchObject({
    status: 404,
    body: { code: 'UNKNOWN_BATCH', facts: { batch: 'audti', nearest: 'audit' } },
  });
});

test('a task that is not there is answered with the one that was meant', async () => {
  const { json } = await serve();
  await json('POST', '/v1/batches', { batch: 'audit', tasks: [{ id: 'login', function: 'echo' }] });
  for (const path of ['', '/result'])
    expect(await json('GET', `/v1/executions/audit/logni${path}`)).toMatchObject({
      status: 404,
      body: { code: 'UNKNOWN_TASK', facts: { id: 'logni', nearest: 'login' } },
    });
});

test('statistics and metrics describe the engine', async () => {
  const { json, fetch, executor } = await serve();
  await json('POST', '/v1/batches', { tasks: tasks(3), start: {} });
  await executor.handle({ action: 'wait' });
  expect((await json('GET', '/v1/statistics')).body).toMatchObject({
    submitted: 3,
    counts: { completed: 3 },
  });
  const metrics = await fetch('/metrics');
  expect(metrics.headers.get('content-type')).toContain('text/plain');
  expect(await metrics.text()).toContain('volley_executions');
});
