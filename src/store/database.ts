import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  openSync,
  readdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { makeFolder } from './make-folder.ts';
import { checkedVersion, MIGRATIONS, migrate } from './migrations.ts';
import { isBusy, needsWriting, storeError, unavailable } from './store-error.ts';

/** How long to wait for another process's lock before failing. */
const BUSY_MS = 30_000;
/** The wait while opening the file and for reads, when others hold locks only briefly. */
const BUSY_TIMEOUT_MS = 5000;
const FIRST_PAUSE_MS = 1;
const MAX_PAUSE_MS = 8;

/** The number of log pages that triggers a checkpoint. A page that was written often is copied only once. */
const CHECKPOINT_PAGES = 4000;

/** The default path of the file. */
const OWN_FOLDER = '.volley';

/** The schema name of the file in statements. */
const SCHEMA = 'store';

/** One file with a write connection and a read connection: uncommitted writes are not visible to reads. */
export interface Database {
  readonly file: string;
  readonly writer: DatabaseSyncInstance;
  readonly reader: DatabaseSyncInstance;
  /** Creates the file, if that was deferred to the first write. Call it once; until then everything is empty. */
  readonly make?: () => Promise<void>;
}

/** Opens or creates the file and its folder, and migrates it to the latest version. */
export async function openDatabase(path: string, migrations = MIGRATIONS): Promise<Database> {
  const file = resolve(path);
  try {
    makeOwnFolder(dirname(file));
  } catch (error) {
    throw unavailable(file, `its folder cannot be created (${(error as Error).message})`, error);
  }
  const writer = connect();
  const reader = connect();
  try {
    makePrivateFile(file);
    await whenFree(() => {
      attach(writer, file);
      checkedVersion(writer, file, migrations.at(-1)!.version);
      setUp(writer, file);
      migrate(writer, file, migrations);
      attach(reader, file);
    });
    restrict({ writer, reader });
    return { file, writer, reader };
  } catch (error) {
    closeDatabase({ file, writer, reader });
    if (needsWriting(error) && !isWritable(file)) return openReadOnly(file, migrations);
    throw storeError(error, file);
  }
}

/**
 * Opens a file that cannot be written, for reading: all writes are rejected. SQLite reads the log next to it if there
 * is one with its shared memory. Without a log no process writes to the file, so it needs neither.
 */
function openReadOnly(file: string, migrations: typeof MIGRATIONS): Database {
  const { version: newest } = migrations.at(-1)!;
  const hasLog = (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  const place = hasLog ? file : `${pathToFileURL(file).href}?immutable=1`;
  const database = { file, writer: connect(), reader: connect() };
  try {
    for (const connection of [database.writer, database.reader]) attach(connection, place);
    if (checkedVersion(database.reader, file, newest) < newest) {
      throw unavailable(file, 'it has an older format and must be upgraded, but it is read-only');
    }
    restrict(database);
    return database;
  } catch (error) {
    closeDatabase(database);
    if (!hasLog || !needsWriting(error)) throw storeError(error, file);
    throw unavailable(
      file,
      `its log ${file}-wal cannot be read in a read-only folder. Copy the folder and open the copy`,
      error,
    );
  }
}

function isWritable(file: string): boolean {
  try {
    accessSync(file, constants.W_OK);
    accessSync(dirname(file), constants.W_OK);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/** An empty in-memory database, for reading a file that does not exist. Creates nothing. */
export function emptyDatabase(path: string): Database {
  const connection = connect();
  attach(connection, ':memory:');
  migrate(connection, path);
  return { file: resolve(path), writer: connection, reader: connection };
}

/**
 * A database whose file and folder are created by the first write: a request that is rejected earlier leaves nothing
 * behind.
 */
export function lateDatabase(path: string): Database {
  const { file, writer } = emptyDatabase(path);
  const { writer: reader } = emptyDatabase(path);
  const make = async () => {
    // Other problems surface when the file is opened, with both still unchanged.
    const made = await openDatabase(file);
    try {
      for (const connection of [writer, reader]) {
        connection.exec(`DETACH ${SCHEMA}`);
        attach(connection, file);
      }
      setUp(writer, file);
      restrict({ writer, reader });
    } finally {
      closeDatabase(made);
    }
  };
  return { file, writer, reader, make };
}

/** From here on, wait for locks by retrying later instead of blocking the event loop. */
function restrict({ writer, reader }: Pick<Database, 'writer' | 'reader'>): void {
  writer.exec('PRAGMA busy_timeout = 0');
  reader.exec('PRAGMA query_only = 1');
}

/**
 * Makes our own folder private to the user. A folder that is new, or that the sandbox made to cover it, is excluded
 * from git; other folders may contain files that belong there.
 */
function makeOwnFolder(folder: string): void {
  if (basename(folder) !== OWN_FOLDER) {
    makeFolder(folder);
    return;
  }
  makeFolder(folder, 0o700);
  tighten(folder);
  if (readdirSync(folder).length === 0) writeFileSync(join(folder, '.gitignore'), '*\n');
}

/** Results may contain anything, so the file is private to the user. SQLite uses its mode for the files next to it. */
function makePrivateFile(file: string): void {
  try {
    closeSync(openSync(file, 'a', 0o600));
  } catch {
    // Opening the file reports the reason.
  }
  for (const each of [file, `${file}-wal`, `${file}-shm`]) tighten(each);
}

/** Removes other users' access to a file or folder of this user; does not follow links. */
function tighten(path: string): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (
    stats === undefined ||
    stats.isSymbolicLink() ||
    stats.uid !== process.getuid?.() ||
    (stats.mode & 0o077) === 0
  )
    return;
  try {
    chmodSync(path, stats.mode & 0o700);
  } catch {
    // The file system is read-only or has no modes.
  }
}

/** Closes both connections. The last connection of all processes removes the -wal and -shm files. */
export function closeDatabase({ reader, writer }: Database): void {
  for (const connection of new Set([reader, writer])) {
    try {
      if (isAttached(connection)) connection.exec(`DETACH ${SCHEMA}`);
    } finally {
      connection.close();
    }
  }
}

/**
 * A connection to an in-memory database with the file attached. SQLite releases a file it was opened with only when all
 * statements are finalized, which is up to the garbage collector; it releases an attached one at once.
 */
function connect(): DatabaseSyncInstance {
  return new DatabaseSync(':memory:', { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true });
}

function attach(connection: DatabaseSyncInstance, file: string): void {
  if (!isAttached(connection)) connection.prepare(`ATTACH ? AS ${SCHEMA}`).run(file);
}

function isAttached(connection: DatabaseSyncInstance): boolean {
  return connection.location(SCHEMA) !== null;
}

/**
 * With a write-ahead log and `synchronous = NORMAL`, a commit is handed to the operating system: killing the process
 * loses nothing. A power failure may lose the last commits (since the last checkpoint), whole and in order; it never
 * damages the file. `FULL` would make each commit wait for the disk.
 */
function setUp(connection: DatabaseSyncInstance, file: string): void {
  // Takes effect only while the file is empty.
  connection.exec(`PRAGMA ${SCHEMA}.auto_vacuum = INCREMENTAL`);
  const row = connection.prepare(`PRAGMA ${SCHEMA}.journal_mode = WAL`).get() as { journal_mode: string };
  if (row.journal_mode !== 'wal') {
    throw unavailable(
      file,
      'its file system does not support a write-ahead log. Use a folder on a local disk',
    );
  }
  connection.exec(`PRAGMA ${SCHEMA}.synchronous = NORMAL; PRAGMA ${SCHEMA}.cache_size = -16000`);
  connection.exec(`PRAGMA ${SCHEMA}.wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
}

/** Pages that are given back at once: some milliseconds. */
const PAGES_PER_STEP = 500;
/** Fewer free pages are left for what is added next. */
const MIN_FREE_PAGES = 256;
/** A file from an earlier version is rewritten if at most this many pages are in use: some tenths of a second. */
const MAX_REWRITTEN_PAGES = 8192;

/**
 * The pages of a file that deleted data has left free. SQLite uses them for new data; giving them back makes the file
 * smaller.
 */
export class FreePages {
  constructor(private readonly writer: DatabaseSyncInstance) {}

  /** Gives some pages back, in the current transaction. Returns whether there are more. */
  shrink(): boolean {
    if (!this.isIncremental || this.count('freelist_count') <= MIN_FREE_PAGES) return false;
    this.writer.exec(`PRAGMA ${SCHEMA}.incremental_vacuum(${PAGES_PER_STEP})`);
    return this.count('freelist_count') > MIN_FREE_PAGES;
  }

  /** Makes the file as small as its content. Call it outside a transaction. Does nothing while others use the file. */
  finish(): void {
    try {
      if (!this.isIncremental) this.rewrite();
      this.writer.exec(`PRAGMA ${SCHEMA}.wal_checkpoint(TRUNCATE)`);
    } catch (error) {
      if (!isBusy(error)) throw error;
    }
  }

  /** Files of earlier versions cannot give pages back before they were rewritten once. */
  private rewrite(): void {
    const free = this.count('freelist_count');
    if (free <= MIN_FREE_PAGES || this.count('page_count') - free > MAX_REWRITTEN_PAGES) return;
    this.writer.exec(`VACUUM ${SCHEMA}`);
  }

  private get isIncremental(): boolean {
    return this.count('auto_vacuum') === 2;
  }

  private count(pragma: string): number {
    const row = this.writer.prepare(`PRAGMA ${SCHEMA}.${pragma}`).get() as Record<string, number>;
    return row[pragma]!;
  }
}

/** Runs several writes in a savepoint of a shared transaction; they are undone if one of them fails. */
export function undoable<T>(writer: DatabaseSyncInstance, run: () => T): T {
  writer.exec('SAVEPOINT list');
  try {
    const value = run();
    writer.exec('RELEASE list');
    return value;
  } catch (error) {
    if (writer.isTransaction) writer.exec('ROLLBACK TO list; RELEASE list');
    throw error;
  }
}

/** Retries while another process holds the lock. */
export async function whenFree(run: () => void): Promise<void> {
  const deadline = performance.now() + BUSY_MS;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    try {
      run();
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
    }
    await sleep(pauseMs);
  }
}

/**
 * Whether a path still leads to the opened file. SQLite would keep writing to a deleted file, and everything would be
 * lost with the process.
 */
export class FileWatch {
  private readonly identity: string | undefined;

  constructor(private readonly file: string) {
    this.identity = identityOf(file);
  }

  check(): void {
    if (identityOf(this.file) === this.identity) return;
    throw unavailable(
      this.file,
      'the file was deleted or replaced while it was open. Put it back if you need it, then open the store again',
    );
  }
}

function identityOf(file: string): string | undefined {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}
