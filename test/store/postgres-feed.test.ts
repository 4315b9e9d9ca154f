import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import type { FeedBody } from '../../src/store/feed.ts';
import { openPostgresStore, type PostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { Completion, NewTask } from '../../src/store/records.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { newSchema } from './support/postgres.ts';
import { task } from './support/store.ts';

const server = await sharedPostgres();

const tasks = (...ids: string[]): NewTask[] => ids.map((id) => task(id));
const done = (seq: number, result = '1'): Completion => ({
  seq,
  result,
  endedAt: 2000,
  startedAt: undefined,
});

async function opened(address: string): Promise<PostgresStore> {
  const store = await openPostgresStore(address);
  onTestFinished(() => store.close().catch(() => undefined));
  return store;
}

/** A connection behind the back of the stores, in their schema. */
async function connected(address: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`SET search_path = ${new URL(address).searchParams.get('schema')!}`);
  return client;
}

async function followed(address = newSchema(server)): Promise<{ address: string; store: PostgresStore }> {
  const store = await opened(address);
  const stop = await store.feed.follow(() => undefined);
  onTestFinished(stop);
  return { address, store };
}

/** `a started`, `added 1-2`, `run`. */
function said(body: FeedBody): string {
  if (body.event === undefined) return `${body.id} ${body.type}`;
  return body.event === 'added' ? `added ${body.from_seq}-${body.to_seq}` : body.event;
}

/** All that is there after a place, and the place after that. */
async function readAll({ feed }: PostgresStore, after: string, until?: string) {
  const events: { said: string; place: string }[] = [];
  let next = after;
  for (;;) {
    const page = await feed.read(next, until === undefined ? {} : { until });
    if (page === undefined) return undefined;
    events.push(...page.events.map(({ body, place }) => ({ said: said(body), place })));
    next = page.next;
    if (page.isLast) return { said: events.map((event) => event.said), events, next };
  }
}

/**
 * The place where so many transactions run. Other tests use the same server, and of a transaction that has ended since it would
 * not be known whether its rows were deleted.
 */
async function quietEnd({ feed }: PostgresStore, running: number): Promise<string> {
  let place = '';
  const count = async () => {
    place = await feed.end();
    return place
      .slice(place.lastIndexOf(':') + 1)
      .split(',')
      .filter((xid) => xid !== '').length;
  };
  await expect.poll(count).toBe(running);
  return place;
}

test('what happens to tasks is in the feed in its order, with ids and groups', async () => {
  const { store } = await followed();
  const from = await store.feed.end();
  await store.addTasks('b', tasks('a', 'with\u0000zero', 'c'));
  await store.addItems('b', 1, tasks('a[0]'));
  await store.started('b', 1, 1000);
  await store.attemptFailed('b', 1, {
    startedAt: 1000,
    endedAt: 1100,
    durationMs: 100,
    reason: 'error',
    message: 'secret',
    retryAt: 1600,
  });
  await store.completed('b', [done(2, 'a result'), done(4)]);
  await store.ended('b', 3, { status: 'failed', reason: 'timeout', message: 'secret' }, 1200, 1150);
  await store.cancel('b', 'no more');
  await store.reopen('b', ['c']);
  await store.clear('b');
  const all = (await readAll(store, from))!;
  expect(all.said).toEqual([
    ...['added 1-3', 'added 4-4', 'a started', 'a retrying'],
    ...['with\u0000zero completed', 'a[0] completed', 'c started', 'c failed'],
    ...['c opened', 'cleared'],
  ]);
  const page = (await store.feed.read(from))!;
  expect(page.events.map(({ body }) => body)).toMatchObject([
    {},
    {},
    { seq: 1, attempt: 1, at: 1000 },
    { seq: 1, attempt: 1, at: 1100, reason: 'error', retry_in_ms: 500 },
    {},
    { seq: 4, group: 'a' },
    { at: 1150 },
    { reason: 'timeout', at: 1200 },
    { seq: 3, attempt: 1 },
    {},
  ]);
  expect(JSON.stringify(page)).not.toContain('secret');
  expect(JSON.stringify(page)).not.toContain('a result');
});

test('reading on from any place gives exactly the rest', async () => {
  const { store } = await followed();
  const from = await store.feed.end();
  await store.addTasks('b', tasks('a', 'b', 'c', 'd'));
  await Promise.all([1, 2, 3].map((seq) => store.started('b', seq, seq)));
  await store.completed('b', [done(1), done(2), done(3)]);
  const all = (await readAll(store, from))!;
  expect(all.said).toHaveLength(7);
  for (const [index, { place }] of all.events.entries())
    expect((await readAll(store, place))!.said).toEqual(all.said.slice(index + 1));
  expect((await readAll(store, all.next))!.said).toEqual([]);
  // Another process reads the same.
  const { said: elsewhere } = (await readAll(store, all.events[2]!.place, all.next))!;
  expect(elsewhere).toEqual(all.said.slice(3));
});

test('a transaction that commits late is neither lost nor waited for', async () => {
  const { address, store } = await followed();
  await store.addTasks('late', tasks('l1', 'l2'));
  await store.addTasks('quick', tasks('q1', 'q2'));
  const client = await connected(address);
  const from = await store.feed.end();
  await client.query('BEGIN');
  const insert = (batch: string, id: string) =>
    client.query('INSERT INTO events (batch, body) VALUES ($1, $2)', [
      batch,
      JSON.stringify([{ id, seq: 1, type: 'started', attempt: 1, at: 0 }]),
    ]);
  await insert('late', 'l1');
  await store.started('quick', 1, 0);
  const first = (await readAll(store, from))!;
  expect(first.said).toEqual(['q1 started']);
  await store.started('quick', 2, 0);
  await insert('late', 'l2');
  await client.query('COMMIT');
  const rest = ['l1 started', 'q2 started', 'l2 started'];
  expect((await readAll(store, first.next))!.said).toEqual(rest);
  // And from within what was read first.
  expect((await readAll(store, first.events[0]!.place))!.said).toEqual(rest);
  // Moved to a server that has read more: what the first had is not repeated, although it lies between.
  const all = (await readAll(store, from))!;
  expect(all.said).toEqual(['l1 started', 'q1 started', 'q2 started', 'l2 started']);
  expect((await readAll(store, first.events[0]!.place, all.next))!.said).toEqual(rest);
});

test('nothing is written before somebody follows, and a place from before that is not of this feed', async () => {
  const address = newSchema(server);
  const store = await opened(address);
  const before = await store.feed.end();
  await store.addTasks('b', tasks('a'));
  const client = await connected(address);
  const rows = async () => (await client.query('SELECT count(*)::int AS n FROM events')).rows[0].n;
  expect(await rows()).toBe(0);
  const stop = await store.feed.follow(() => undefined);
  expect(await store.feed.read(before)).toBeUndefined();
  const place = await store.feed.end();
  await store.started('b', 1, 0);
  expect((await readAll(store, place))!.said).toEqual(['a started']);
  stop();
  // For a while it goes on: whoever followed may come back.
  await store.completed('b', [done(1)]);
  expect((await readAll(store, place))!.said).toEqual(['a started', 'a completed']);
  await client.query(`UPDATE feed SET followed_until = now() - interval '1 s'`);
  await store.addTasks('b', tasks('b'));
  expect(await rows()).toBe(2);
  onTestFinished(await store.feed.follow(() => undefined));
  expect(await store.feed.read(place)).toBeUndefined();
});

test('following begins only when no transaction is under way that writes no entries', async () => {
  const address = newSchema(server);
  const [store, other] = [await opened(address), await opened(address)];
  await store.addTasks('b', tasks(...'abcdefghijkl'));
  // So often that the server keeps its plans for the statements.
  for (let seq = 2; seq <= 12; seq++) await other.started('b', seq, 1000);
  const [client, blocking] = [await connected(address), await connected(address)];
  const waiting = async (what: string) =>
    (await client.query(`SELECT 1 FROM pg_locks WHERE NOT granted AND ${what}`)).rowCount;
  await blocking.query('BEGIN');
  const { rows } = await blocking.query('SELECT pg_current_xact_id()::text AS xid FROM states FOR UPDATE');
  // It has found that nobody follows, and waits.
  const starting = other.started('b', 1, 1000);
  await expect.poll(() => waiting(`transactionid = '${rows[0].xid}'`)).toBe(1);
  let isFollowed = false;
  const following = store.feed
    .follow(() => undefined)
    .then((stop) => {
      isFollowed = true;
      onTestFinished(stop);
    });
  await expect.poll(() => waiting(`relation = 'feed'::regclass`), { interval: 5 }).toBe(1);
  expect(isFollowed).toBe(false);
  await blocking.query('COMMIT');
  await Promise.all([starting, following]);
});

test('another process is told of news', async () => {
  const { address, store } = await followed();
  const other = await opened(address);
  let told = 0;
  onTestFinished(
    await other.feed.follow(() => {
      told++;
    }),
  );
  // Once it listens.
  await expect.poll(() => told).toBeGreaterThan(0);
  const before = told;
  await store.addTasks('b', tasks('a'));
  await expect.poll(() => told).toBeGreaterThan(before);
});

test('old entries are deleted by those who write, and a place before them is told so', async () => {
  const { address, store } = await followed();
  const from = await store.feed.end();
  await store.addTasks('b', tasks(...Array.from({ length: 120 }, (_, index) => `t${index}`)));
  const client = await connected(address);
  await client.query(`UPDATE events SET at = now() - interval '1 h'`);
  const place = await quietEnd(store, 0);
  for (let seq = 1; seq <= 110; seq++) await store.started('b', seq, seq);
  await expect.poll(() => store.feed.read(from)).toBeUndefined();
  expect((await readAll(store, place))!.said).toHaveLength(110);
  // So many that only the newest are kept.
  await client.query(`SELECT setval('events_id_seq', 1000000)`);
  for (let seq = 1; seq <= 60; seq++) await store.completed('b', [done(seq)]);
  await expect.poll(() => store.feed.read(place)).toBeUndefined();
});

test('another program that keeps a transaction open hides nothing, also when old entries are deleted', async () => {
  const { address, store } = await followed();
  await store.addTasks('b', tasks('a', 'b'));
  const client = await connected(address);
  await client.query('BEGIN');
  await client.query('SELECT pg_current_xact_id()');
  await store.started('b', 1, 0);
  const place = await quietEnd(store, 1);
  const other = await connected(address);
  await other.query(`UPDATE feed SET trimmed = pg_current_xact_id() WHERE false`);
  await other.query(`DELETE FROM events`);
  await other.query(
    `UPDATE feed SET trimmed = (split_part(split_part($1, '/', 2), ':', 2)::bigint - 1)::text::xid8`,
    [place],
  );
  await store.started('b', 2, 0);
  expect((await readAll(store, place))!.said).toEqual(['b started']);
  await client.query('COMMIT');
});

test.each([
  ['nonsense', 'x'],
  ['nothing', ''],
  ['a number of another kind of store', 'abcdefabcdef-3'],
  ['another feed', '0123456789ab/1:1:'],
  ['a snapshot that cannot be', 'TOKEN/9:3:'],
  ['a list that cannot be', 'TOKEN/3:9:7,5'],
  ['the future', 'TOKEN/900000000:900000000:'],
  ['the future of the second snapshot', 'TOKEN/3:3:/900000000:900000000:/1.0'],
  ['very long text', `TOKEN/3:9:${'4,'.repeat(100_000)}5`],
])('a place of %s is not of this feed', async (_, text) => {
  const { store } = await followed();
  const [token] = (await store.feed.end()).split('/');
  expect(await store.feed.read(text.replace('TOKEN', token!))).toBeUndefined();
});

test('a backup, which reads all tables in one transaction, does not keep a feed from being begun', async () => {
  const address = newSchema(server);
  const store = await opened(address);
  await store.addTasks('b', tasks('a'));
  const backup = await connected(address);
  await backup.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  await backup.query('LOCK TABLE feed, events, batches, tasks, states IN ACCESS SHARE MODE');
  onTestFinished(await store.feed.follow(() => undefined));
  const from = await store.feed.end();
  await store.started('b', 1, 1000);
  expect((await readAll(store, from))?.said).toEqual(['a started']);
});
