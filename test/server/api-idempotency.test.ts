import { expect, test } from 'vitest';
import { HeldCalls } from '../batch/support/rig.ts';
import { serve, TOKENS } from './support/serve.ts';

const key = (value: string) => ({ headers: { 'idempotency-key': value } });

test('the same request with the same key creates once and is answered twice', async () => {
  const { json, store } = await serve();
  const body = { batch: 'work', tasks: [{ function: 'echo' }] };
  const first = await json('POST', '/v1/batches', body, key('k1'));
  const second = await json('POST', '/v1/batches', body, key('k1'));
  expect(first.headers.get('idempotency-replayed')).toBeNull();
  expect(second.headers.get('idempotency-replayed')).toBe('true');
  expect(second).toMatchObject({ status: 201, body: first.body });
  expect(second.headers.get('location')).toBe('/v1/batches/work');
  expect((await store.batch('work'))!.counts.open).toBe(1);
  await json('POST', '/v1/batches', body, key('k2'));
  expect((await store.batch('work'))!.counts.open).toBe(2);
});

test('requests that come at the same time with one key wait for the first', async () => {
  const { json, store } = await serve();
  const body = { tasks: [{ function: 'echo' }] };
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => json('POST', '/v1/batches/work/tasks', body, key('same'))),
  );
  expect(new Set(answers.map((answer) => JSON.stringify(answer.body))).size).toBe(1);
  expect(answers.filter((answer) => answer.headers.get('idempotency-replayed') === null)).toHaveLength(1);
  expect((await store.batch('work'))!.counts.open).toBe(1);
});

test('a direct execution with a key runs once', async () => {
  const held = new HeldCalls();
  const { json } = await serve({ tools: [held.tool()] });
  const body = { calls: [{ name: 'held', arguments: { key: 'x' } }] };
  const both = Promise.all([
    json('POST', '/v1/execute', body, key('e')),
    json('POST', '/v1/execute', body, key('e')),
  ]);
  await held.started('x');
  held.finish('x', 42);
  const [a, b] = await both;
  expect(a.body).toEqual(b.body);
  expect(held.begun).toEqual(['x']);
});

test('a key with another body is refused, and is another key for another client or path', async () => {
  const { json } = await serve();
  const one = { tasks: [{ function: 'echo' }] };
  const other = { tasks: [{ function: 'echo', params: { value: 2 } }] };
  expect((await json('POST', '/v1/batches', one, key('k'))).status).toBe(201);
  const refused = await json('POST', '/v1/batches', other, key('k'));
  expect(refused).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_CONFLICT' } });
  expect((await json('POST', '/v1/batches/b/tasks', other, key('k'))).status).toBe(201);
  expect((await json('POST', '/v1/batches', other, { ...key('k'), token: TOKENS.run })).status).toBe(201);
});

test('what was refused can be tried again with the same key', async () => {
  const { json } = await serve();
  const wrong = { tasks: [{ function: 'nothing' }] };
  expect((await json('POST', '/v1/batches', wrong, key('k'))).status).toBe(422);
  expect((await json('POST', '/v1/batches', { tasks: [{ function: 'echo' }] }, key('k'))).status).toBe(201);
});

test('a refusal of the tool is no answer to keep, though its status is that of success', async () => {
  const { json, store } = await serve();
  const start = { action: 'start', batch: 'work' };
  expect((await json('POST', '/v1/actions', start, key('k'))).body).toMatchObject({ ok: false });
  await json('POST', '/v1/batches', { batch: 'work', tasks: [{ function: 'echo' }] });
  const again = await json('POST', '/v1/actions', start, key('k'));
  expect(again.headers.get('idempotency-replayed')).toBeNull();
  expect(again.body).toMatchObject({ ok: true });
  await expect.poll(async () => (await store.batch('work'))!.counts.completed).toBe(1);
});

test('a client that lost the connection gets its result with the same key, not a cancellation', async () => {
  const held = new HeldCalls();
  const { json } = await serve({ tools: [held.tool()] });
  const body = { calls: [{ name: 'held', arguments: { key: 'x' } }] };
  const lost = new AbortController();
  const first = json('POST', '/v1/execute', body, { ...key('e'), signal: lost.signal });
  await held.started('x');
  lost.abort();
  await expect(first).rejects.toThrow();
  const second = json('POST', '/v1/execute', body, key('e'));
  await expect.poll(() => held.begun).toEqual(['x', 'x']);
  held.finish('x', 42);
  expect((await second).body.results).toMatchObject([{ status: 'completed', value: 42 }]);
});

test('a key that is none is refused', async () => {
  const { json } = await serve();
  const body = { tasks: [{ function: 'echo' }] };
  for (const bad of ['with space', 'x'.repeat(256)])
    expect((await json('POST', '/v1/batches', body, key(bad))).body.code).toBe('INVALID_REQUEST');
});
