import { isIP } from 'node:net';
import { Database } from './connection.ts';
import { away } from './postgres-error.ts';
import { formatOf } from './schema.ts';

/** What may be wrong with the server of a store, though it can be used. */
export interface PostgresCheck {
  /** The server and where it is. */
  readonly server: string;
  readonly warnings: readonly string[];
}

const SERVER = `
  SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync,
    current_setting('synchronous_commit') AS commits, current_setting('autovacuum') AS autovacuum,
    (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS is_superuser,
    coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS is_encrypted,
    host(inet_server_addr()) AS address, to_regnamespace($1) IS NOT NULL AS has_schema,
    has_database_privilege(current_database(), 'CREATE') AS may_create`;

interface ServerRow {
  readonly version: string;
  readonly fsync: string;
  readonly commits: string;
  readonly autovacuum: string;
  readonly is_superuser: boolean;
  readonly is_encrypted: boolean;
  readonly address: string | null;
  readonly has_schema: boolean;
  readonly may_create: boolean;
}

/** Connects, and changes nothing. Throws why the store cannot be used. */
export async function checkPostgres(address: string): Promise<PostgresCheck> {
  const database = await Database.open(address);
  try {
    await formatOf(database);
    const [row] = await database.once((statements) => statements.rows<ServerRow>(SERVER, database.schema));
    if (!row!.has_schema && !row!.may_create)
      throw away(database.place, `there is no schema ${database.schema}, and the user may not create it`);
    const { version, fsync, commits, autovacuum } = row!;
    const server = `PostgreSQL ${version}, ${database.place}, schema ${database.schema}`;
    const warnings: string[] = [];
    if (fsync === 'off') warnings.push('fsync is off: a power failure may destroy the store.');
    if (commits === 'off')
      warnings.push('synchronous_commit is off: a crash of the server may lose the last writes.');
    if (autovacuum === 'off') warnings.push('autovacuum is off: the tables of the store will only grow.');
    if (row!.is_superuser)
      warnings.push('The user is a superuser. Use a role that owns only the schema of the store.');
    if (isRemote(row!.address) && !row!.is_encrypted)
      warnings.push('The connection is not encrypted. Add sslmode=verify-full to the address.');
    return { server, warnings };
  } finally {
    await database.close();
  }
}

/** Null for a socket file. */
function isRemote(address: string | null): boolean {
  return address !== null && isIP(address) !== 0 && !address.startsWith('127.') && address !== '::1';
}
