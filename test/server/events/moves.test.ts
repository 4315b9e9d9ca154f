import pg from 'pg';
import { expect, test } from 'vitest';
import { RateLimitedError } from '../../../src/engine/tool-failure.ts';
import { EVENTS, type EventType } from '../../../src/server/wire/event.ts';
import { defineTool } from '../../../src/tools/define-tool.ts';
import { HeldCalls } from '../../batch/support/rig.ts';
import { newSchema } from '../../store/support/postgres.ts';
import { sharedPostgres } from '../../support/postgres.ts';
import { type SharedServer, servePostgres } from '../support/serve-postgres.ts';
import type { SseClient } from './support/sse-client.ts';

const address = await sharedPostgres();

/** What a client was told of tasks, such as `a completed`. */
function told({ events }: SseClient): string[] {
  return events.flatMap(({ type, data }) => {
    const { id, type: kind } = data as Record<string, string>;
    return type === 'task' ? [`${id} ${kind}`] : [];
  });
}

const hasEnded = ({ events }: SseClient, count: number): boolean =>
  events.some(({ type, data }) => {
    const { state, counts } = data as { state: string; counts: Record<string, number> };
    return type === 'batch' && state === 'idle' && counts['completed'] === count;
  });

async function twoServers(
  held = new HeldCalls(),
): Promise<{ a: SharedServer; b: SharedServer; held: HeldCalls }> {
  const place = newSchema(address);
  const [a, b] = [await servePostgres(place, { tools: [held.tool()] }), await servePostgres(place)];
  return { a, b, held };
}

test('every server tells the same about a batch, whichever runs it', async () => {
  const { a, b, held } = await twoServers();
  await a.ask('add', { id: 'one', function: 'held', params: { key: 'one' }, batch: 'x' });
  const clients = [a, b].flatMap((server) =>
    ['/v1/events', '/v1/batches/x/events'].map((path) => server.connect(path)),
  );
  for (const client of clients) await client.untilCount(1);
  await a.ask('add', { id: 'two', function: 'echo', depends_on: ['one'], batch: 'x' });
  await a.ask('add', { id: 'bad', function: 'broken', batch: 'x' });
  await a.ask('start', { batch: 'x' });
  await held.started('one');
  held.finish('one');
  for (const client of clients) {
    await client.until(() => hasEnded(client, 2), 'the end of the batch');
    expect(told(client).sort()).toEqual([
      'bad failed',
      'bad started',
      'one completed',
      'one started',
      'two completed',
      'two started',
    ]);
    expect(told(client).indexOf('two started')).toBeGreaterThan(told(client).indexOf('one completed'));
    expect(client.events.filter(({ type }) => type === 'added')).toHaveLength(2);
    for (const { type, data } of client.events) EVENTS[type as EventType].parse(data);
  }
});

test('a client that moves to another server gets what it has not seen, and then how the batch stands', async () => {
  const { a, b, held } = await twoServers();
  for (const id of ['one', 'two'])
    await a.ask('add', { id, function: 'held', params: { key: id }, batch: 'x' });
  const client = a.connect('/v1/batches/x/events');
  await client.untilCount(1);
  await a.ask('start', { batch: 'x' });
  await client.until(() => told(client).includes('two started'), 'the second start');
  client.cut();
  held.finish('one');
  held.finish('two');
  await expect.poll(async () => (await a.executor.view('x'))?.state).toBe('idle');
  for (const server of [b, a]) {
    const moved = server.connect('/v1/batches/x/events', client.lastEventId);
    await moved.until(() => hasEnded(moved, 2), 'the end of the batch');
    const before = told(client);
    expect([...before, ...told(moved)].sort()).toEqual([
      'one completed',
      'one started',
      'two completed',
      'two started',
    ]);
    expect(moved.types()).not.toContain('snapshot');
    expect(moved.types()).not.toContain('gap');
  }
});

test('an id of a single server, of another store or of nothing known gives a gap and a snapshot', async () => {
  const { a, b } = await twoServers();
  await a.ask('add', { id: 'one', function: 'echo', batch: 'x' });
  const other = await servePostgres(newSchema(address));
  await other.ask('add', { id: 'one', function: 'echo', batch: 'x' });
  const elsewhere = other.connect('/v1/batches/x/events');
  await elsewhere.untilCount(1);
  const ids = ['abcdefabcdef-3', 'x@y', '@', elsewhere.lastEventId!, 'z'.repeat(5000)];
  for (const id of ids) {
    const client = b.connect('/v1/batches/x/events', id);
    await client.untilCount(2);
    expect(client.types()).toEqual(['gap', 'snapshot']);
    expect(client.events[0]!.data).toEqual({ missed: null });
  }
});

test('what a call reports reaches clients of every server in its order', async () => {
  const place = newSchema(address);
  const reporting = defineTool({
    name: 'reporting',
    run: (_, { report }) => {
      report(0.5, 'half');
      return 1;
    },
  });
  const a = await servePostgres(place, { tools: [reporting as never] });
  const b = await servePostgres(place);
  await a.ask('add', { id: 'one', function: 'reporting', batch: 'x' });
  const client = b.connect('/v1/batches/x/events');
  await client.untilCount(1);
  await a.ask('start', { batch: 'x' });
  await client.until(() => hasEnded(client, 1), 'the end of the batch');
  expect(told(client)).toEqual(['one started', 'one progress', 'one completed']);
  expect(
    client.events.find(({ data }) => (data as { type: string }).type === 'progress')!.data,
  ).toMatchObject({
    progress: 0.5,
    step: 'half',
  });
});

test('when entries are lost, every client gets a gap and a snapshot, and then what follows', async () => {
  const { a, b } = await twoServers();
  await a.ask('add', { id: 'one', function: 'echo', batch: 'x' });
  const client = b.connect('/v1/batches/x/events');
  await client.untilCount(1);
  const own = new pg.Client({ connectionString: address });
  await own.connect();
  const { schema } = (a.store as unknown as { database: { schema: string } }).database;
  await own.query(`UPDATE ${schema}.feed SET token = 'ffffffffffff'`);
  await own.end();
  await a.ask('add', { id: 'two', function: 'echo', batch: 'x' });
  await client.until(() => client.types().includes('gap'), 'the gap');
  await client.until(() => client.types().at(-1) !== 'gap', 'the snapshot');
  await a.ask('start', { batch: 'x', wait: true });
  await client.until(() => hasEnded(client, 2), 'the end of the batch');
  expect(told(client)).toEqual(expect.arrayContaining(['one completed', 'two completed']));
});

test('what only the process knows that runs a batch is shown by other servers, too', async () => {
  const place = newSchema(address);
  const api = defineTool({
    name: 'api',
    run: () => {
      throw new RateLimitedError('Slow down', { retryAfterMs: 3_600_000 });
    },
  });
  const a = await servePostgres(place, { tools: [api as never] });
  const b = await servePostgres(place);
  await a.ask('add', { id: 'one', function: 'api', batch: 'x' });
  const client = b.connect('/v1/batches/x/events');
  await client.untilCount(1);
  await a.ask('start', { batch: 'x' });
  const scopes = (body: unknown) =>
    (body as { pauses?: { scope: string }[] }).pauses?.map(({ scope }) => scope);
  await expect.poll(async () => scopes(await a.get('/v1/batches/x'))).toEqual(['api']);
  await expect.poll(async () => scopes(await b.get('/v1/batches/x'))).toEqual(['api']);
  const hasPause = () =>
    client.events.some(({ type, data }) => type === 'batch' && scopes(data)?.[0] === 'api');
  await client.until(hasPause, 'the pause');
  expect(client.events.map(({ data }) => data)).toContainEqual(
    expect.objectContaining({ id: 'one', type: 'retrying', quota: 'api' }),
  );
  const { batches } = (await b.get('/v1/batches')) as { batches: unknown[] };
  expect(scopes(batches[0])).toEqual(['api']);
});
