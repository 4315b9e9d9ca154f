import { execFileSync } from 'node:child_process';
import { appendFileSync, chownSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type OwnPostgres, startPostgres } from '../../scripts/start-postgres.ts';
import { checkPostgres } from '../../src/store/postgres/check.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { newSchema } from './support/postgres.ts';
import { counts, tasks, temporaryFolder } from './support/store.ts';

/** An address of this machine that nobody else listens on. */
const HOST = `127.${process.pid % 250}.${Math.floor(process.pid / 250) % 250}.7`;

/** Its own: its rules and certificates are changed. */
let server: OwnPostgres;
beforeAll(async () => {
  server = await startPostgres({ listen_addresses: HOST });
});
afterAll(() => server.remove());

/** Runs statements behind the back of the store. */
async function sql(...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: server.address });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Opens a store, and says what a user would see. */
async function problemOf(address: string): Promise<unknown> {
  const store = await openPostgresStore(address).catch((reason: unknown) => reason);
  if (store instanceof Error) return store;
  await (store as Awaited<ReturnType<typeof openPostgresStore>>).close();
  return undefined;
}

/** Writes files that only the server may read. */
function giveToServer(...files: readonly string[]): void {
  const { uid, gid } = statSync(join(server.folder, 'data'));
  for (const file of files) chownSync(file, uid, gid);
}

describe('a login', () => {
  it('with a wrong password is refused with what to check, and the right one is accepted', async () => {
    const rules = join(server.folder, 'data', 'pg_hba.conf');
    const before = readFileSync(rules, 'utf8');
    writeFileSync(rules, `host all guarded all scram-sha-256\n${before}`);
    await sql(
      `CREATE ROLE guarded LOGIN PASSWORD 'right'`,
      'CREATE SCHEMA guarded AUTHORIZATION guarded',
      'SELECT pg_reload_conf()',
    );
    const address = (password: string) => `postgres://guarded:${password}@${HOST}/postgres?schema=guarded`;
    await expect
      .poll(() => problemOf(`postgres://guarded@${HOST}/postgres`))
      .toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(/asks for a password.*PGPASSWORD/),
      });
    await expect
      .poll(() => problemOf(address('wrong')))
      .toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(/guarded.*login was refused.*PGPASSWORD/),
      });
    await expect(checkPostgres(address('wrong'))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    const error = (await problemOf(address('wrong'))) as Error;
    expect(JSON.stringify([error.message, error])).not.toContain('wrong');
    expect(await problemOf(address('right'))).toBeUndefined();
  });
});

describe('TLS', () => {
  it('is used and checked as the address says', async () => {
    const folder = temporaryFolder();
    const data = join(server.folder, 'data');
    const certificate = (name: string, to: string) =>
      execFileSync(
        'openssl',
        [
          'req',
          '-x509',
          '-newkey',
          'rsa:2048',
          '-nodes',
          '-days',
          '2',
          '-subj',
          `/CN=${name}`,
          '-addext',
          `subjectAltName=IP:${HOST}`,
          '-keyout',
          join(to, 'server.key'),
          '-out',
          join(to, 'server.crt'),
        ],
        { stdio: 'ignore' },
      );
    certificate('the server', data);
    certificate('another one', folder);
    giveToServer(join(data, 'server.key'), join(data, 'server.crt'));
    appendFileSync(join(data, 'postgresql.auto.conf'), "ssl = 'on'\n");
    await sql('SELECT pg_reload_conf()');
    const schema = new URL(newSchema(server.address)).searchParams.get('schema');
    const address = (options: string) =>
      `postgres://${server.user}@${HOST}/postgres?schema=${schema}&${options}`;
    const root = `sslmode=verify-full&sslrootcert=${join(data, 'server.crt')}`;
    await expect.poll(() => problemOf(address(root))).toBeUndefined();
    expect(await problemOf(address('sslmode=require'))).toBeUndefined();
    expect((await checkPostgres(address(root))).warnings.join()).not.toContain('not encrypted');
    for (const refused of [
      `sslmode=verify-full&sslrootcert=${join(folder, 'server.crt')}`,
      'sslmode=verify-full',
    ])
      expect(await problemOf(address(refused))).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(/self[- ]signed certificate/),
      });
  });
});

describe('a server that cannot write', () => {
  it.each([
    ['a full disk', '53100', /disk of the server is full/],
    ['a statement that takes too long', '57014', /took too long/],
    ['a lock that is not released', '55P03', /held a lock for too long/],
    ['a missing right', '42501', /lacks a right.*docs\/store\.md/],
    ['a server that is a standby', '25006', /address of the primary/],
  ])('because of %s says so, and what was not written is not there', async (_name, code, text) => {
    const address = newSchema(server.address);
    const schema = new URL(address).searchParams.get('schema')!;
    const store = await openPostgresStore(address);
    onTestFinished(() => store.close());
    await store.addTasks('b', tasks(1));
    await sql(
      `CREATE FUNCTION ${schema}.fail() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'as the server says it' USING ERRCODE = '${code}'; END $$`,
      `CREATE TRIGGER fail BEFORE INSERT ON ${schema}.tasks EXECUTE FUNCTION ${schema}.fail()`,
    );
    await expect(store.addTasks('b', tasks(3, 'other'))).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(text),
    });
    await sql(`DROP TRIGGER fail ON ${schema}.tasks`);
    expect(await counts(store, 'b')).toEqual({ open: 1 });
    await store.addTasks('b', tasks(1, 'later'));
    expect(await counts(store, 'b')).toEqual({ open: 2 });
  });
});
