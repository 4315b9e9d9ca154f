import { describe, expect, test } from 'vitest';
import { HeldCalls, openRig } from '../../batch/support/rig.ts';
import { serve, TOKENS } from '../../server/support/serve.ts';
import { until } from '../../support/until.ts';
import { connectHttp } from './support/http-client.ts';
import { dataOf, REVISIONS, textOf } from './support/mcp.ts';

describe.each(REVISIONS)('/mcp with a client of %s', (revision) => {
  test('lists, runs a batch, tells progress, and a cancelled call cancels what it runs', async () => {
    const held = new HeldCalls();
    const { address, standing } = await serve({ tools: [held.tool()] });
    const { client } = await connectHttp(address, revision);
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    expect((await client.listTools()).tools).toHaveLength(6);

    const seen: number[] = [];
    const tasks = ['one', 'two'].map((key) => ({ id: key, function: 'held', params: { key } }));
    const running = client.callTool(
      { name: 'run_batch', arguments: { tasks } },
      { onprogress: ({ progress }) => void seen.push(progress) },
    );
    await held.started('two');
    held.finish('one', { said: 'first' });
    await until(() => seen.at(-1) === 1, 'progress');
    held.finish('two');
    expect(dataOf(await running)).toMatchObject({
      counts: { completed: 2 },
      results: [{ result: { said: 'first' } }, { result: 'two' }],
    });
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));

    const cancelling = new AbortController();
    const gone = client.callTool(
      {
        name: 'run_batch',
        arguments: { batch: 'gone', tasks: [{ function: 'held', params: { key: 'x' } }] },
      },
      { signal: cancelling.signal },
    );
    const refused = expect(gone).rejects.toThrow();
    await held.started('x');
    cancelling.abort('enough');
    await refused;
    await until(
      async () => (await standing('gone'))[0]?.startsWith('t1 cancelled') === true,
      'the end of the batch',
    );
  });

  test('batches and results can be read as resources, and what another process does to them is told', async () => {
    const held = new HeldCalls();
    const { address, ask, file } = await serve({ tools: [held.tool()] });
    await ask('add_batch', { batch: 'a b/ü', tasks: [{ function: 'held', params: { key: 'k' } }] });
    const { client } = await connectHttp(address, revision);
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual([
      'volley://batches/a%20b%2F%C3%BC',
      'volley://results/a%20b%2F%C3%BC',
    ]);
    const uri = resources[0]!.uri;
    const read = async (which: string) => {
      const { contents } = await client.readResource({ uri: which });
      return JSON.parse((contents[0] as { text: string }).text);
    };
    expect(await read(uri)).toMatchObject({ batch: 'a b/ü', state: 'idle', counts: { open: 1 } });

    const updated: string[] = [];
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
      updated.push(params.uri);
    });
    if (revision === '2026-07-28') await client.listen({ resourceSubscriptions: [uri] });
    else await client.subscribeResource({ uri });
    const other = await openRig([held.tool()], undefined, file);
    await other.ask('start', { batch: 'a b/ü' });
    await until(() => updated.includes(uri), 'an update');
    held.finish('k', 'done');
    await other.ask('wait', { batch: 'a b/ü' });
    expect(await read(resources[1]!.uri)).toMatchObject({ results: [{ id: 't1', result: 'done' }] });
    expect(new Set(updated)).toEqual(new Set([uri]));
    await expect(client.readResource({ uri: 'volley://batches/none' })).rejects.toThrow();
  });

  test('a token that may only look cannot run anything, and none is let in without one', async () => {
    const { address, fetch, lines } = await serve();
    const { client } = await connectHttp(address, revision, TOKENS.read);
    const refused = await client.callTool({
      name: 'run_batch',
      arguments: { tasks: [{ function: 'echo' }] },
    });
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toContain('"run"');
    const seen = await client.callTool({ name: 'batch_status', arguments: {} });
    expect(seen.isError).toBeFalsy();
    const clear = { action: 'clear', batch: 'x' };
    const runner = await connectHttp(address, revision, TOKENS.run);
    const cleared = await runner.client.callTool({ name: 'batch_executor_tool', arguments: clear });
    expect(textOf(cleared)).toContain('"admin"');
    const wrapped = { tool_args: JSON.stringify(clear) };
    const refusedToo = await runner.client.callTool({ name: 'batch_executor_tool', arguments: wrapped });
    expect(textOf(refusedToo)).toContain('"admin"');
    expect((await fetch('/mcp', { token: null })).status).toBe(401);
    const subjects = lines.map(({ who, subject }) => `${String(who)}: ${String(subject)}`);
    expect(subjects).toContain('reader: tools/call run_batch');
  });

  test('closing the server while a call waits ends both', async () => {
    const held = new HeldCalls();
    const { address, server } = await serve({ tools: [held.tool()] });
    const { client } = await connectHttp(address, revision);
    const call = client
      .callTool({ name: 'run_batch', arguments: { tasks: [{ function: 'held', params: { key: 'k' } }] } })
      .catch((error: unknown) => error);
    await held.started('k');
    await server.close({ graceMs: 0 });
    // Over a connection that was cut, or as an answer.
    expect(await call).toBeDefined();
  });
});

test('a 2026-era client that disconnects in the middle of a call stops its batch', async () => {
  const held = new HeldCalls();
  const { address, standing, executor } = await serve({ tools: [held.tool()] });
  const { client, transport } = await connectHttp(address, '2026-07-28');
  const tasks = [{ function: 'held', params: { key: 'k' } }];
  const call = client
    .callTool({ name: 'run_batch', arguments: { batch: 'b', tasks } })
    .catch(() => undefined);
  await held.started('k');
  await transport.close();
  await until(
    async () => (await standing('b'))[0]?.startsWith('t1 cancelled') === true,
    'the end of the batch',
  );
  await until(async () => (await executor.view('b'))?.state === 'idle', 'the end of the run');
  await call;
});

test('what cannot be read over HTTP gets an error of JSON-RPC, and the session goes on', async () => {
  const { address, fetch, lines } = await serve();
  const { client, transport } = await connectHttp(address, '2025-11-25');
  const post = async (body: string) => {
    const response = await fetch('/mcp', {
      method: 'POST',
      token: TOKENS.run,
      body,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': transport.sessionId!,
      },
    });
    const [json] = /\{.*\}/.exec(await response.text())!;
    return [response.status, JSON.parse(json).error.code];
  };
  expect(await post('{"jsonrpc": "2.0", oops')).toEqual([400, -32700]);
  for (const body of ['[]', '"text"', 'null', '{"id": 7, "foo": true}'])
    expect(await post(body)).toEqual([400, -32600]);
  expect(await post('{"jsonrpc": "2.0", "id": 8, "method": "no/such"}')).toEqual([200, -32601]);
  expect((await client.listTools()).tools.length).toBeGreaterThan(0);
  expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
});

test('answers that pile up end the connection, and the session goes on', async () => {
  const { address, ask, fetch } = await serve();
  await ask('add', { batch: 'long', function: 'echo', params: { text: 'x'.repeat(400_000) } });
  await ask('start', { batch: 'long', wait: true });
  const { client, transport } = await connectHttp(address, '2025-11-25');
  const params = { name: 'batch_results', arguments: { batch: 'long', max_chars: 1_000_000 } };
  const read = { jsonrpc: '2.0', method: 'tools/call', params };
  const answer = fetch('/mcp', {
    method: 'POST',
    token: TOKENS.run,
    body: JSON.stringify(Array.from({ length: 45 }, (_, id) => ({ ...read, id }))),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': transport.sessionId!,
    },
  });
  await expect(answer.then((response) => response.text())).rejects.toThrow();
  expect((await client.listTools()).tools).toHaveLength(6);
});

describe('a session of a 2025-era client', () => {
  test('belongs to its token, goes on after a lost connection, and ends when it is deleted', async () => {
    const held = new HeldCalls();
    const { address, fetch, standing } = await serve({ tools: [held.tool()] });
    const { client, transport } = await connectHttp(address, '2025-11-25');
    const { sessionId } = transport;
    const post = (message: object, headers: Record<string, string>, token: string = TOKENS.run) =>
      fetch('/mcp', {
        method: 'POST',
        token,
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
      });
    const ping = { id: 1, method: 'ping' };
    expect((await post(ping, { 'mcp-session-id': sessionId! })).status).toBe(200);
    expect((await post(ping, { 'mcp-session-id': sessionId! }, TOKENS.admin)).status).toBe(404);
    expect((await post(ping, { 'mcp-session-id': 'none' })).status).toBe(404);
    expect((await post(ping, {})).status).toBe(400);

    const losing = new AbortController();
    const lost = fetch('/mcp', {
      method: 'POST',
      token: TOKENS.run,
      signal: losing.signal,
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 2,
        method: 'tools/call',
        params: {
          name: 'run_batch',
          arguments: { batch: 'b', tasks: [{ function: 'held', params: { key: 'k' } }] },
        },
      }),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': sessionId!,
      },
    });
    await held.started('k');
    await lost;
    losing.abort();
    expect(
      (await client.callTool({ name: 'batch_status', arguments: { batch: 'b' } })).structuredContent,
    ).toMatchObject({
      state: 'running',
    });
    await transport.terminateSession();
    await until(
      async () => (await standing('b'))[0]?.startsWith('t1 cancelled') === true,
      'the end of its batch',
    );
    expect((await post(ping, { 'mcp-session-id': sessionId! })).status).toBe(404);
  });
});
