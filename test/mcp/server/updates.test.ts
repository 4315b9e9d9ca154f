import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { serveMcpStdio } from '../../../src/mcp/server/serve-stdio.ts';
import { HeldCalls, openRig } from '../../batch/support/rig.ts';
import { until } from '../../support/until.ts';
import { backendOf, OFFER } from './support/mcp.ts';

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

test('a 2026-era client that only listens over its pipes hears of what another process does', async () => {
  const held = new HeldCalls();
  const rig = await openRig();
  const other = await openRig([held.tool()], undefined, rig.file);
  await other.ask('add_batch', { batch: 'b', tasks: [{ function: 'held', params: { key: 'k' } }] });
  const backend = backendOf(rig);
  const looks: number[] = [];
  const { version } = rig.store;
  rig.store.version = () => {
    looks.push(Date.now());
    return version.call(rig.store);
  };
  const input = new PassThrough();
  // biome-ignore lint/suspicious/noExplicitAny: messages of all shapes
  const messages: any[] = [];
  const served = serveMcpStdio({
    open: async () => backend,
    offer: OFFER,
    version: '0.0.0',
    input,
    output: new PassThrough().on('data', (chunk) => {
      for (const line of String(chunk).trim().split('\n')) messages.push(JSON.parse(line));
    }),
    signal: new AbortController().signal,
    log: () => undefined,
  });
  onTestFinished(async () => {
    input.end();
    await served;
  });
  const send = (id: number, method: string, params: object) =>
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: META } })}\n`);
  const told = () =>
    messages.flatMap(({ method, params }) =>
      String(method).startsWith('notifications/resources') ? [params.uri ?? 'the list'] : [],
    );

  send(1, 'tools/list', {});
  await until(() => messages.some(({ id }) => id === 1), 'the tools');
  expect(looks).toEqual([]);

  const uri = 'volley://batches/b';
  send(2, 'subscriptions/listen', {
    notifications: { resourceSubscriptions: [uri], resourcesListChanged: true },
  });
  await until(() => looks.length > 0, 'a look at the store');
  await other.ask('start', { batch: 'b' });
  await until(() => told().includes(uri), 'the start');
  await other.ask('add', { batch: 'new', function: 'echo' });
  await until(() => told().includes('the list'), 'a new batch');
  expect(new Set(told())).toEqual(new Set([uri, 'the list']));
  held.finish('k');
  await other.ask('wait', { batch: 'b' });
});
