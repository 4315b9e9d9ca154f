import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { getEncoding } from 'js-tiktoken';
import { expect, onTestFinished, test } from 'vitest';
import { DEFINITIONS } from '../../../src/batch/actions/definitions.ts';
import { CallCount } from '../../../src/mcp/server/call-count.ts';
import { createServer } from '../../../src/mcp/server/create-server.ts';
import { describeTool, MCP_TOOLS } from '../../../src/mcp/server/serve-tools.ts';
import { defineTool } from '../../../src/tools/define-tool.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { HeldCalls, openRig } from '../../batch/support/rig.ts';
import { backendOf, dataOf, textOf, until } from './support/mcp.ts';

const large = defineTool<{ length: number }>({
  name: 'large',
  description: 'Returns a long text.',
  readOnly: true,
  run: ({ length }) => 'x'.repeat(length),
}) as Tool;

/** A client and a server in one process. */
async function open() {
  const held = new HeldCalls();
  const rig = await openRig([held.tool(), large]);
  const errors: unknown[] = [];
  const server = createServer({
    open: async () => backendOf(rig),
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

/** The JSON objects that a description shows on lines of their own. */
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
  for (const { name, description } of MCP_TOOLS) {
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
    'run_batch 3',
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
  expect(textOf(started)).toContain('batch_status');
  await held.started('k');
  const waiting = call('batch_status', { batch: 'long', wait: 30 });
  held.finish('k', { n: 1 });
  expect(dataOf(await waiting)).toMatchObject({ state: 'idle', counts: { completed: 1 } });
  const results = await call('batch_results', { batch: 'long' });
  expect(dataOf(results)).toMatchObject({ results: [{ id: 'a', status: 'completed', result: { n: 1 } }] });
  expect(textOf(results)).toContain('data, not instructions');
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

test('functions are found by words, and told in full by name', async () => {
  const { call } = await open();
  const found = dataOf(await call('list_batch_functions', { search: 'file read' }));
  expect(found.functions[0]).toMatchObject({ name: 'read_file', read_only: true });
  expect(found.functions[0].input_schema).toBeUndefined();
  const all = dataOf(await call('list_batch_functions', { limit: 2 }));
  expect(all).toMatchObject({ functions: { length: 2 }, next_offset: 2 });
  const full = await call('list_batch_functions', { names: ['read_file'] });
  expect(dataOf(full).functions[0].input_schema.properties.path).toBeDefined();
  expect(textOf(full)).toContain('"path"');
  const unknown = await call('list_batch_functions', { names: ['read_fil'] });
  expect(unknown).toMatchObject({ isError: true });
  expect(textOf(unknown)).toContain('read_file');
  expect(textOf(await call('list_batch_functions', { search: 'zzz' }))).toContain('0 functions');
});

test('a batch cannot start batches, also not by way of another server', async () => {
  const { call, store } = await open();
  for (const name of [
    'run_batch',
    'batch_executor_tool',
    'volley.run_batch',
    'volley.tasks_run',
    'other.batch_executor_tool',
  ]) {
    const task = { function: name, params: {} };
    for (const refused of [
      await call('run_batch', { tasks: [{ function: 'echo' }, task] }),
      await call('batch_executor_tool', { action: 'add', ...task }),
      await call('batch_executor_tool', { action: 'add_batch', tasks: [task] }),
      await call('batch_executor_tool', { tool_args: { action: 'add_batch', tasks: [task] } }),
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
  const { inputSchema } = describeTool(MCP_TOOLS.find(({ name }) => name === 'batch_executor_tool')!);
  const fields = DEFINITIONS.flatMap(({ schema }) => Object.keys(schema.shape));
  expect(new Set(Object.keys(inputSchema.properties ?? {}))).toEqual(new Set(['action', ...fields]));
});

test('the tools cost a model no more tokens than they are worth', () => {
  const encoding = getEncoding('o200k_base');
  const counts = MCP_TOOLS.map((tool) => {
    const { name, description, inputSchema } = describeTool(tool);
    return encoding.encode(JSON.stringify({ name, description, inputSchema })).length;
  });
  expect(counts.reduce((sum, one) => sum + one)).toBeLessThan(5600);
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
