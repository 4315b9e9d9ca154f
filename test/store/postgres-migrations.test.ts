import { describe, expect, it, onTestFinished } from 'vitest';
import { Database } from '../../src/store/postgres/connection.ts';
import { openPostgresStore, type PostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { formatOf, migrate, POSTGRES_MIGRATIONS } from '../../src/store/postgres/schema.ts';
import { keyOf } from '../../src/store/rows.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { newSchema } from './support/postgres.ts';
import { counts, statuses, tasks } from './support/store.ts';

const server = await sharedPostgres();
const newest = POSTGRES_MIGRATIONS.at(-1)!.version;
const EARLIER = POSTGRES_MIGRATIONS.slice(0, -1).map(({ version }) => version);

async function connected(address: string): Promise<Database> {
  const database = await Database.open(address);
  onTestFinished(() => database.close());
  return database;
}

async function opened(address: string): Promise<PostgresStore> {
  const store = await openPostgresStore(address);
  onTestFinished(() => store.close());
  return store;
}

/** A store as a Volley of that format left it, with a batch. */
async function storeOf(version: number): Promise<string> {
  const address = newSchema(server);
  const database = await connected(address);
  await migrate(database, POSTGRES_MIGRATIONS.slice(0, version));
  const statements = await database.writing();
  await statements.run(`INSERT INTO batches (id, name, created_at, last_seq, open) VALUES (1, 'b', 1, 1, 1)`);
  const key = keyOf(1, 1);
  const columns = '(key, batch, id, name, function, added_at, params)';
  await statements.run(`INSERT INTO tasks ${columns} VALUES ($1, 1, 't1', 'a', 'look', 1, '{}')`, key);
  await statements.run('INSERT INTO states (key, status, attempts) VALUES ($1, 0, 0)', key);
  await statements.run(`SELECT setval(pg_get_serial_sequence('batches', 'id'), 1)`);
  return address;
}

describe('the formats of a store in PostgreSQL', () => {
  it('are numbered from 1 without gaps', () => {
    expect(POSTGRES_MIGRATIONS.map(({ version }) => version)).toEqual(
      POSTGRES_MIGRATIONS.map((_, index) => index + 1),
    );
  });

  it.each(EARLIER)(
    'are made up for from format %i by one of many who open the store at once',
    async (version) => {
      const address = await storeOf(version);
      const [store, other] = await Promise.all([opened(address), opened(address), opened(address)]);
      expect(await statuses(store, 'b')).toEqual({ t1: 'open' });
      await store.servers.join({ address: 'http://a' });
      expect(await other.servers.list()).toHaveLength(1);
      onTestFinished(await other.feed.follow(() => undefined));
      const from = await other.feed.end();
      await store.lease('b');
      await store.started('b', 1, 1);
      expect((await other.feed.read(from))?.events).toHaveLength(2);
      await store.addTasks('c', tasks(1));
      expect(await counts(other, 'c')).toEqual({ open: 1 });
      expect(await formatOf(await connected(address))).toBe(newest);
    },
  );

  it('are not changed by a step that fails', async () => {
    const address = await storeOf(1);
    const broken = {
      version: 3,
      statements: ['CREATE TABLE later (id integer)', 'INSERT INTO nowhere VALUES (1)'],
    };
    const steps = [...POSTGRES_MIGRATIONS.slice(0, 2), broken];
    await expect(migrate(await connected(address), steps)).rejects.toMatchObject({ code: 'INTERNAL' });
    const database = await connected(address);
    expect(await formatOf(database)).toBe(1);
    const made = `SELECT to_regclass('later') AS later, to_regclass('servers') AS servers`;
    const rows = await database.once((statements) => statements.rows(made));
    expect(rows).toEqual([{ later: null, servers: null }]);
    expect(await statuses(await opened(address), 'b')).toEqual({ t1: 'open' });
  });
});
