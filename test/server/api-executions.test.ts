import { expect, test } from 'vitest';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { HeldCalls } from '../batch/support/rig.ts';
import { type Served, serve } from './support/serve.ts';

interface Row {
  readonly batch: string;
  readonly id: string;
}

async function allPages(served: Served, query: string): Promise<string[]> {
  const seen: string[] = [];
  let cursor: string | null = '';
  for (let pages = 0; cursor !== null && pages < 100; pages++) {
    const { status, body } = await served.json(
      'GET',
      `/v1/executions?${query}${cursor && `&cursor=${cursor}`}`,
    );
    expect(status).toBe(200);
    seen.push(...body.executions.map((row: Row) => `${row.batch}/${row.id}`));
    cursor = body.next_cursor;
  }
  return seen;
}

test('a value that cannot be written as JSON fails its own call only, in one answer and in a stream', async () => {
  const deep = () => {
    // Of plain data Node 26 writes any depth.
    let value: unknown = { toJSON: () => 0 };
    for (let depth = 0; depth < 50_000; depth++) value = [value];
    return value;
  };
  const tools = [
    defineTool({ name: 'deep', run: deep }),
    defineTool({ name: 'bigint', run: () => ({ amount: 1n }) }),
  ] as Tool[];
  const { fetch } = await serve({ tools });
  const body = JSON.stringify({ calls: ['deep', 'bigint', 'echo'].map((name) => ({ id: name, name })) });
  const headers = { 'content-type': 'application/json' };
  const whole = await fetch('/v1/execute', { method: 'POST', headers, body });
  const { results } = (await whole.json()) as { results: { id: string }[] };
  const lines = await fetch('/v1/execute', {
    method: 'POST',
    headers: { ...headers, accept: 'application/x-ndjson' },
    body,
  });
  const streamed = (await lines.text())
    .trim()
    .split('\n')
    .map((line): { id: string } => JSON.parse(line));
  for (const answered of [results, streamed]) {
    const byId = Object.fromEntries(answered.map((one) => [one.id, one]));
    const why = (message: string) => ({
      status: 'failed',
      reason: 'error',
      error: { code: 'UNSERIALISABLE_RESULT', message: expect.stringContaining(message) },
    });
    expect(byId).toMatchObject({
      deep: why('deep'),
      bigint: why('BigInt'),
      echo: { status: 'completed', value: {} },
    });
  }
});

test('executions are listed by batch, status, function and search, in pages and in both orders', async () => {
  const served = await serve();
  const { json, executor } = served;
  await json('POST', '/v1/batches', {
    batch: 'first',
    tasks: [
      { id: 'red', name: 'The Apple', function: 'echo' },
      { id: 'green', function: 'broken' },
      { id: 'blue', function: 'echo', params: { fruit: 'Pear', api_key: 'hidden-grape' } },
    ],
    start: {},
  });
  await executor.handle({ action: 'wait', batch: 'first' });
  await json('POST', '/v1/batches', { batch: 'second', tasks: [{ id: 'apple', function: 'echo' }] });
  expect(await allPages(served, 'batch=first&limit=2')).toEqual(['first/red', 'first/green', 'first/blue']);
  expect(await allPages(served, 'batch=first&limit=1&sort=-seq')).toEqual([
    'first/blue',
    'first/green',
    'first/red',
  ]);
  expect(await allPages(served, 'limit=1')).toEqual([
    'second/apple',
    'first/red',
    'first/green',
    'first/blue',
  ]);
  expect(await allPages(served, 'search=apple')).toEqual(['second/apple', 'first/red']);
  expect(await allPages(served, 'search=BROKE')).toEqual(['first/green']);
  expect(await allPages(served, 'search=it+broke')).toEqual(['first/green']);
  expect(await allPages(served, 'search=pear')).toEqual(['first/blue']);
  expect(await allPages(served, 'search=grape')).toEqual([]);
  expect(await allPages(served, 'status=failed')).toEqual(['first/green']);
  expect(await allPages(served, 'status=completed&status=failed&sort=-seq')).toEqual([
    'first/blue',
    'first/green',
    'first/red',
  ]);
  expect(await allPages(served, 'function=broken')).toEqual(['first/green']);
  expect((await json('GET', '/v1/executions?batch=none')).status).toBe(404);
  expect((await json('GET', '/v1/executions?cursor=x')).status).toBe(400);
});

test('what is rare is found behind many others, without looking at all of them at once', async () => {
  const served = await serve();
  const many = Array.from({ length: 11_000 }, (_, index) => ({ id: `n${index}`, function: 'echo' }));
  await served.json('POST', '/v1/batches', {
    batch: 'many',
    tasks: [...many, { id: 'needle', function: 'echo' }],
  });
  const first = await served.json('GET', '/v1/executions?search=needle');
  expect(first.body).toMatchObject({ executions: [], next_cursor: expect.any(String) });
  expect(await allPages(served, 'search=needle')).toEqual(['many/needle']);
});

test('one execution is told with its arguments, attempts, reason to wait and result', async () => {
  const held = new HeldCalls();
  const { json } = await serve({ tools: [held.tool()] });
  await json('POST', '/v1/batches', {
    batch: 'work',
    tasks: [
      { id: 'a', function: 'held', params: { key: 'a' }, timeout: 900 },
      { id: 'b', function: 'echo', params: { API_KEY: 'very-secret-value-123', n: 1 }, depends_on: ['a'] },
    ],
  });
  const idle = (await json('GET', '/v1/executions/work/b/explain')).body;
  expect(idle.explanation).toContain('not running');
  await json('POST', '/v1/batches/work/start');
  await held.started('a');
  expect((await json('GET', '/v1/executions/work/b/explain')).body.explanation).toContain('a');
  const detail = (await json('GET', '/v1/executions/work/a')).body;
  expect(detail).toMatchObject({
    id: 'a',
    status: 'running',
    params: { key: 'a' },
    timeout_ms: 900_000,
    explanation: null,
    result_bytes: null,
    attempt_list: [{ attempt: 1, outcome: 'running' }],
  });
  const secret = (await json('GET', '/v1/executions/work/b')).body;
  expect(JSON.stringify(secret)).not.toContain('very-secret-value');
  expect((await json('GET', '/v1/executions/work/a/result')).status).toBe(404);
  expect((await json('GET', '/v1/executions/work/none')).body).toMatchObject({
    code: 'UNKNOWN_TASK',
    status: 404,
  });
  held.finish('a');
});

test('how an execution has ended is explained, with when that was and what to do', async () => {
  const { json, executor } = await serve();
  await json('POST', '/v1/batches', {
    batch: 'ended',
    tasks: [
      { id: 'well', function: 'echo', params: {} },
      { id: 'bad', function: 'broken', params: { message: 'no luck' } },
      { id: 'next', function: 'echo', depends_on: ['bad'] },
      { id: 'undo', function: 'echo', depends_on: ['well'], on_dependency_failure: 'on-failure' },
    ],
    start: {},
  });
  await executor.handle({ action: 'wait', batch: 'ended' });
  const explain = async (id: string): Promise<string> =>
    (await json('GET', `/v1/executions/ended/${id}/explain`)).body.explanation;
  // test/batch/golden/answers.txt has the whole texts.
  expect(await explain('well')).toMatch(/^It completed .+ ago\.$/);
  expect(await explain('bad')).toMatch(/^It failed .+ ago:\nno luck\n"retry" /);
  expect(await explain('next')).toMatch(/^It was skipped .+ bad \(broken\).+\nno luck\n"retry" of bad /);
  expect(await explain('undo')).toMatch(/^It was skipped .+ ago: /);
  const { explanation } = (await json('GET', '/v1/executions/ended/bad')).body;
  expect(explanation).toContain('no luck');
});

test('a result is read whole, by ranges of bytes and by parts of characters', async () => {
  const text = 'héllo wörld ☃ '.repeat(60_000);
  const large = defineTool({ name: 'large', run: () => text }) as Tool;
  const { json, fetch, executor } = await serve({ tools: [large] });
  await json('POST', '/v1/batches', { tasks: [{ id: 'a', function: 'large' }], start: {} });
  await executor.handle({ action: 'wait' });
  const path = '/v1/executions/default/a/result';
  const whole = await fetch(path);
  const bytes = Buffer.from(await whole.arrayBuffer());
  expect(JSON.parse(bytes.toString())).toBe(text);
  expect(whole.headers.get('accept-ranges')).toBe('bytes');

  const part = async (range: string) => {
    const response = await fetch(path, { headers: { range } });
    const body = Buffer.from(await response.arrayBuffer());
    return { status: response.status, range: response.headers.get('content-range'), body };
  };
  const total = bytes.length;
  expect(await part('bytes=1-3')).toEqual({
    status: 206,
    range: `bytes 1-3/${total}`,
    body: bytes.subarray(1, 4),
  });
  expect((await part('bytes=-7')).body).toEqual(bytes.subarray(-7));
  expect((await part(`bytes=65535-131073`)).body).toEqual(bytes.subarray(65_535, 131_074));
  expect((await part(`bytes=${total - 2}-`)).body).toEqual(bytes.subarray(total - 2));
  expect(await part(`bytes=${total}-`)).toMatchObject({ status: 416, range: `bytes */${total}` });
  expect((await part('bytes=5-2')).status).toBe(200);
  expect((await part('lines=1-2')).status).toBe(200);

  let text2 = '';
  for (let offset: number | null = 0; offset !== null; ) {
    const { body } = await json('GET', `${path}?offset=${offset}&length=100001`);
    text2 += body.part;
    offset = body.next_offset;
  }
  expect(text2).toBe(bytes.toString());
});

test('calls are run at once, and their results come in order with references resolved', async () => {
  const { json } = await serve();
  const { status, body } = await json('POST', '/v1/execute', {
    calls: [
      { id: 'a', name: 'echo', arguments: { value: 1 } },
      { id: 'b', name: 'echo', arguments: { value: { $from: 'a', path: '/value' } } },
      { id: 'c', name: 'broken' },
      { id: 'd', name: 'echo', depends_on: ['c'] },
    ],
  });
  expect(status).toBe(200);
  expect(body.results).toMatchObject([
    { id: 'a', status: 'completed', value: { value: 1 } },
    { id: 'b', status: 'completed', value: { value: 1 } },
    { id: 'c', status: 'failed', reason: 'error', error: { message: 'it broke' } },
    { id: 'd', status: 'skipped', cause: 'c' },
  ]);
  const cycle = await json('POST', '/v1/execute', {
    calls: [
      { id: 'a', name: 'echo', depends_on: ['b'] },
      { id: 'b', name: 'echo', depends_on: ['a'] },
    ],
  });
  expect(cycle).toMatchObject({ status: 422, body: { code: 'DEPENDENCY_CYCLE' } });
});

test('calls can be followed as a stream, and a client that goes away cancels them', async () => {
  const held = new HeldCalls();
  const { fetch, coordinator } = await serve({ tools: [held.tool()] });
  const body = JSON.stringify({
    calls: ['x', 'y'].map((key) => ({ id: key, name: 'held', arguments: { key } })),
  });
  const ask = (accept: string, signal?: AbortSignal) =>
    fetch('/v1/execute', {
      method: 'POST',
      body,
      headers: { accept, 'content-type': 'application/json' },
      ...(signal !== undefined && { signal }),
    });
  const lines = ask('application/x-ndjson');
  await held.started('y');
  held.finish('y');
  const response = await lines;
  expect(response.headers.get('content-type')).toBe('application/x-ndjson');
  const reader = response.body!.getReader();
  const first = new TextDecoder().decode((await reader.read()).value);
  expect(JSON.parse(first)).toMatchObject({ id: 'y', status: 'completed' });
  await reader.cancel();
  const { engine } = coordinator;
  await expect.poll(() => engine.statistics().counts.cancelled).toBe(1);

  held.finish('x');
  const events = await (await ask('text/event-stream')).text();
  const kinds = events.split('\n\n').map((block) => block.split('\n')[0]);
  expect(kinds.filter((kind) => kind !== 'event: call')).toEqual([
    'event: result',
    'event: result',
    'event: end',
    '',
  ]);
});

test('a client that goes away before the whole answer cancels the calls, too', async () => {
  const held = new HeldCalls();
  const { fetch, coordinator } = await serve({ tools: [held.tool()] });
  const controller = new AbortController();
  const asked = fetch('/v1/execute', {
    method: 'POST',
    body: JSON.stringify({ calls: [{ name: 'held', arguments: { key: 'z' } }] }),
    headers: { 'content-type': 'application/json' },
    signal: controller.signal,
  }).catch(() => 'gone');
  await held.started('z');
  controller.abort();
  expect(await asked).toBe('gone');
  const { engine } = coordinator;
  await expect.poll(() => engine.statistics().counts.cancelled).toBe(1);
});

test('tools are listed with their schemas, and a wrong name gets the nearest', async () => {
  const { json } = await serve();
  const { body } = await json('GET', '/v1/tools?search=read');
  expect(body.tools.map((tool: { name: string }) => tool.name)).toContain('read_file');
  const one = await json('GET', '/v1/tools/read_file');
  expect(one.body.input_schema).toMatchObject({ type: 'object' });
  const wrong = await json('GET', '/v1/tools/read_fil');
  expect(wrong).toMatchObject({
    status: 404,
    body: { code: 'UNKNOWN_TOOL', facts: { nearest: 'read_file' } },
  });
});

test('the items of groups can be left out, and those of one group listed', async () => {
  const served = await serve();
  const each = { function: 'echo', for_each: [1, 2, 3] };
  const tasks = [
    { id: 'a', ...each },
    { id: 'b', ...each },
    { id: 'c', function: 'echo' },
  ];
  await served.ask('add_batch', { batch: 'x', tasks });
  await served.ask('start', { batch: 'x', wait: true });
  expect(await allPages(served, 'batch=x&items=none&limit=2')).toEqual(['x/a', 'x/b', 'x/c']);
  expect(await allPages(served, 'batch=x&group=b&limit=2')).toEqual(['x/b[0]', 'x/b[1]', 'x/b[2]']);
  expect(await allPages(served, 'batch=x&group=b&status=failed')).toEqual([]);
  expect(await allPages(served, 'batch=x&search=b[1')).toEqual(['x/b[1]']);
  const refused = async (query: string) => (await served.json('GET', `/v1/executions?${query}`)).body.code;
  expect(await refused('group=b')).toBe('INVALID_REQUEST');
  expect(await refused('batch=x&group=b&sort=-seq')).toBe('INVALID_REQUEST');
  expect(await refused('batch=x&group=unknown')).toBe('UNKNOWN_TASK');
});

test('a group says what it is and how its items stand, and an item names its group', async () => {
  const served = await serve();
  await served.ask('add_batch', {
    batch: 'x',
    tasks: [
      {
        id: 'each',
        function: 'echo',
        for_each: '[1, 2]',
        when: '1 < 2',
        max_concurrent: 1,
        on_item_error: 'null',
      },
      { id: 'rounds', function: 'echo', repeat: { until: 'index === 1', max: 5, delay: 0.001 } },
      { id: 'program', function: 'run_program', params: { code: 'return tools.echo({})' } },
    ],
  });
  await served.ask('start', { batch: 'x', wait: true });
  const one = async (id: string) =>
    (await served.json('GET', `/v1/executions/x/${encodeURIComponent(id)}`)).body;
  expect(await one('each')).toMatchObject({
    group_kind: 'for_each',
    group: null,
    index: null,
    for_each: '[1, 2]',
    when: '1 < 2',
    repeat: null,
    max_concurrent: 1,
    on_item_error: 'null',
    items: { completed: 2, failed: 0 },
  });
  expect(await one('rounds')).toMatchObject({
    group_kind: 'repeat',
    for_each: null,
    repeat: { until: 'index === 1', max: 5, delay_ms: 1 },
    items: { completed: 2 },
  });
  expect(await one('program')).toMatchObject({ group_kind: 'program', items: { completed: 1 } });
  expect(await one('program[0]')).toMatchObject({ group_kind: null, group: 'program', index: 0 });
  expect(await one('each[1]')).toMatchObject({
    group_kind: null,
    group: 'each',
    index: 1,
    items: null,
    on_item_error: null,
  });
});

test('a result from the cache is marked in the batch and its executions, and a start may do without', async () => {
  const pure = defineTool({ name: 'pure', readOnly: true, cache: {}, run: () => 1 }) as Tool;
  const { json } = await serve({ tools: [pure] });
  const runs = [
    ['first', {}, 0],
    ['second', {}, 1],
    ['third', { force: true }, 0],
    ['fourth', { cache: false }, 0],
  ] as const;
  for (const [batch, options, cached] of runs) {
    await json('POST', '/v1/batches', { batch, tasks: [{ id: 'a', function: 'pure' }] });
    await json('POST', `/v1/batches/${batch}/start`, { wait: true, ...options });
    expect([batch, (await json('GET', `/v1/batches/${batch}`)).body.cached]).toEqual([batch, cached]);
    const { body } = await json('GET', `/v1/executions?batch=${batch}`);
    expect(body.executions).toMatchObject([{ id: 'a', status: 'completed', cached: cached === 1 }]);
  }
});
