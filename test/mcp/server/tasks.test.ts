import { PassThrough } from 'node:stream';
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/client';
import { expect, onTestFinished, test } from 'vitest';
import { serveMcpStdio } from '../../../src/mcp/server/serve-stdio.ts';
import { HeldCalls, openRig } from '../../batch/support/rig.ts';
import { until } from '../../support/until.ts';
import { backendOf, OFFER } from './support/mcp.ts';

const TASKS = 'io.modelcontextprotocol/tasks';
const CLIENT = { name: 'raw', version: '1' };

/** A connection whose messages the test writes itself. */
async function open(isModern: boolean) {
  const held = new HeldCalls();
  const rig = await openRig([held.tool()]);
  const input = new PassThrough();
  // biome-ignore lint/suspicious/noExplicitAny: messages of all shapes
  const messages: any[] = [];
  const served = serveMcpStdio({
    open: async () => backendOf(rig),
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
  let count = 0;
  const send = async (method: string, params: object = {}) => {
    const id = ++count;
    const _meta = {
      [PROTOCOL_VERSION_META_KEY]: '2026-07-28',
      [CLIENT_INFO_META_KEY]: CLIENT,
      [CLIENT_CAPABILITIES_META_KEY]: { extensions: { [TASKS]: {} } },
    };
    const all = { jsonrpc: '2.0', id, method, params: { ...params, ...(isModern && { _meta }) } };
    input.write(`${JSON.stringify(all)}\n`);
    await until(() => messages.some((message) => message.id === id), `the answer to ${method}`);
    return messages.find((message) => message.id === id);
  };
  const run = (key: string, more: object = {}) =>
    send('tools/call', {
      name: 'run_batch',
      arguments: { batch: key, tasks: [{ function: 'held', params: { key } }] },
      ...more,
    });
  return { ...rig, held, send, run };
}

test('a client of 2025-11-25 gets a task where it asks for one, and its result when it has ended', async () => {
  const { send, run, held } = await open(false);
  const begun = await send('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: CLIENT,
  });
  expect(begun.result.capabilities.tasks).toEqual({
    list: {},
    cancel: {},
    requests: { tools: { call: {} } },
  });
  const { tools } = (await send('tools/list')).result;
  expect(tools.filter(({ execution }: { execution?: object }) => execution !== undefined)).toMatchObject([
    { name: 'run_program', execution: { taskSupport: 'optional' } },
    { name: 'run_batch', execution: { taskSupport: 'optional' } },
  ]);

  const created = await run('one', { task: { ttl: 60_000 } });
  expect(created.result.task).toMatchObject({
    taskId: 'one',
    status: 'working',
    ttl: null,
    pollInterval: 1000,
  });
  await held.started('one');
  expect((await send('tasks/get', { taskId: 'one' })).result).toMatchObject({
    taskId: 'one',
    status: 'working',
  });
  const waiting = send('tasks/result', { taskId: 'one' });
  held.finish('one', 'done');
  expect((await waiting).result).toMatchObject({
    structuredContent: { state: 'ended', results: [{ result: 'done' }] },
    _meta: { 'io.modelcontextprotocol/related-task': { taskId: 'one' } },
  });
  expect((await send('tasks/get', { taskId: 'one' })).result.status).toBe('completed');

  await run('two', { task: {} });
  await held.started('two');
  expect((await send('tasks/cancel', { taskId: 'two' })).result.status).toBe('cancelled');
  await send('tasks/result', { taskId: 'two' });
  expect((await send('tasks/get', { taskId: 'two' })).result.status).toBe('cancelled');
  expect((await send('tasks/cancel', { taskId: 'two' })).error.code).toBe(-32602);
  expect((await send('tasks/get', { taskId: 'none' })).error.code).toBe(-32602);
  const { tasks } = (await send('tasks/list')).result;
  expect(tasks.map(({ taskId }: { taskId: string }) => taskId)).toEqual(['two', 'one']);
});

test('a client with the extension of 2026-07-28 gets a task for what takes long, and a result for what does not', async () => {
  const { send, run, held } = await open(true);
  const found = await send('server/discover');
  expect(found.result.capabilities.extensions).toHaveProperty([TASKS]);
  held.finish('quick', 'now');
  expect((await run('quick')).result).toMatchObject({
    resultType: 'complete',
    structuredContent: { state: 'ended' },
  });

  const created = await run('slow');
  expect(created.result).toMatchObject({
    resultType: 'task',
    taskId: 'slow',
    status: 'working',
    ttlMs: null,
  });
  held.finish('slow', 'late');
  let state = (await send('tasks/get', { taskId: 'slow' })).result;
  while (state.status === 'working') state = (await send('tasks/get', { taskId: 'slow' })).result;
  expect(state).toMatchObject({
    resultType: 'complete',
    status: 'completed',
    result: { structuredContent: { results: [{ result: 'late' }] } },
  });
  expect((await send('tasks/update', { taskId: 'slow', inputResponses: {} })).result).toBeDefined();
  expect((await send('tasks/cancel', { taskId: 'slow' })).result).toBeDefined();
  expect((await send('tasks/get', { taskId: 'none' })).error.code).toBe(-32602);
});

test('a task whose process died is failed, and says what to do', async () => {
  const { send, ask } = await open(true);
  await ask('add_batch', { batch: 'left', tasks: [{ function: 'echo' }] });
  const { result } = await send('tasks/get', { taskId: 'left' });
  expect(result).toMatchObject({
    status: 'failed',
    error: { message: expect.stringMatching(/start/i) },
  });
});
