import { createServer, type Socket } from 'node:net';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type OwnPostgres, startPostgres } from '../../scripts/start-postgres.ts';
import { checkPostgres } from '../../src/store/postgres/check.ts';
import type { Database } from '../../src/store/postgres/connection.ts';
import { openPostgresStore, type PostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { FaultyNetwork } from '../cluster/support/proxy.ts';
import { newSchema } from './support/postgres.ts';
import { counts, done, statuses, task, tasks } from './support/store.ts';

/** Its own: it is restarted. Commits reach the disk. */
let server: OwnPostgres;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

async function opened(address = newSchema(server.address)): Promise<PostgresStore> {
  const store = await openPostgresStore(address);
  onTestFinished(() => store.close().catch(() => undefined));
  return store;
}

/** Runs statements behind the back of the store. */
async function sql(text: string, address = server.address): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

const schemaOf = (address: string) => new URL(address).searchParams.get('schema')!;

/** A way to the server that is cut right after a commit has passed it: before the answer comes back. */
async function cutAtCommit(): Promise<{
  address: string;
  /** Before the next commit is answered, or as soon as it was sent. */
  cutNext(when?: 'answered' | 'sent'): void;
  cuts(): number;
}> {
  let [isArmed, isAtOnce, count] = [false, false, 0];
  const sockets = new Set<Socket>();
  const proxy = createServer((near) => {
    const far = new (near.constructor as typeof Socket)();
    far.connect(`${server.folder}/.s.PGSQL.5432`);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
    near.on('data', (data) => {
      far.write(data);
      // The name of a statement that was prepared before is all that is sent: the commit is the shortest message.
      const isSent = isCommit(data);
      if (!isArmed || !isSent) return;
      isArmed = false;
      count++;
      if (isAtOnce) {
        near.destroy();
        return;
      }
      far.removeAllListeners('data');
      far.once('data', () => near.destroy());
    });
    far.on('data', (data) => near.write(data));
  });
  let commitName = '';
  const isCommit = (data: Buffer) => {
    const text = data.toString('latin1');
    const prepared = /P....(\w+)\0COMMIT\0/s.exec(text);
    if (prepared !== null) commitName = prepared[1]!;
    return commitName !== '' && text.includes(`\0${commitName}\0`);
  };
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  const { port } = proxy.address() as { port: number };
  return {
    address: `postgres://${server.user}@127.0.0.1:${port}/postgres`,
    cutNext: (when = 'answered') => {
      isArmed = true;
      isAtOnce = when === 'sent';
    },
    cuts: () => count,
  };
}

describe('a PostgreSQL server', () => {
  it('that is restarted under load loses nothing that was reported as safe, and holds nobody up', async () => {
    const store = await opened();
    await store.addTasks('b', tasks(300));
    const kept: number[] = [];
    const writing = (async () => {
      for (let seq = 1; seq <= 300; seq += 3) {
        const seqs = [seq, seq + 1, seq + 2];
        await Promise.all(seqs.map((one) => store.ended('b', one, done(`${one}`), 2, 1)));
        kept.push(...seqs);
      }
    })();
    for (const end of [server.kill, server.stop]) {
      const before = kept.length;
      await expect.poll(() => kept.length).toBeGreaterThan(before);
      await end();
      await server.start();
      expect((await store.batch('b'))!.counts.completed).toBeGreaterThanOrEqual(before);
    }
    await writing;
    expect(await counts(store, 'b')).toEqual({ completed: 300 });
    expect(await store.result('b', 't300')).toBe('300');
  });

  it('that does not say whether it has committed is asked, and nothing is written twice', async () => {
    const way = await cutAtCommit();
    const store = await opened(`${way.address}?schema=${schemaOf(newSchema(server.address))}`);
    await store.addTasks('b', tasks(1));
    for (let round = 0; round < 5; round++) {
      way.cutNext();
      // Repeated, it would be refused: the ids are known.
      await store.addTasks('b', [task(`round ${round}`)]);
    }
    expect(way.cuts()).toBe(5);
    expect(await counts(store, 'b')).toEqual({ open: 6 });
  });

  it.each([
    ['', 'SELECT 1'],
    [
      ', also if its row was removed because the writer was silent for long',
      'DELETE FROM writers WHERE id <> 0',
    ],
  ])(
    'that is still at work when the connection is lost is waited for, and nothing is written twice%s',
    async (_name, before) => {
      const way = await cutAtCommit();
      const schema = schemaOf(newSchema(server.address));
      const store = await opened(`${way.address}?schema=${schema}`);
      await store.addTasks('b', tasks(1));
      await store.started('b', 1, 1);
      const client = new pg.Client({ connectionString: server.address });
      await client.connect();
      onTestFinished(() => client.end());
      await client.query(`SET search_path TO ${schema}`);
      await client.query(before);
      await client.query('BEGIN');
      await client.query('SELECT 1 FROM states FOR UPDATE');
      way.cutNext('sent');
      // The server waits for the row, with the commit in its queue.
      const ending = store.ended('b', 1, done(), 2);
      await expect
        .poll(() =>
          sql(
            `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INTO writers%RETURNING last'`,
          ),
        )
        .toHaveLength(1);
      await client.query('COMMIT');
      // Repeated, it would be refused: the task has ended.
      await ending;
      expect([way.cuts(), await counts(store, 'b')]).toEqual([1, { completed: 1 }]);
    },
  );

  it.each(['cut', 'silence'] as const)(
    'that cannot be reached (%s) does not hold up a store that closes',
    async (fault) => {
      const network = await FaultyNetwork.before(`${server.folder}/.s.PGSQL.5432`);
      onTestFinished(() => network.close());
      const url = `postgres://${server.user}@127.0.0.1:${network.port}/postgres`;
      const store = await openPostgresStore(`${url}?schema=${schemaOf(newSchema(server.address))}`, {
        heartbeatMs: 100,
        leaseMs: 1000,
      });
      await store.addTasks('b', tasks(1));
      await store.lease('b');
      network[fault]();
      const begunAt = performance.now();
      await store.close().catch(() => undefined);
      // Without a limit it takes more than a minute.
      expect(performance.now() - begunAt).toBeLessThan(25_000);
    },
    120_000,
  );

  it('that is gone is reported when nothing has helped, without its password', async () => {
    const missing = 'postgres://someone:secret@127.0.0.1:1/nowhere';
    const error = await openPostgresStore(missing).catch((reason) => reason);
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(JSON.stringify([error.message, error.details])).not.toContain('secret');
  });

  it.each([
    ['no database of this name', (address: string) => address.replace('/postgres?', '/nowhere?'), 'nowhere'],
    ['no user of this name', (address: string) => address.replace('user=volley', 'user=nobody'), 'nobody'],
    ['no encryption', (address: string) => `${address}&sslmode=require`, 'SSL'],
    ['no name', () => 'postgres://volley@nowhere.invalid/volley', 'nowhere.invalid'],
    [
      'a certificate that is missing',
      (address: string) => `${address}&sslrootcert=/nowhere/ca.pem`,
      "available: ENOENT: no such file or directory, open '/nowhere/ca.pem'",
    ],
  ])('that has %s says so', async (_name, change, word) => {
    const error = await openPostgresStore(change(newSchema(server.address))).catch((reason) => reason);
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining(word) });
  });

  it('needs no superuser: a role that owns its schema is enough', async () => {
    await sql('CREATE ROLE plain LOGIN; CREATE SCHEMA plain AUTHORIZATION plain');
    const address = server.address.replace('user=volley', 'user=plain');
    const store = await opened(`${address}&schema=plain`);
    await store.addTasks('b', tasks(1));
    expect(await statuses(store, 'b')).toEqual({ t1: 'open' });
    // Another schema would need a right that it does not have.
    await expect(openPostgresStore(`${address}&schema=other`)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
    expect((await checkPostgres(`${address}&schema=plain`)).warnings).toEqual([]);
    expect((await checkPostgres(newSchema(server.address))).warnings).toHaveLength(1);
  });
});

describe('the schema of a PostgreSQL store', () => {
  it('is made once by all who open it at the same moment', async () => {
    const address = newSchema(server.address);
    const stores = await Promise.all([opened(address), opened(address), opened(address)]);
    await Promise.all(stores.map((store, index) => store.addTasks('b', [task(`t${index}`)])));
    expect(await counts(stores[0]!, 'b')).toEqual({ open: 3 });
  });

  it('of a newer format, or of another program, is left alone', async () => {
    const address = newSchema(server.address);
    await (await opened(address)).close();
    await sql(`UPDATE ${schemaOf(address)}.format SET version = 999`);
    await expect(openPostgresStore(address)).rejects.toMatchObject({
      code: 'STORE_NEWER',
      details: { version: 999 },
    });
    const foreign = newSchema(server.address);
    await sql(`CREATE SCHEMA ${schemaOf(foreign)}; CREATE TABLE ${schemaOf(foreign)}.accounts (id integer)`);
    await expect(openPostgresStore(foreign)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(
      await sql(`SELECT count(*)::integer FROM pg_tables WHERE schemaname = '${schemaOf(foreign)}'`),
    ).toEqual([{ count: 1 }]);
  });
});

describe('an address', () => {
  it.each(['sslmode=verify', 'schema=A', 'schema=pg_volley', 'schema=a"b'])(
    'with %s is refused with what is possible',
    async (option) => {
      await expect(openPostgresStore(`${server.address}&${option}`)).rejects.toMatchObject({
        code: 'INVALID_VALUE',
      });
    },
  );

  it('may name a schema with a word of SQL', async () => {
    const store = await opened(`${server.address}&schema=user`);
    await store.addTasks('b', tasks(1));
    expect(await counts(store, 'b')).toEqual({ open: 1 });
  });
});

describe('a role whose transactions are serializable by default', () => {
  it('shares the work of a batch like any other', async () => {
    await sql(
      'CREATE ROLE strict LOGIN SUPERUSER; ALTER ROLE strict SET default_transaction_isolation = serializable',
    );
    const address = newSchema(server.address.replace('user=volley', 'user=strict'));
    const [one, two] = [await opened(address), await opened(address)];
    await one.addTasks('b', tasks(40));
    const ends = Array.from({ length: 40 }, (_, index) =>
      (index % 2 === 0 ? one : two).ended('b', index + 1, done(), 2, 1),
    );
    await Promise.all(ends);
    expect(await counts(one, 'b')).toEqual({ completed: 40 });
    const isolation = `SELECT current_setting('transaction_isolation') AS found`;
    const { database } = one as unknown as { database: Database };
    expect(await database.once((statements) => statements.rows(isolation))).toEqual([
      { found: 'read committed' },
    ]);
  });
});

describe('a process that stops in the middle of a transaction', () => {
  it('keeps others from its batch for some seconds at most', async () => {
    const address = newSchema(server.address);
    const store = await opened(address);
    await store.addTasks('b', tasks(1));
    const stuck = new pg.Client({ connectionString: server.address });
    stuck.on('error', () => undefined);
    await stuck.connect();
    onTestFinished(() => stuck.end().catch(() => undefined));
    await stuck.query('SET idle_in_transaction_session_timeout = 500');
    await stuck.query('BEGIN');
    await stuck.query(`SELECT * FROM ${schemaOf(address)}.batches FOR UPDATE`);
    await store.started('b', 1, 1);
    expect(await statuses(store, 'b')).toEqual({ t1: 'running' });
  });

  it('with synchronous_commit = off may forget in a crash that a task has started', async () => {
    // This is why the documentation warns: whoever continues the batch would start it again.
    const careless = await startPostgres({ synchronous_commit: 'off', wal_writer_delay: '10s' });
    onTestFinished(() => careless.remove());
    const store = await opened(newSchema(careless.address));
    await store.addTasks('b', tasks(1));
    await sql('CHECKPOINT', careless.address);
    await store.started('b', 1, 1);
    await careless.kill();
    await careless.start();
    expect(await statuses(store, 'b')).toEqual({ t1: 'open' });
  });
});

describe('a lease', () => {
  const leaseMs = 1500;
  /** Waits until a lease was renewed again, at least so much later. */
  async function untilRenewed(schema: string, laterMs: number): Promise<void> {
    const seenAt = async () => Number((await sql(`SELECT seen_at FROM ${schema}.leases`))[0]?.['seen_at']);
    const first = await seenAt();
    await expect.poll(async () => (await seenAt()) - first, { timeout: 60_000 }).toBeGreaterThan(laterMs);
  }

  it('is renewed while long reads take all connections for reads', async () => {
    const address = newSchema(server.address);
    const store = await openPostgresStore(address, { leaseMs, heartbeatMs: 100 });
    onTestFinished(() => store.close().catch(() => undefined));
    await store.addTasks('b', tasks(1));
    const { lost } = await store.lease('b');
    const other = new pg.Client({ connectionString: server.address });
    await other.connect();
    onTestFinished(() => other.end());
    await other.query('BEGIN');
    await other.query(`LOCK TABLE ${schemaOf(address)}.results`);
    const reads = Array.from({ length: 8 }, () => store.results('b', ['t1']));
    await untilRenewed(schemaOf(address), 2 * leaseMs);
    expect(lost.aborted).toBe(false);
    await other.query('COMMIT');
    await Promise.all(reads);
  });

  it('is renewed although the server has no connection left for that', async () => {
    await sql('CREATE ROLE thrifty LOGIN CONNECTION LIMIT 2; CREATE SCHEMA thrifty AUTHORIZATION thrifty');
    const address = server.address.replace('user=volley', 'user=thrifty');
    const store = await openPostgresStore(`${address}&schema=thrifty`, { leaseMs, heartbeatMs: 100 });
    onTestFinished(() => store.close().catch(() => undefined));
    await store.addTasks('b', tasks(1));
    const { lost } = await store.lease('b');
    await untilRenewed('thrifty', 2 * leaseMs);
    expect(lost.aborted).toBe(false);
  });

  it('and the work under it go on when the network forgets the connections', {
    timeout: 120_000,
  }, async () => {
    const network = await FaultyNetwork.before(`${server.folder}/.s.PGSQL.5432`);
    onTestFinished(() => network.close());
    const schema = schemaOf(newSchema(server.address));
    const url = `postgres://${server.user}@127.0.0.1:${network.port}/postgres?schema=${schema}`;
    const store = await openPostgresStore(url, { leaseMs: 30_000, heartbeatMs: 100 });
    onTestFinished(() => store.close().catch(() => undefined));
    await store.addTasks('b', tasks(2));
    const { lost } = await store.lease('b');
    await store.started('b', 1, 1);
    await untilRenewed(schema, 0);
    network.silence();
    const begunAt = performance.now();
    await Promise.all([store.ended('b', 1, done(), 2), store.started('b', 2, 2)]);
    expect(await statuses(store, 'b')).toEqual({ t1: 'completed', t2: 'running' });
    // Without looking after them, the statements would have been given up after a minute.
    expect(performance.now() - begunAt).toBeLessThan(30_000);
    expect(lost.aborted).toBe(false);
  });
});

describe('a holder that gave its batch back while something was under way', () => {
  it('writes nothing more to it once another runs it', async () => {
    const address = newSchema(server.address);
    const [one, two] = [await opened(address), await opened(address)];
    await one.addTasks('b', tasks(3));
    const lease = await one.lease('b');
    await one.started('b', 1, 1);
    await lease.release();
    // Nobody has read the batch yet.
    await one.delivered('b', 2, 0, [{ index: -1, at: 1 }]);
    await two.lease('b', { continues: true });
    const late = await Promise.allSettled([
      one.delivered('b', 2, 1, [{ index: 0, at: 2 }]),
      one.addItems('b', 2, [task('t2[0]')]),
      one.logged('b', 2, 'late'),
      one.started('b', 3, 2),
      one.ended('b', 1, done(), 2),
    ]);
    expect(late.map((answer) => (answer.status === 'rejected' ? answer.reason.code : 'kept'))).toEqual(
      Array.from({ length: 5 }, () => 'BATCH_HELD'),
    );
    expect(await statuses(one, 'b')).toEqual({ t1: 'running', t2: 'open', t3: 'open' });
    expect(await two.deliveries('b', 2, 0, 9)).toEqual([{ index: -1, at: 1 }]);
    // Others may add tasks.
    await one.addTasks('b', [task('more')]);
  });
});

describe('a holder whose lease has ended without its knowing', () => {
  it('does not begin what it has just recorded as started', async () => {
    const leaseMs = 200;
    const store = await openPostgresStore(newSchema(server.address), { leaseMs, heartbeatMs: 3_600_000 });
    onTestFinished(() => store.close());
    await store.addTasks('b', tasks(1));
    const { lost } = await store.lease('b');
    const leasedAt = performance.now();
    await expect.poll(() => performance.now() - leasedAt).toBeGreaterThan(leaseMs);
    await expect(store.started('b', 1, 1)).rejects.toMatchObject({ code: 'BATCH_HELD' });
    expect(lost.aborted).toBe(true);
    // So the next holder knows that it may have begun.
    expect(await statuses(store, 'b')).toEqual({ t1: 'running' });
  });
});
