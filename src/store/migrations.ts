import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { VolleyError } from '../core/errors.ts';
import { damaged } from './store-error.ts';

/** A step from one schema version to the next. A released step never changes. */
export interface Migration {
  /** The resulting version, from 1, without gaps. */
  readonly version: number;
  /** The file is attached as `store`, so the names it creates have that prefix. */
  readonly sql: string;
}

/**
 * Definition (`tasks`), state (`states`) and end (`ends`) of a task are separate: changing a row rewrites it, so what
 * changes often must be small, however long the arguments are. A `key` combines the numbers of the batch and of the
 * task within it, so that pages of a batch need no further index. ANY columns hold strings with any characters. See
 * rows.ts for both.
 */
const FIRST = `
  CREATE TABLE store.batches (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name ANY NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    options ANY,
    last_seq INTEGER NOT NULL DEFAULT 0,
    open INTEGER NOT NULL DEFAULT 0,
    running INTEGER NOT NULL DEFAULT 0,
    completed INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  CREATE TABLE store.tasks (
    key INTEGER PRIMARY KEY,
    batch INTEGER NOT NULL REFERENCES batches (id),
    id ANY NOT NULL,
    name ANY NOT NULL,
    function ANY NOT NULL,
    added_at INTEGER NOT NULL,
    options ANY,
    params ANY NOT NULL,
    UNIQUE (batch, id)
  ) STRICT;

  CREATE TABLE store.states (
    key INTEGER PRIMARY KEY REFERENCES tasks (key) ON DELETE CASCADE,
    status INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    started_at INTEGER
  ) STRICT;
  CREATE INDEX store.states_by_status ON states (status);

  CREATE TABLE store.ends (
    key INTEGER PRIMARY KEY REFERENCES tasks (key) ON DELETE CASCADE,
    ended_at INTEGER NOT NULL,
    reason TEXT,
    code ANY,
    cause ANY,
    result_bytes INTEGER,
    preview ANY,
    message ANY
  ) STRICT;

  CREATE TABLE store.results (
    key INTEGER NOT NULL REFERENCES tasks (key) ON DELETE CASCADE,
    part INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (key, part)
  ) STRICT;

  CREATE TABLE store.leases (
    batch INTEGER PRIMARY KEY REFERENCES batches (id) ON DELETE CASCADE,
    token TEXT NOT NULL,
    pid INTEGER NOT NULL,
    host ANY NOT NULL,
    boot TEXT NOT NULL,
    namespace TEXT,
    process_start TEXT,
    since INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    beat INTEGER NOT NULL
  ) STRICT;
`;

/** Requests to the process that runs a batch, and its answers, as JSON. */
const REQUESTS = `
  CREATE TABLE store.requests (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    batch INTEGER NOT NULL REFERENCES batches (id) ON DELETE CASCADE,
    body ANY NOT NULL,
    answer ANY
  ) STRICT;
  CREATE INDEX store.requests_by_batch ON requests (batch);
`;

/** Attempts that did not end their task, and when the last one began. */
const ATTEMPTS = `
  CREATE TABLE store.attempts (
    key INTEGER NOT NULL REFERENCES tasks (key) ON DELETE CASCADE,
    attempt INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    status INTEGER NOT NULL,
    reason TEXT,
    message ANY,
    PRIMARY KEY (key, attempt)
  ) STRICT, WITHOUT ROWID;
  ALTER TABLE store.states ADD COLUMN attempt_at INTEGER;
`;

/** The number of failed attempts that count toward the retries of a task. */
const FAILURES = 'ALTER TABLE store.states ADD COLUMN failures INTEGER NOT NULL DEFAULT 0';

/** When the next attempt is due, so that other processes can tell a retry pause from work. */
const PAUSES = 'ALTER TABLE store.attempts ADD COLUMN retry_at INTEGER';

/** Attempt durations by the monotonic clock: the wall clock may be set between a start and an end. */
const DURATIONS = `
  ALTER TABLE store.ends ADD COLUMN duration_ms INTEGER;
  ALTER TABLE store.attempts ADD COLUMN duration_ms INTEGER;
`;

/** The key of the group that a task is an item of. In `states`, because long arguments make rows of `tasks` slow to read. */
const ITEMS = `
  ALTER TABLE store.states ADD COLUMN parent INTEGER;
  CREATE INDEX store.states_by_parent ON states (parent) WHERE parent IS NOT NULL;
`;

/** Binary data of results, such as pictures, once for each batch. They are deleted with its completed tasks. */
const BLOBS = `
  CREATE TABLE store.blobs (
    batch INTEGER NOT NULL REFERENCES batches (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    mime_type TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (batch, id)
  ) STRICT;
`;

/** The order in which the ends of calls were delivered to their program, and what the program logged. */
const PROGRAMS = `
  CREATE TABLE store.deliveries (
    key INTEGER NOT NULL REFERENCES tasks (key) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    item INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (key, position)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE store.logs (
    key INTEGER PRIMARY KEY REFERENCES tasks (key) ON DELETE CASCADE,
    body ANY NOT NULL
  ) STRICT;
`;

/**
 * Results of functions that declare what they read, by a hash of all of that; see `CachedEntry`. Tasks remember whether
 * their result came from there, and batches count them. The body comes last, so that the other columns are read without it.
 */
const CACHE = `
  CREATE TABLE store.cache (
    key BLOB PRIMARY KEY,
    function ANY NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    signature BLOB NOT NULL,
    body BLOB NOT NULL
  ) STRICT;
  CREATE INDEX store.cache_by_use ON cache (used_at, bytes, function);
  CREATE INDEX store.cache_by_age ON cache (created_at);
  ALTER TABLE store.ends ADD COLUMN cached INTEGER;
  CREATE INDEX store.ends_cached ON ends (key) WHERE cached = 1;
  ALTER TABLE store.batches ADD COLUMN cached INTEGER NOT NULL DEFAULT 0;
`;

/** What the last attempt of a completed task used in processes. */
const USAGE = `
  CREATE TABLE store.usage (
    key INTEGER PRIMARY KEY REFERENCES tasks (key) ON DELETE CASCADE,
    memory_mb REAL,
    cpu_ms REAL,
    duration_ms REAL NOT NULL
  ) STRICT;
`;

/** What calls of models and agents cost, for each task and in total. */
const SPENDING = `
  CREATE TABLE store.spending (
    key INTEGER PRIMARY KEY REFERENCES tasks (key) ON DELETE CASCADE,
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_usd REAL NOT NULL,
    unpriced INTEGER NOT NULL
  ) STRICT;
  ALTER TABLE store.batches ADD COLUMN calls INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE store.batches ADD COLUMN input_tokens INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE store.batches ADD COLUMN output_tokens INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE store.batches ADD COLUMN cost_usd REAL NOT NULL DEFAULT 0;
  ALTER TABLE store.batches ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
`;

/**
 * What attempts printed, in chunks of whole lines; see output-table.ts. The index holds all that is summed up, so that the
 * text is read only where it is shown.
 */
const OUTPUT = `
  CREATE TABLE store.output (
    id INTEGER PRIMARY KEY,
    key INTEGER NOT NULL REFERENCES tasks (key) ON DELETE CASCADE,
    attempt INTEGER NOT NULL,
    first INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX store.output_by_task ON output (key, attempt, first, lines, bytes);
`;

/** The worker that runs the last attempt of a task, and those of earlier ones. */
const WORKERS = `
  ALTER TABLE store.states ADD COLUMN worker TEXT;
  ALTER TABLE store.attempts ADD COLUMN worker TEXT;
`;

/** How often a batch was leased. */
const EPOCHS = 'ALTER TABLE store.batches ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0';

export const MIGRATIONS: readonly Migration[] = [
  { version: 1, sql: FIRST },
  { version: 2, sql: REQUESTS },
  { version: 3, sql: ATTEMPTS },
  { version: 4, sql: FAILURES },
  { version: 5, sql: PAUSES },
  { version: 6, sql: DURATIONS },
  { version: 7, sql: ITEMS },
  { version: 8, sql: BLOBS },
  { version: 9, sql: PROGRAMS },
  { version: 10, sql: CACHE },
  { version: 11, sql: USAGE },
  { version: 12, sql: SPENDING },
  { version: 13, sql: OUTPUT },
  { version: 14, sql: WORKERS },
  { version: 15, sql: EPOCHS },
];

/** Marks a SQLite file as ours ("Voly"), so that no other database is ever written to. */
const APPLICATION_ID = 0x566f_6c79;

/** Migrates a store to the latest version, all steps or none; rejects unknown versions. */
export function migrate(database: DatabaseSyncInstance, file: string, migrations = MIGRATIONS): void {
  const newest = migrations.at(-1)!.version;
  if (checkedVersion(database, file, newest) === newest) return;
  database.exec('BEGIN IMMEDIATE');
  try {
    // Another process may have migrated it meanwhile.
    const version = checkedVersion(database, file, newest);
    for (const migration of migrations) if (migration.version > version) database.exec(migration.sql);
    database.exec(`PRAGMA store.application_id = ${APPLICATION_ID}; PRAGMA store.user_version = ${newest}`);
    database.exec('COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** The format version of a store that is ours and supported, 0 if empty. Only reads. */
export function checkedVersion(database: DatabaseSyncInstance, file: string, newest: number): number {
  const version = numberOf(database, 'PRAGMA store.user_version');
  const isEmpty = numberOf(database, 'SELECT count(*) FROM store.sqlite_schema') === 0;
  if (!isEmpty && numberOf(database, 'PRAGMA store.application_id') !== APPLICATION_ID) {
    throw damaged(file, 'it is a database of another program');
  }
  if (version > newest) {
    throw new VolleyError(
      'STORE_NEWER',
      `The store ${file} uses store format ${version}; this Volley supports up to ${newest}. ` +
        'Update Volley, or use another file. This one was not changed.',
      { file, version, newest },
    );
  }
  return version;
}

function numberOf(database: DatabaseSyncInstance, sql: string): number {
  const row = database.prepare(sql).get() as Record<string, number>;
  return Object.values(row)[0]!;
}
