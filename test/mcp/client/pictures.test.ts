import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { getEncoding } from 'js-tiktoken';
import { expect, onTestFinished, test } from 'vitest';
import { BatchExecutor } from '../../../src/batch/executor/batch-executor.ts';
import { discoveredTools } from '../../../src/mcp/open-coordinator.ts';
import { CallCount } from '../../../src/mcp/server/call-count.ts';
import { createServer } from '../../../src/mcp/server/create-server.ts';
import { openStore } from '../../../src/store/sqlite-store.ts';
import { StoreWatch } from '../../../src/store/store-watch.ts';
import { dataOf, textOf } from '../server/support/mcp.ts';
import { mediaServer, openWith, testFolder } from './support/open.ts';

const PICTURE = { function: 'media.picture', params: { size: 300_000 } };

/** An executor with the server of pictures, and a client of Volley's own MCP server. */
async function open() {
  const folder = testFolder();
  const coordinator = await openWith(folder, { media: mediaServer(folder) });
  const store = await openStore(join(folder, 'volley.db'));
  const executor = new BatchExecutor({ coordinator, store });
  onTestFinished(async () => {
    await executor.close({ graceMs: 0 });
    await store.close();
  });
  const server = createServer({
    open: async () => ({
      executor,
      store,
      watch: new StoreWatch(store),
      keepRunsMs: 3_600_000,
      functions: (names) => discoveredTools(coordinator, names),
      features: () => Promise.reject(new Error('no features here')),
    }),
    offer: { profile: async () => 'default', hasFeatures: async () => false },
    version: '0.0.0',
    era: 'legacy',
    calls: new CallCount(),
    updates: 'none',
    onError: (error) => {
      throw error;
    },
  });
  const [here, there] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: 'test', version: '1' });
  await Promise.all([server.connect(there), client.connect(here)]);
  onTestFinished(() => client.close());
  const call = (name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args });
  const run = async (tasks: object[]) => {
    expect(await executor.handle({ action: 'add_batch', tasks })).toMatchObject({ ok: true });
    expect(await executor.handle({ action: 'start', wait: true })).toMatchObject({ ok: true });
  };
  const result = async (id: string) => JSON.parse((await store.result('default', id))!);
  return { coordinator, executor, store, call, run, result };
}

function sha256(base64: string): string {
  return createHash('sha256').update(Buffer.from(base64, 'base64')).digest('hex');
}

test('a picture is stored once in a batch, and its results show what it is', async () => {
  const { run, result, store, executor } = await open();
  await run([
    { id: 'a', ...PICTURE },
    { id: 'b', ...PICTURE },
  ]);
  const id = expect.stringMatching(/^[0-9a-f]{32}$/);
  expect(await result('a')).toEqual({
    source: 'mcp:media.picture',
    text: 'a picture',
    parts: [{ type: 'image', mimeType: 'image/png', data: { $blob: '[image/png, 300 KB]', id } }],
  });
  expect(await result('b')).toEqual(await result('a'));
  const blob = (await result('a')).parts[0].data.id;
  expect(await store.blob('default', blob)).toMatchObject({
    mimeType: 'image/png',
    bytes: { length: 300_000 },
  });
  const shown = await executor.handle({ action: 'results', format: 'detailed' });
  expect(shown.text.match(/\[image\/png, 300 KB\]/g)).toHaveLength(2);
  await executor.handle({ action: 'clear', filter_status: ['completed'] });
  expect(await store.blob('default', blob)).toBeUndefined();
});

test('a reference to the data of a picture gives it to another tool', async () => {
  const { run, result, coordinator } = await open();
  await run([
    { id: 'a', ...PICTURE },
    { id: 'typed', function: 'media.digest', params: { data: { $from: 'a', path: '/parts/0/data' } } },
    { id: 'text', function: 'media.digest', params: { data: '${a.parts.0.data}' } },
  ]);
  const direct = await coordinator.executeSingle({ name: 'media.picture', arguments: PICTURE.params });
  const { value } = direct as { value: { parts: { data: string }[] } };
  const digest = sha256(value.parts[0]!.data);
  expect([(await result('typed')).text, (await result('text')).text]).toEqual([digest, digest]);
});

test('an agent gets few pictures as pictures, and pays for no base64', async () => {
  const { call } = await open();
  const answer = await call('run_batch', {
    batch: 'one',
    tasks: [{ id: 'shot', ...PICTURE }],
  });
  expect(textOf(answer)).toContain('[image/png, 300 KB]');
  expect(answer.content[1]).toMatchObject({ type: 'image', mimeType: 'image/png' });
  const { data } = answer.content[1] as { data: string };
  expect(Buffer.byteLength(data, 'base64')).toBe(300_000);
  expect(dataOf(answer).results[0].result.parts).toEqual([
    { type: 'image', mimeType: 'image/png', data: '[image/png, 300 KB]' },
  ]);
  const read = textOf(answer) + JSON.stringify(dataOf(answer));
  expect(getEncoding('o200k_base').encode(read).length).toBeLessThan(400);
  const again = await call('batch_results', { batch: 'one', id: 'shot' });
  expect(again.content[1]).toEqual(answer.content[1]);
});

test('many pictures are named, and each comes with its own result', async () => {
  const { call } = await open();
  const tasks = [1, 2, 3, 4, 5].map((seed) => ({
    id: `shot-${seed}`,
    function: 'media.picture',
    params: { size: 300_000, seed },
  }));
  const answer = await call('run_batch', { batch: 'many', tasks });
  // Three fit into a mebibyte.
  expect(answer.content.map(({ type }) => type)).toEqual(['text', 'image', 'image', 'image']);
  expect(textOf(answer)).toMatch(/Attached, in this order: shot-1 .*shot-3 .*\. Not attached: 2\./);
  const last = await call('batch_results', { batch: 'many', id: 'shot-5' });
  expect(last.content.map(({ type }) => type)).toEqual(['text', 'image']);
  const page = await call('batch_results', { batch: 'many', limit: 1, cursor: 4 });
  expect(page.content.map(({ type }) => type)).toEqual(['text', 'image']);
});

test('sound and files come as such, a text file as text, and a type that is none is not passed on', async () => {
  const { call, run, result } = await open();
  await run([{ id: 'all', function: 'media.mixture', params: {} }]);
  const { parts } = await result('all');
  expect(parts[2]).toEqual({
    type: 'resource',
    resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'hello' },
  });
  const { content } = await call('batch_results', { batch: 'default', id: 'all' });
  expect(content.slice(1)).toMatchObject([
    { type: 'audio', mimeType: 'audio/wav' },
    { type: 'resource', resource: { uri: 'file:///a.zip', mimeType: 'application/zip' } },
    { type: 'image', mimeType: 'application/octet-stream' },
  ]);
});

test('too many bytes of pictures fail the call alone', async () => {
  const { coordinator } = await open();
  const results = await coordinator.executeParallel([
    { name: 'media.picture', arguments: { size: 2 ** 23 + 1 } },
    { name: 'media.picture', arguments: { size: 2 ** 23 } },
  ]);
  expect(results).toMatchObject([
    { status: 'failed', error: { code: 'RESULT_TOO_LARGE' } },
    { status: 'completed' },
  ]);
});
