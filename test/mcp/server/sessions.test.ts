import { expect, onTestFinished, test } from 'vitest';
import { McpHttp } from '../../../src/mcp/server/mcp-http.ts';
import { HeldCalls, openRig } from '../../batch/support/rig.ts';
import { until } from '../../support/until.ts';
import { backendOf, OFFER } from './support/mcp.ts';

async function open(limits: { maxSessions?: number; idleMs?: number }) {
  const held = new HeldCalls();
  const rig = await openRig([held.tool()]);
  const mcp = new McpHttp({
    backend: backendOf(rig),
    offer: OFFER,
    version: '0.0.0',
    onError: (error) => {
      throw error;
    },
    ...limits,
  });
  onTestFinished(() => mcp.close());
  const send = (message: object, session?: string) => {
    const body = { jsonrpc: '2.0', ...message };
    const request = new Request('http://localhost/mcp', {
      method: 'POST',
      body: JSON.stringify(body),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(session !== undefined && { 'mcp-session-id': session }),
      },
    });
    return mcp.handle(request, body, { name: 'token a', scopes: ['read', 'run'] });
  };
  const begin = async () => {
    const response = await send({
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    });
    await response.text();
    return { status: response.status, id: response.headers.get('mcp-session-id') ?? '' };
  };
  const isAlive = async (id: string) => {
    const response = await send({ id: 2, method: 'ping' }, id);
    await response.text();
    return response.status === 200;
  };
  return { mcp, send, begin, isAlive, held };
}

test('however many clients begin at once, there are never more sessions than there may be', async () => {
  const { begin, mcp } = await open({ maxSessions: 3 });
  const begun = await Promise.all(Array.from({ length: 10 }, begin));
  expect(begun.map(({ status }) => status).sort()).toEqual([200, 200, 200, ...Array(7).fill(503)]);
  expect(mcp.sessionCount).toBe(3);
  // What was refused keeps no place.
  expect((await begin()).status).toBe(200);
});

test('the session that did nothing for the longest time gives way to a new one', async () => {
  const { begin, isAlive, mcp } = await open({ maxSessions: 2 });
  const first = await begin();
  const second = await begin();
  const third = await begin();
  expect(mcp.sessionCount).toBe(2);
  expect([await isAlive(first.id), await isAlive(second.id), await isAlive(third.id)]).toEqual([
    false,
    true,
    true,
  ]);
});

test('a session with a call in progress keeps its place, and a new one is refused', async () => {
  const { begin, send, isAlive, held } = await open({ maxSessions: 1 });
  const first = await begin();
  const tasks = [{ function: 'held', params: { key: 'k' } }];
  const call = send(
    { id: 3, method: 'tools/call', params: { name: 'run_batch', arguments: { tasks } } },
    first.id,
  );
  await held.started('k');
  expect((await begin()).status).toBe(503);
  held.finish('k');
  expect(await (await call).text()).toContain('"state":"ended"');
  expect(await isAlive(first.id)).toBe(true);
  expect((await begin()).status).toBe(200);
});

test('a session that does nothing ends after its time', async () => {
  const { begin, mcp } = await open({ idleMs: 20 });
  await begin();
  await until(() => mcp.sessionCount === 0, 'the end of the session');
});
