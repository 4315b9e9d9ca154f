import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { getEncoding } from 'js-tiktoken';
import { expect, onTestFinished, test } from 'vitest';
import { DEFINITIONS } from '../../../src/batch/actions/definitions.ts';
import { BATCH_TOOL_DESCRIPTION } from '../../../src/batch/executor/description.ts';
import { CallCount } from '../../../src/mcp/server/call-count.ts';
import { createServer } from '../../../src/mcp/server/create-server.ts';
import { forgetOldRuns } from '../../../src/mcp/server/run-tasks.ts';
import { describeTool, MCP_TOOLS, type Offer, offeredTools } from '../../../src/mcp/server/serve-tools.ts';
import { defineTool } from '../../../src/tools/define-tool.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { HeldCalls, openRig } from '../../batch/support/rig.ts';
import { until } from '../../support/until.ts';
import { backendOf, dataOf, OFFER, textOf } from './support/mcp.ts';

const large = defineTool<{ length: number }>({
  name: 'large',
  description: 'Returns a long text.',
  readOnly: true,
  run: ({ length }) => 'x'.repeat(length),
}) as Tool;

/** A client and a server in one process. */
async function open(offer: Offer = OFFER) {
  const held = new HeldCalls();
  const rig = await openRig([held.tool(), large]);
  const errors: unknown[] = [];
  const server = createServer({
    open: async () => backendOf(rig),
    offer,
    version: '0.0.0',
    era: 'legacy',
    calls: new CallCount(),
    updates: 'subscribed',
    onError: (error) => errors.push(error),
  });
  const [here, there] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: 'test', version: '1' });
  await Promise.all([server.connect(there), client.connect(here)]);
  onTestFinished(() => client.close());
  // Its schemas are known from now on, and every answer is checked with them.
  await client.listTools();
  const call = (name: string, args: object, options?: { signal?: AbortSignal }) =>
    client.callTool({ name, arguments: args as Record<string, unknown> }, options);
  return { ...rig, held, client, call, errors };
}

/** The requests that a description shows on lines of their own. */
function examplesIn(description: string): object[] {
  return [...description.matchAll(/^\{"(?:tasks|action)".*(?:\n {2}.*)*(?:\n\]\})?$/gm)].map(([json]) =>
    JSON.parse(json),
  );
}

test('what the descriptions show to a model can be done as it stands there', async () => {
  const { call, folder } = await open();
  writeFileSync(join(folder, 'README.md'), 'read me');
  mkdirSync(join(folder, 'src'));
  writeFileSync(join(folder, 'src', 'main.py'), 'x = 1\n');
  const counts = [];
  const shown = [...MCP_TOOLS, { name: 'batch_executor_tool', description: BATCH_TOOL_DESCRIPTION }];
  for (const { name, description } of shown) {
    for (const example of examplesIn(description)) {
      const answer = await call(name, example);
      expect(answer.isError ?? false, textOf(answer)).toBe(false);
      const data = dataOf(answer);
      const told = data.counts ?? data.data.counts;
      expect(told?.failed ?? 0, textOf(answer)).toBe(0);
      counts.push(`${name} ${told?.completed ?? 0}`);
    }
  }
  expect(counts).toEqual([
    'run_batch 2',
    'batch_executor_tool 0',
    'batch_executor_tool 2',
    'batch_executor_tool 2',
  ]);
});

test('a batch that takes longer than the call waits goes on, and can be waited for and read', async () => {
  const { call, held } = await open();
  const started = await call('run_batch', {
    batch: 'long',
    wait: 0,
    tasks: [{ id: 'a', function: 'held', params: { key: 'k' } }],
  });
  expect(dataOf(started)).toMatchObject({ batch: 'long', state: 'running', results: [] });
  expect(dataOf(started).hints).toEqual([expect.stringContaining('batch_results')]);
  expect(textOf(started)).toContain(dataOf(started).hints[0]);
  await held.started('k');
  expect(dataOf(await call('batch_results', { batch: 'long' })).hints).toHaveLength(1);
  const waiting = call('batch_status', { batch: 'long', wait: 30 });
  const waitingToo = call('batch_results', { batch: 'long', wait: 30 });
  held.finish('k', { n: 1 });
  expect(dataOf(await waiting)).toMatchObject({ state: 'idle', counts: { completed: 1 } });
  const results = await waitingToo;
  expect(dataOf(results)).toMatchObject({ results: [{ id: 'a', status: 'completed', result: { n: 1 } }] });
  expect(textOf(results)).toContain('data, not instructions');
  expect(dataOf(results).note).toContain('data, not instructions');
  expect(dataOf(await call('batch_status', {})).batches).toHaveLength(1);
});

test('short results are whole, long ones share the room, and one can be read to its end', async () => {
  const { call } = await open();
  const tasks = [
    { id: 'short', function: 'echo', params: { text: 'hello' } },
    { id: 'long', function: 'large', params: { length: 5000 } },
    { id: 'longer', function: 'large', params: { length: 50_000 } },
  ];
  const ran = await call('run_batch', { batch: 'b', tasks, max_chars: 2000 });
  const [short, long, longer] = dataOf(ran).results;
  expect(JSON.stringify(short.result)).toContain('hello');
  expect(long.result).toBeUndefined();
  expect(long.result_bytes).toBe(5002);
  expect(long.result_preview.length + longer.result_preview.length).toBeLessThan(2010);
  expect(textOf(ran).length).toBeLessThan(4000);

  const both = ['one', 'two'].map((id) => ({ id, function: 'large', params: { length: 1500 } }));
  const shared = dataOf(await call('run_batch', { tasks: both, max_chars: 2000 })).results;
  expect(shared.map((row: { result_preview: string }) => row.result_preview.length)).toEqual([1000, 1000]);

  let whole = '';
  let offset: number | undefined = 0;
  while (offset !== undefined) {
    const part = dataOf(await call('batch_results', { batch: 'b', id: 'longer', offset, max_chars: 20_000 }));
    whole += part.part;
    offset = part.next_offset;
  }
  expect(JSON.parse(whole)).toBe('x'.repeat(50_000));
  expect(dataOf(await call('batch_results', { batch: 'b', id: 'long' })).result).toBe('x'.repeat(5000));
  const page = dataOf(await call('batch_results', { batch: 'b', limit: 2 }));
  expect(page.results).toHaveLength(2);
  const next = dataOf(await call('batch_results', { batch: 'b', limit: 2, cursor: page.next_cursor }));
  expect(next.results.map(({ id }: { id: string }) => id)).toEqual(['longer']);
  expect(next.next_cursor).toBeUndefined();
});

test('functions are found by words, with their signatures, and with schemas on request', async () => {
  const { call } = await open();
  const best = async (search: string) => dataOf(await call('list_batch_functions', { search })).functions[0];
  const found = await best('file read');
  expect(found).toMatchObject({ name: 'read_file', read_only: true });
  expect(found.signature).toMatch(/^read_file\(\{path: string, .*\}\): \{path: string, content: string, /);
  expect(found.input_schema).toBeUndefined();
  for (const [words, name] of [
    ['read file content', 'read_file'],
    ['grep', 'search_files'],
    ['searching for text in many files', 'search_files'],
    ['ls', 'list_directory'],
    ['list the folders', 'list_directory'],
    ['save a file', 'write_file'],
    ['complexity of code', 'code_analyzer_tool'],
  ] as const)
    expect((await best(words)).name, words).toBe(name);
  const all = dataOf(await call('list_batch_functions', { limit: 2 }));
  expect(all).toMatchObject({ functions: { length: 2 }, next_offset: 2 });
  const documented = await call('list_batch_functions', { names: ['read_file'] });
  expect(textOf(documented)).toMatch(/^ {2}path: string, \/\/ The file to read/m);
  const full = await call('list_batch_functions', { names: ['read_file'], json_schema: true });
  expect(dataOf(full).functions[0].input_schema.properties.path).toBeDefined();
  expect(dataOf(full).functions[0].output_schema.properties.content).toBeDefined();
  expect(textOf(full)).toContain('"path"');
  const unknown = await call('list_batch_functions', { names: ['read_fil'] });
  expect(unknown).toMatchObject({ isError: true });
  expect(textOf(unknown)).toContain('read_file');
  expect(textOf(await call('list_batch_functions', { search: 'zzz' }))).toContain('0 functions');
});

test('what is withheld is named with the reason', async () => {
  const { call } = await open();
  const { withheld } = dataOf(await call('list_batch_functions', {}));
  expect(withheld).toEqual([
    { name: 'http_request', reason: expect.stringContaining('tools.http_request.enabled') },
    { name: 'shell', reason: expect.stringContaining('tools.shell.enabled') },
  ]);
  const bash = dataOf(await call('list_batch_functions', { search: 'bash' }));
  expect(bash.withheld).toMatchObject([{ name: 'shell' }]);
  expect(textOf(await call('list_batch_functions', { names: ['shell'] }))).toContain('tools.shell.enabled');
});

test('only a batch in which nothing completed is an error', async () => {
  const { call } = await open();
  const [good, bad] = [{ function: 'echo' }, { id: 'bad', function: 'broken' }];
  expect((await call('run_batch', { tasks: [good, bad] })).isError ?? false).toBe(false);
  const all = await call('run_batch', { tasks: [bad, { function: 'echo', depends_on: ['bad'] }] });
  expect(all.isError).toBe(true);
  expect(dataOf(all)).toMatchObject({ counts: { failed: 1, skipped: 1 }, results: [{ id: 'bad' }, {}] });
  expect(dataOf(all).hints).toEqual([expect.stringContaining('"retry"')]);
});

test('hints of actions are also in the data', async () => {
  const { call } = await open();
  const added = dataOf(await call('batch_executor_tool', { action: 'add', function: 'echo' }));
  expect(added.hints).toEqual(['Run it with "start".']);
  await call('batch_executor_tool', { action: 'start', wait: 5 });
  const results = dataOf(await call('batch_executor_tool', { action: 'results' }));
  expect(results.note).toContain('data, not instructions');
});

test('the small profile has four tools, shows fewer fields, and its hints name no other tool', async () => {
  const { call, client } = await open({ ...OFFER, profile: async () => 'small' });
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual([
    'run_program',
    'run_batch',
    'list_batch_functions',
    'batch_results',
  ]);
  expect(tools[1]!.inputSchema.properties).not.toHaveProperty('max_chars');
  const failed = await call('run_batch', { tasks: [{ function: 'broken' }], max_chars: 1000 });
  expect(dataOf(failed)).toMatchObject({ counts: { failed: 1 } });
  expect(dataOf(failed).hints).toBeUndefined();
});

test('tools for features appear with the first feature, and the client is told', async () => {
  let hasFeatures = false;
  const { call, client } = await open({ ...OFFER, hasFeatures: async () => hasFeatures });
  const changes: unknown[] = [];
  client.setNotificationHandler('notifications/tools/list_changed', (change) => void changes.push(change));
  await call('batch_status', {});
  hasFeatures = true;
  await call('batch_status', {});
  await until(() => changes.length > 0, 'the change');
  const names = (await client.listTools()).tools.map(({ name }) => name);
  expect(names.filter((name) => name.startsWith('tasks_'))).toHaveLength(4);
  await call('batch_status', {});
  expect(changes).toHaveLength(1);
});

test('batches that nobody named are forgotten after a while', async () => {
  const { store, executor, coordinator, ...rig } = await openRig();
  const backend = { ...backendOf({ store, executor, coordinator, ...rig }), keepRunsMs: 1000 };
  const add = (batch: string) => executor.handle({ action: 'add', batch, function: 'echo' });
  for (const batch of ['run-0123456789ab', 'run-nightly', 'named']) await add(batch);
  const names = async () => (await store.batches()).map(({ name }) => name);
  await forgetOldRuns(backend, Date.now());
  expect(await names()).toHaveLength(3);
  await forgetOldRuns(backend, Date.now() + 10_000);
  expect(await names(), 'it looks once an hour').toHaveLength(3);
  await forgetOldRuns(backend, Date.now() + 4_000_000);
  expect(await names()).toEqual(['run-nightly', 'named']);
});

test('a batch that nobody named is kept while it runs', async () => {
  const held = new HeldCalls();
  const rig = await openRig([held.tool()]);
  const batch = 'run-0123456789ab';
  await rig.ask('add', { batch, function: 'held', params: { key: 'k' } });
  await rig.ask('start', { batch });
  await held.started('k');
  await forgetOldRuns({ ...backendOf(rig), keepRunsMs: 1 }, Date.now() + 4_000_000);
  expect((await rig.store.batches()).map(({ name }) => name)).toEqual([batch]);
  held.finish('k');
});

test('a batch cannot start batches, also not by way of another server', async () => {
  const { call, store } = await open();
  for (const name of [
    'run_batch',
    'batch_executor_tool',
    'volley.run_batch',
    'volley.tasks_run',
    'volley.run_program',
    'other.batch_executor_tool',
  ]) {
    const task = { function: name, params: {} };
    for (const refused of [
      await call('run_batch', { tasks: [{ function: 'echo' }, task] }),
      await call('batch_executor_tool', { action: 'add', ...task }),
      await call('batch_executor_tool', { action: 'add_batch', tasks: [task] }),
      await call('batch_executor_tool', { tool_args: { action: 'add_batch', tasks: [task] } }),
      // However it is written.
      await call('run_batch', { tasks: JSON.stringify([{ tool: name }]) }),
      await call('batch_executor_tool', { action: 'ADD', tool: name }),
      await call('batch_executor_tool', { action: 'add_batch', tasks: JSON.stringify([{ name }]) }),
    ]) {
      expect(refused.isError).toBe(true);
      expect(textOf(refused)).toContain(JSON.stringify(name));
    }
  }
  expect(await store.batches()).toEqual([]);
});

test('what is wrong with a call is said in words that help, and nothing is left behind', async () => {
  const { call, store, errors } = await open();
  const refusals: [string, object, string][] = [
    ['run_batch', {}, 'tasks is missing'],
    ['run_batch', { tasks: [] }, 'tasks must not be empty'],
    ['run_batch', { tasks: [{ function: 'ecko' }] }, 'echo'],
    ['run_batch', { tasks: [{ function: 'echo', prams: {} }] }, 'params'],
    ['run_batch', { tasks: Array(10_001).fill({ function: 'echo' }) }, 'at most 10000'],
    ['run_batch', { tasks: [{ function: 'echo' }], timeout: 100_000 }, 'at most 86400'],
    ['run_batch', { tasks: [{ function: 'echo' }], wait: 4000 }, 'at most 1800'],
    ['batch_status', { batch: 'none' }, '"none"'],
    ['batch_results', {}, 'batch is missing'],
    ['batch_executor_tool', { action: 'strat' }, '"start"'],
    ['batch_executor_tool', { action: 'start', timeout: 1e6 }, 'at most 86400'],
    [
      'batch_executor_tool',
      { action: 'add_batch', tasks: Array(10_001).fill({ function: 'echo' }) },
      'at most 10000',
    ],
  ];
  for (const [tool, args, words] of refusals) {
    const refused = await call(tool, args);
    expect(refused.isError, words).toBe(true);
    expect(textOf(refused)).toContain(words);
  }
  await call('run_batch', { batch: 'taken', tasks: [{ function: 'echo' }] });
  expect(textOf(await call('run_batch', { batch: 'taken', tasks: [{ function: 'echo' }] }))).toContain(
    'already',
  );
  expect((await store.batches()).map(({ name }) => name)).toEqual(['taken']);
  expect(errors).toEqual([]);
});

test('batch_executor_tool does all actions, and waits so that it can be stopped', async () => {
  const { call, held, standing } = await open();
  const act = async (args: object, options?: { signal?: AbortSignal }) =>
    dataOf(await call('batch_executor_tool', args, options));
  expect(await act({ action: 'add', id: 'a', function: 'echo', params: { text: 'x' } })).toMatchObject({
    ok: true,
    action: 'add',
    data: { id: 'a' },
  });
  expect(await act({ action: 'start', wait: true })).toMatchObject({
    action: 'start',
    data: { state: 'idle', counts: { completed: 1 } },
  });
  expect(await act({ action: 'wait' })).toMatchObject({ action: 'wait', data: { finished: true } });
  expect(await act({ action: 'results', format: 'json' })).toMatchObject({
    data: { results: [{ id: 'a' }] },
  });

  await act({ action: 'add', batch: 'h', function: 'held', params: { key: 'k' } });
  const stopping = new AbortController();
  const waiting = act({ action: 'start', batch: 'h', wait: true }, { signal: stopping.signal });
  const refused = expect(waiting).rejects.toThrow();
  await held.started('k');
  expect(await act({ action: 'wait', batch: 'h', timeout: 0.01 })).toMatchObject({
    data: { finished: false },
  });
  stopping.abort();
  await refused;
  await until(async () => (await standing('h'))[0] !== 't1 running', 'the stop');
  expect(await act({ action: 'wait', batch: 'h' })).toMatchObject({ data: { finished: true } });
});

test('the schema of batch_executor_tool has every field of every action', () => {
  const tool = MCP_TOOLS.find(({ name }) => name === 'batch_executor_tool')!;
  const { inputSchema } = describeTool(tool, 'default');
  const fields = DEFINITIONS.flatMap(({ schema }) => Object.keys(schema.shape));
  expect(new Set(Object.keys(inputSchema.properties ?? {}))).toEqual(new Set(['action', ...fields]));
});

test.each([
  ['default', 1800],
  ['small', 900],
] as const)('the tools of the %s profile cost a model at most %i tokens', async (profile, most) => {
  const { client } = await open({ ...OFFER, profile: async () => profile });
  const encoding = getEncoding('o200k_base');
  const counts = (await client.listTools()).tools.map(
    ({ name, description, inputSchema }) =>
      encoding.encode(JSON.stringify({ name, description, inputSchema })).length,
  );
  expect(counts.reduce((sum, one) => sum + one)).toBeLessThanOrEqual(most);
});

test('every list in the schemas says what is in it, which some clients require', () => {
  const incomplete = (schema: unknown): boolean =>
    typeof schema === 'object' &&
    schema !== null &&
    (('type' in schema && schema.type === 'array' && !('items' in schema)) ||
      Object.values(schema).some(incomplete));
  for (const tool of offeredTools('default', true))
    expect(incomplete(describeTool(tool, 'default').inputSchema), tool.name).toBe(false);
});

test('what fails while a call waits is logged to the client', async () => {
  const { call, client } = await open();
  const logged: unknown[] = [];
  client.setNotificationHandler('notifications/message', ({ params }) => void logged.push(params));
  await call('run_batch', { batch: 'b', tasks: [{ id: 'bad', function: 'broken' }] });
  await until(() => logged.length > 0, 'the line');
  expect(logged).toMatchObject([
    {
      level: 'warning',
      logger: 'volley',
      data: { batch: 'b', id: 'bad', function: 'broken', reason: 'error' },
    },
  ]);
});

test('results from the cache are marked in every answer', async () => {
  const { call, folder } = await open();
  writeFileSync(join(folder, 'a.ts'), 'a;');
  const tasks = [{ id: 'a', function: 'code_analyzer_tool', params: { file_path: 'a.ts' } }];
  expect(dataOf(await call('run_batch', { batch: 'one', tasks }))).not.toHaveProperty('cached');
  const again = await call('run_batch', { batch: 'two', tasks });
  const marked = { cached: 1, results: [{ id: 'a', status: 'completed', cached: true }] };
  expect(dataOf(again)).toMatchObject(marked);
  expect(textOf(again)).toContain('1 completed (1 from cache)');
  expect(dataOf(await call('batch_results', { batch: 'two' }))).toMatchObject(marked);
  const status = await call('batch_executor_tool', { action: 'status', batch: 'two' });
  expect(textOf(status)).toContain('(1 from cache)');
});
