import { fork } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { BatchExecutor } from '../../../src/batch/executor/batch-executor.ts';
import type { TaskEvent } from '../../../src/batch/run/events.ts';
import type { HubOptions } from '../../../src/server/events/event-hub.ts';
import { LiveEvents } from '../../../src/server/events/live-events.ts';
import { EVENTS, type EventType } from '../../../src/server/wire/event.ts';
import { executionBody } from '../../../src/server/wire/execution.ts';
import { openStore } from '../../../src/store/sqlite-store.ts';
import { StoreWatch } from '../../../src/store/store-watch.ts';
import { defineTool } from '../../../src/tools/define-tool.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { HeldCalls, openRig, type Rig } from '../../batch/support/rig.ts';
import { buildProgram } from '../../e2e/support/built-program.ts';
import { SseClient } from './support/sse-client.ts';

/** A client of the live events of a rig; every event must be of its form. */
async function serve(
  { coordinator: { engine }, executor, store }: Rig,
  path: string,
  options: HubOptions = {},
): Promise<{ client: SseClient; live: LiveEvents }> {
  const parts = { engine, executor, store, watch: new StoreWatch(store) };
  const live = new LiveEvents(parts, { progressMs: 20, batchMs: 20, ...options });
  const server = createServer(async (request, response) => {
    const batch = request.url!.slice(1);
    await live.subscribe(batch === '' ? {} : { batch }, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = new SseClient((server.address() as AddressInfo).port, path);
  onTestFinished(async () => {
    client.cut();
    await live.close('shutdown');
    await new Promise((resolve) => server.close(resolve));
    for (const { type, data } of client.events) EVENTS[type as EventType].parse(data);
  });
  await client.untilCount(1);
  return { client, live };
}

/** `a started`, `batch running 1/2`. */
function told({ events }: SseClient): string[] {
  return events.map(({ type, data }) => {
    const { id, type: kind, state, counts } = data as Record<string, unknown>;
    if (type === 'task') return `${id} ${kind}`;
    return type === 'batch' ? `batch ${state} ${(counts as Record<string, number>)['completed']}` : type;
  });
}

test('a batch can be followed from its first task to its end', async () => {
  const held = new HeldCalls();
  const rig = await openRig([held.tool()]);
  await rig.ask('add', { id: 'before', function: 'echo', batch: 'b' });
  const { client } = await serve(rig, '/b');
  expect(client.events[0]!.data).toMatchObject({
    batches: [{ batch: 'b', state: 'idle', total: 1 }],
    executions: [],
  });
  await rig.ask('add', { id: 'a', function: 'held', params: { key: 'a' }, batch: 'b' });
  await rig.ask('add', { id: 'other', function: 'echo', batch: 'other' });
  await rig.ask('start', { batch: 'b' });
  await held.started('a');
  held.finish('a');
  await client.until(() => told(client).includes('batch idle 2'), 'the end of the batch');
  const lines = told(client);
  expect(lines.filter((line) => !line.startsWith('batch'))).toEqual(
    expect.arrayContaining([
      'snapshot',
      'added',
      'before started',
      'before completed',
      'a started',
      'a completed',
    ]),
  );
  expect(lines).toContain('batch running 0');
  expect(JSON.stringify(client.events)).not.toContain('other');
});

test('the snapshot of a batch shows running and ended tasks, without texts of errors', async () => {
  const held = new HeldCalls();
  const rig = await openRig([held.tool()]);
  await rig.ask('add', { id: 'a', function: 'held', params: { key: 'a' }, batch: 'b' });
  await rig.ask('add', { id: 'bad', function: 'broken', batch: 'b', max_retries: 0 });
  await rig.ask('start', { batch: 'b' });
  await held.started('a');
  await expect.poll(async () => (await rig.store.task('b', 'bad'))?.status).toBe('failed');
  const { client } = await serve(rig, '/b');
  const { executions } = client.events[0]!.data as { executions: object[] };
  expect(executions).toMatchObject([
    { id: 'a', status: 'running' },
    { id: 'bad', status: 'failed', reason: 'error', message: null },
  ]);
});

test('the snapshot and the executions show a pause before a retry, and its end', async () => {
  const late = defineTool({
    name: 'late',
    retry: { maxRetries: 1, delayMs: 3_600_000, maxDelayMs: 3_600_000, jitter: 0 },
    run: () => {
      throw new Error('not yet');
    },
  }) as Tool;
  const rig = await openRig([late]);
  const due: number[] = [];
  rig.executor.follow((event) => {
    if (event.type === 'retrying') due.push(event.at + event.retryInMs);
  });
  await rig.ask('add', { id: 'a', function: 'late', batch: 'b' });
  await rig.ask('start', { batch: 'b' });
  await expect.poll(() => due).toHaveLength(1);
  const { client } = await serve(rig, '/b');
  const { executions } = client.events[0]!.data as { executions: { retry_at: number }[] };
  expect(executions).toMatchObject([{ id: 'a', status: 'running', reason: 'error', message: null }]);
  expect(Math.abs(executions[0]!.retry_at - due[0]!)).toBeLessThan(10_000);
  await rig.ask('stop', { batch: 'b' });
  await client.until(() => told(client).includes('batch idle 0'), 'the end');
  expect(executionBody((await rig.store.task('b', 'a'))!, rig.executor)).toMatchObject({
    status: 'open',
    retry_at: null,
  });
});

test('an execution runs from the moment at which its start is told', async () => {
  const rig = await openRig([defineTool({ name: 'quick', idempotent: true, run: () => 1 }) as Tool]);
  const read: object[] = [];
  const look = async ({ batch, id, at }: TaskEvent) => {
    read.push({ at, ...executionBody((await rig.store.task(batch, id))!, rig.executor) });
  };
  rig.executor.follow((event) => {
    if (event.type === 'started') void look(event);
  });
  await rig.ask('add', { id: 'a', function: 'quick', batch: 'b' });
  await rig.ask('start', { batch: 'b', wait: true });
  const [{ at }] = read as [{ at: number }];
  expect(read).toMatchObject([{ status: 'running', attempts: 1, started_at: at }]);
});

test('no argument, result, text of an error or secret is in any event', async () => {
  const secret = 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789';
  const talking = defineTool<{ word: string }>({
    name: 'talking',
    run: ({ word }, { report }) => {
      report(0.5, `with ${secret}`);
      if (word === 'broken-argument') throw new Error('text-of-error');
      return 'text-of-result';
    },
  }) as Tool;
  const rig = await openRig([talking]);
  const { client } = await serve(rig, '/');
  for (const word of ['plain-argument', 'broken-argument'])
    await rig.ask('add', { id: word[0]!, function: 'talking', params: { word }, max_retries: 1 });
  await rig.ask('start', { wait: true });
  await client.until(() => told(client).includes('batch idle 1'), 'the end');
  const all = JSON.stringify(client.events);
  for (const text of ['plain-argument', 'broken-argument', 'text-of-result', 'text-of-error', secret])
    expect(all).not.toContain(text);
});

test('the progress of one execution is told no more often than allowed, and the newest of it', async () => {
  const rounds = 400;
  const busy = defineTool({
    name: 'busy',
    run: async (_, { report }) => {
      for (let round = 1; round <= rounds; round++) {
        report(round / (2 * rounds), `step ${round}`);
        if (round % 4 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      }
      // Until what was reported last has been told.
      await seen;
      return 1;
    },
  }) as Tool;
  let open: () => void = () => {};
  const seen = new Promise<void>((resolve) => {
    open = resolve;
  });
  const rig = await openRig([busy]);
  const { client } = await serve(rig, '/', { progressMs: 30 });
  await rig.ask('add', { id: 'a', function: 'busy' });
  await rig.ask('start');
  const steps = () =>
    client.events.flatMap(({ type, data }) => {
      const { type: kind, step, at } = data as { type: string; step: string; at: number };
      return type === 'task' && kind === 'progress' ? [{ step, at }] : [];
    });
  await client.until(() => steps().at(-1)?.step === `step ${rounds}`, 'the last step');
  open();
  await rig.ask('wait');
  const span = steps().at(-1)!.at - steps()[0]!.at;
  expect(steps().length).toBeLessThanOrEqual(span / 30 + 2);
});

test('what another process does to the store is seen while somebody looks', async () => {
  const rig = await openRig();
  const { client } = await serve(rig, '/');
  const built = await buildProgram();
  const child = fork(built.program('server/events/fixtures/runs-a-batch'), [rig.file], { execArgv: [] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await client.until(() => told(client).includes('batch elsewhere 1'), 'the batch of the other process');
  child.send('finish');
  await client.until(() => told(client).includes('batch idle 2'), 'its end');
  const other = await openStore(rig.file);
  const cleaner = new BatchExecutor({ coordinator: rig.coordinator, store: other });
  await cleaner.handle({ action: 'clear', batch: 'elsewhere' });
  await other.close();
  await client.until(() => told(client).includes('cleared'), 'its clearing');
});

test('the end of the server ends the stream, after what was still to be told', async () => {
  const rig = await openRig();
  const { client, live } = await serve(rig, '/', { batchMs: 60_000 });
  await rig.ask('add', { id: 'a', function: 'echo' });
  await live.close('shutdown');
  await client.ended();
  expect(told(client)).toEqual(['snapshot', 'added', 'batch idle 0', 'end']);
});
