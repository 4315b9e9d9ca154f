import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, ClientConfig, Pool, PoolClient, Query, QueryConfig, QueryResult } from 'pg';
import { VolleyError } from '../../core/errors.ts';
import { reasonText } from '../../core/words.ts';
import { type PostgresAddress, parseAddress } from './address.ts';
import { connectError, isFull, isLost, postgresError } from './postgres-error.ts';
import { asStored } from './text.ts';

/** Connections for reads, besides the one that writes. */
const MAX_READERS = 4;
/** Idle ones are closed after this. */
const IDLE_MS = 60_000;
const CONNECT_MS = 10_000;
/** How long to wait for an answer about leases before another connection is tried, too, and how long at all. */
const URGENT_MS = 1500;
const DEAD_MS = 5000;
/** A connection that is silent for this long is probed: what lies between may forget it without a word. */
const KEEP_ALIVE_MS = 10_000;
/** How long a statement may take, and how long it may wait for the locks of other processes. */
const STATEMENT_MS = 60_000;
const LOCK_MS = 20_000;
/** A process that stops in the middle of a transaction keeps others from its batches for this long at most. */
const IDLE_IN_TRANSACTION_MS = 5000;
/** When the server does not answer at all, the connection is given up a little later than it would have ended the statement. */
const QUERY_MS = STATEMENT_MS + 5000;
/** How long each step of closing waits for a server that does not answer. */
export const GOODBYE_MS = 2000;
/** How long to go on when the server cannot be reached: it may be restarted. */
const RETRY_MS = 30_000;
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 1000;
/** When a connection for notifications is made again. */
const LISTEN_AGAIN_MS = 500;

/**
 * Each statement looks rows up by keys. The planner would scan the whole table instead where it takes that for small, and
 * keep to it while the table grows. What a transaction reads after it waited for a lock must be what was committed meanwhile,
 * whatever the default of the role.
 */
const SETTINGS = {
  default_transaction_isolation: 'read committed',
  statement_timeout: String(STATEMENT_MS),
  lock_timeout: String(LOCK_MS),
  idle_in_transaction_session_timeout: String(IDLE_IN_TRANSACTION_MS),
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
} as const;

const INT8 = 20;
const TEXT = 25;
const NUMERIC = 1700;

type Driver = typeof import('pg')['default'];
type Row = Record<string, unknown>;
export type Value = number | string | boolean | Uint8Array | null | readonly Value[];

/** Runs statements, in order. Those that are not awaited one by one share a round trip. */
export interface Statements {
  /** The rows that it returns. */
  rows<T = Row>(sql: string, ...values: Value[]): Promise<T[]>;
  /** The same, as arrays. */
  arrays<T>(sql: string, ...values: Value[]): Promise<T[]>;
  /** How many rows it changed. */
  run(sql: string, ...values: Value[]): Promise<number>;
}

/** The connections to one PostgreSQL store. */
export class Database {
  private writer: Promise<Client> | undefined;
  private writerUsedAt = 0;
  private isClosed = false;
  /** For reads. */
  private readonly pool: Pool;
  /** For what must not wait for long reads: one connection, and another one while that does not answer. */
  private readonly urgentPool: Pool;
  /** When each connection was heard last. */
  private readonly heardAt = new Map<Client | PoolClient, number>();
  /** When something urgent was answered last. */
  private answeredAt = Number.NEGATIVE_INFINITY;

  private constructor(
    private readonly address: PostgresAddress,
    private readonly pg: Driver,
    private readonly config: ClientConfig,
  ) {
    this.pool = this.newPool(MAX_READERS, config);
    this.urgentPool = this.newPool(2, {
      ...config,
      connectionTimeoutMillis: DEAD_MS,
      query_timeout: DEAD_MS,
    });
  }

  /** Connects once, so that a wrong address is reported at once. */
  static async open(address: string): Promise<Database> {
    const parsed = parseAddress(address);
    const pg = await loadDriver();
    const config: ClientConfig = {
      connectionString: parsed.url,
      application_name: 'volley',
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: QUERY_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      pipeline: true,
      types: { getTypeParser: parserOf(pg) as never },
    };
    const database = new Database(parsed, pg, config);
    try {
      await database.snapshot(async () => undefined, 0);
    } catch (error) {
      await database.close();
      throw error;
    }
    return database;
  }

  /** For messages. */
  get place(): string {
    return this.address.shown;
  }

  get schema(): string {
    return this.address.schema;
  }

  /** One statement on its own. It is repeated when the connection is lost, so it must be safe to repeat. */
  once<T>(work: (statements: Statements) => Promise<T>, retryMs = RETRY_MS): Promise<T> {
    return this.retried(retryMs, async () => this.use(await this.clientOf(this.pool), work));
  }

  /**
   * The same for what must be done in time, such as renewing a lease. If there is no answer soon, it is done once more on another
   * connection, and the first answer counts.
   */
  async urgent<T>(work: (statements: Statements) => Promise<T>): Promise<T> {
    const first = this.urgentOnce(work);
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    await atMost(URGENT_MS, first.then(over, over));
    if (isOver) return first;
    return Promise.any([first, this.urgentOnce(work)]).catch(() => first);
  }

  /**
   * The same for what must not be done twice. If it is not answered at all, and something that was asked later is, other
   * connections that were silent as long are given up: the network has forgotten them, or another server has taken the place of
   * this one.
   */
  async urgentOnce<T>(work: (statements: Statements) => Promise<T>): Promise<T> {
    const begunAt = performance.now();
    try {
      const value = await this.retried(0, async () => this.use(await this.urgentClient(), work));
      this.answeredAt = performance.now();
      return value;
    } catch (error) {
      const hasWaited = performance.now() - begunAt >= DEAD_MS;
      if (hasWaited && this.answeredAt > begunAt + URGENT_MS) this.destroySilent(begunAt);
      throw error;
    }
  }

  /** Several statements that see one committed state. Repeated when the connection is lost. */
  snapshot<T>(read: (statements: Statements) => Promise<T>, retryMs = RETRY_MS): Promise<T> {
    return this.once(async (statements) => {
      const beginning = statements.run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const [value] = await Promise.all([read(statements), beginning]);
      await statements.run('COMMIT');
      return value;
    }, retryMs);
  }

  /**
   * The connection that writes. It is opened again after it was lost, and after it was idle for long; the error of that is not
   * translated.
   */
  async writing(): Promise<Statements> {
    const idleMs = performance.now() - this.writerUsedAt;
    if (this.writer !== undefined && idleMs > IDLE_MS) await this.dropWriter();
    this.writerUsedAt = performance.now();
    this.writer ??= this.openWriter();
    try {
      return new PreparedStatements(await this.writer, this.pg.Query);
    } catch (error) {
      this.writer = undefined;
      throw error;
    }
  }

  /** Gives up the connection that writes: the server rolls back what it had not committed. */
  async dropWriter(): Promise<void> {
    const lost = await this.writer?.catch(() => undefined);
    this.writer = undefined;
    destroy(lost);
  }

  /** Repeats something while the server cannot be reached, for a while. */
  async retried<T>(forMs: number, attempt: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + forMs;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      try {
        return await attempt();
      } catch (error) {
        if (this.isClosed || !isLost(error) || performance.now() + pauseMs > deadline)
          throw postgresError(error, this.place);
      }
      await sleep(pauseMs);
    }
  }

  /** Calls back for each notification on a channel, and once it listens again: meanwhile some may have been lost. */
  listen(channel: string, onNotice: () => void): () => void {
    let isOn = true;
    let timer: NodeJS.Timeout | undefined;
    let client: Client | undefined;
    const connect = async (): Promise<void> => {
      client = undefined;
      try {
        const own = this.newClient();
        client = own;
        own.on('notification', onNotice);
        await own.connect();
        streamOf(own).once('close', again);
        await own.query(`LISTEN ${channel}`);
        onNotice();
      } catch {
        destroy(client);
        again();
      }
    };
    const again = (): void => {
      clearTimeout(timer);
      if (isOn && !this.isClosed) timer = setTimeout(() => void connect(), LISTEN_AGAIN_MS).unref();
    };
    void connect();
    return () => {
      isOn = false;
      clearTimeout(timer);
      destroy(client);
    };
  }

  async close(): Promise<void> {
    this.isClosed = true;
    const writer = await this.writer?.catch(() => undefined);
    this.writer = undefined;
    const ends = [writer, this.pool, this.urgentPool].map((one) => one?.end().catch(() => undefined));
    await atMost(GOODBYE_MS, Promise.all(ends));
    this.destroySilent(Number.POSITIVE_INFINITY);
  }

  private newPool(max: number, config: ClientConfig): Pool {
    const pool = new this.pg.Pool({ ...config, max, idleTimeoutMillis: IDLE_MS, allowExitOnIdle: true });
    // A lost idle connection is replaced by the next read.
    pool.on('error', () => undefined);
    // One that is lost in use fails its query, and says so a second time, also while its settings are made.
    pool.on('connect', (client) => client.on('error', () => undefined));
    return pool;
  }

  private async openWriter(): Promise<Client> {
    let client: Client | undefined;
    try {
      client = this.newClient();
      await client.connect();
      await this.prepare(client);
      return client;
    } catch (error) {
      destroy(client);
      throw connectError(error, this.place);
    }
  }

  /** Throws if a certificate that the address names cannot be read. */
  private newClient(): Client {
    const client = new this.pg.Client(this.config);
    client.on('error', () => undefined);
    return client;
  }

  private async clientOf(pool: Pool): Promise<PoolClient> {
    try {
      // It may throw at once, like newClient.
      return await pool.connect();
    } catch (error) {
      throw connectError(error, this.place);
    }
  }

  private async urgentClient(): Promise<PoolClient> {
    try {
      return await this.clientOf(this.urgentPool);
    } catch (error) {
      if (!isFull(error)) throw error;
      return this.clientOf(this.pool);
    }
  }

  /** Runs statements on a connection, and gives it back. */
  private async use<T>(client: PoolClient, work: (statements: Statements) => Promise<T>): Promise<T> {
    let isBroken = true;
    try {
      if (!prepared.has(client)) await this.prepare(client);
      const value = await work(new PreparedStatements(client, this.pg.Query));
      isBroken = false;
      return value;
    } finally {
      client.release(isBroken);
    }
  }

  private async prepare(client: Client | PoolClient): Promise<void> {
    const settings = Object.entries({ search_path: this.schema, ...SETTINGS });
    await client.query(
      'SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) s (name, value)',
      [settings.map(([name]) => name), settings.map(([, value]) => value)],
    );
    prepared.add(client);
    const stream = streamOf(client);
    const heard = () => this.heardAt.set(client, performance.now());
    heard();
    stream.on('data', heard);
    stream.once('close', () => this.heardAt.delete(client));
  }

  private destroySilent(since: number): void {
    for (const [client, at] of this.heardAt) if (at < since) destroy(client);
  }
}

/** Waits for something, but not longer than this. */
export async function atMost(ms: number, end: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  const late = sleep(ms, undefined, { signal: over.signal }).catch(() => undefined);
  await Promise.race([end, late]).finally(() => over.abort());
}

/** Connections whose settings were made. */
const prepared = new WeakSet<object>();

/** What is escaped in an element of a list. */
const SPECIAL = /["\\]/;
const ALL_SPECIAL = /["\\]/g;

/** The names of prepared statements, by their text: a connection parses and plans each only once. */
const names = new Map<string, string>();

class PreparedStatements implements Statements {
  /**
   * One that returned rows is kept alive: when a garbage collection finds none, as in a pause between two batches, V8
   * discards the optimized code for them, and the next batch would begin slowly.
   */
  private static kept: Query | undefined;
  private readonly stream: Duplex;
  private isCorked = false;

  constructor(
    private readonly client: Client | PoolClient,
    private readonly Query: Driver['Query'],
  ) {
    this.stream = streamOf(client);
  }

  async rows<T>(sql: string, ...values: Value[]): Promise<T[]> {
    const { rows } = await this.query({ name: nameOf(sql), text: sql, values });
    return rows as T[];
  }

  async arrays<T>(sql: string, ...values: Value[]): Promise<T[]> {
    const { rows } = await this.query({ name: `a${nameOf(sql)}`, text: sql, values, rowMode: 'array' });
    return rows as T[];
  }

  async run(sql: string, ...values: Value[]): Promise<number> {
    const { rowCount, command } = await this.query({ name: nameOf(sql), text: sql, values });
    // The server answers the commit of a failed transaction so, and not with an error.
    if (sql === 'COMMIT' && command !== 'COMMIT') throw new Error('The transaction was rolled back.');
    return rowCount ?? 0;
  }

  /** Statements of the same turn are sent at once. */
  private query(config: QueryConfig<Value[]> & { readonly rowMode?: 'array' }): Promise<QueryResult> {
    if (!this.isCorked) {
      this.isCorked = true;
      this.stream.cork();
      process.nextTick(() => {
        this.isCorked = false;
        this.stream.uncork();
      });
    }
    return new Promise((resolve, reject) => {
      const values = (config.values ?? []).map(asParameter);
      const query = new this.Query({ ...config, values }, (error, result) => {
        if (result?.rows.length > 0) PreparedStatements.kept ??= query;
        if (error) reject(error);
        else resolve(result);
      });
      this.client.query(query);
    });
  }
}

/** Lists as PostgreSQL writes them: the driver takes several times as long for them. */
function asParameter(value: Value): Exclude<Value, readonly Value[]> {
  return Array.isArray(value) ? `{${value.map(elementText).join(',')}}` : (value as string);
}

function elementText(value: Value): string {
  if (value === null) return 'NULL';
  if (typeof value === 'string')
    return `"${SPECIAL.test(value) ? value.replace(ALL_SPECIAL, '\\$&') : value}"`;
  if (value instanceof Uint8Array)
    return `"\\\\x${Buffer.from(value.buffer, value.byteOffset, value.length).toString('hex')}"`;
  return String(value);
}

function streamOf(client: Client | PoolClient): Duplex {
  return (client as unknown as { connection: { stream: Duplex } }).connection.stream;
}

function nameOf(sql: string): string {
  let name = names.get(sql);
  if (name === undefined) {
    name = `v${names.size}`;
    names.set(sql, name);
  }
  return name;
}

function destroy(client: Client | PoolClient | undefined): void {
  if (client !== undefined) streamOf(client).destroy();
}

/** 64-bit numbers are safe integers here: times, sizes and keys. */
function parserOf(pg: Driver) {
  return (oid: number, format?: 'text' | 'binary') => {
    if (format === 'binary') return pg.types.getTypeParser(oid, 'binary');
    if (oid === INT8 || oid === NUMERIC) return Number;
    return oid === TEXT ? asStored : pg.types.getTypeParser(oid, 'text');
  };
}

async function loadDriver(): Promise<Driver> {
  try {
    const driver = await import('pg');
    // The bundle of the command line loads it as CommonJS.
    return driver.default ?? (driver as unknown as Driver);
  } catch (error) {
    throw new VolleyError(
      'STORE_UNAVAILABLE',
      `A store in PostgreSQL needs the package pg: npm install pg (${reasonText(error)})`,
    );
  }
}
