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

/** How long others may keep the file locked before that is an error. */
const BUSY_MS = 30_000;
/** While the file is being opened, and for reading: others lock it for moments only then. */
const BUSY_TIMEOUT_MS = 5000;
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 8;

/** When the log has so many pages, they go into the file. A page that was written often by then goes only once. */
const PAGES_OF_LOG = 4000;

/** Where the file is unless the configuration says otherwise. */
const OWN_FOLDER = '.volley';

/** The name by which statements may call the file. */
const SCHEMA = 'store';

/** One file, with a connection to write and one to read: what is being written is not seen before it is committed. */
export interface Database {
  readonly file: string;
  readonly writer: DatabaseSyncInstance;
  readonly reader: DatabaseSyncInstance;
  /** Makes the file, where that is left to the first write; to be called once. Until then all is empty. */
  readonly make?: () => Promise<void>;
}

/** Opens or creates the file and its folder, and brings it to the newest version. */
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
 * Opens a file that may not be written, for looking: whatever writes to it is refused. SQLite reads the log beside it if
 * there is one and its shared memory is there, too. Without a log nobody writes to the file, so it needs neither.
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

/** An empty one that only its holder sees, for whoever looks where there is no file: nothing is made. */
export function emptyDatabase(path: string): Database {
  const connection = connect();
  attach(connection, ':memory:');
  migrate(connection, path);
  return { file: resolve(path), writer: connection, reader: connection };
}

/** One whose file and folder are made with the first write: what is refused before it leaves nothing behind. */
export function lateDatabase(path: string): Database {
  const { file, writer } = emptyDatabase(path);
  const { writer: reader } = emptyDatabase(path);
  const make = async () => {
    // Whatever is in the way is found by opening it, while the two are as they were.
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

/** From here on a lock is waited for by trying again later, not by holding up the event loop. */
function restrict({ writer, reader }: Pick<Database, 'writer' | 'reader'>): void {
  writer.exec('PRAGMA busy_timeout = 0');
  reader.exec('PRAGMA query_only = 1');
}

/**
 * One of our own is the user's alone. One that is new, or that the sandbox made to cover it, is kept out of git; in others
 * there may be what belongs there.
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

/** Results may hold anything: the file is the user's alone. SQLite gives its mode to those that it makes beside it. */
function makePrivateFile(file: string): void {
  try {
    closeSync(openSync(file, 'a', 0o600));
  } catch {
    // Why it cannot be opened is found out by opening it.
  }
  for (const each of [file, `${file}-wal`, `${file}-shm`]) tighten(each);
}

/** Takes from others what they may do with a file or folder of this user; where a link leads is none of ours. */
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
    // A file system that is read-only, or knows no modes.
  }
}

/** Closes both connections; the last one of all processes takes the -wal and -shm of the file away. */
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
 * A connection to nothing, to which the file is attached. SQLite lets go of a file that a connection was opened with
 * only when all its statements are gone, which here is up to the garbage collector; it lets go of an attached one at once.
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
 * With a write-ahead log and `synchronous = NORMAL` a commit is in the hands of the operating system: the process may
 * be killed at any moment and nothing is lost. A loss of power may take the last commits before it (those since the
 * last checkpoint), in order and whole; it never damages the file. `FULL` would make each commit wait for the disk.
 */
function setUp(connection: DatabaseSyncInstance, file: string): void {
  const row = connection.prepare(`PRAGMA ${SCHEMA}.journal_mode = WAL`).get() as { journal_mode: string };
  if (row.journal_mode !== 'wal') {
    throw unavailable(file, 'its file system allows no write-ahead log. Use a folder on a local disk');
  }
  connection.exec(`PRAGMA ${SCHEMA}.synchronous = NORMAL; PRAGMA ${SCHEMA}.cache_size = -16000`);
  connection.exec(`PRAGMA ${SCHEMA}.wal_autocheckpoint = ${PAGES_OF_LOG}`);
}

/** Runs several writes of a transaction that it shares with others; they are undone if one of them fails. */
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

/** Tries again while another process has the lock. */
export async function whenFree(run: () => void): Promise<void> {
  const deadline = performance.now() + BUSY_MS;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
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
 * Tells whether a path still leads to the file that was opened. SQLite would go on writing to a deleted file, and all
 * of it would be gone with the process.
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
      'the file was deleted or replaced while it was open. Put it back or not, then open the store again',
    );
  }
}

function identityOf(file: string): string | undefined {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}
