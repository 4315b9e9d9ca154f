import { VolleyError } from '../../core/errors.ts';

/** The schema of a store whose address names none. */
const DEFAULT_SCHEMA = 'volley';
/** A name that means the same with and without quotes. */
const SCHEMA = /^[a-z_][a-z0-9_]{0,62}$/;
const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'];

/** Where a PostgreSQL store is. */
export interface PostgresAddress {
  /** For the driver. It may contain a password. */
  readonly url: string;
  readonly schema: string;
  /** For messages: the address without password and options. */
  readonly shown: string;
}

/** `postgres://user@host:5432/database?sslmode=verify-full&schema=volley`. Everything but the scheme may be left out. */
export function parseAddress(address: string): PostgresAddress {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  // With an unescaped slash in a password, the rest of it would be the database.
  if (url === undefined || !/^postgres(ql)?:$/.test(url.protocol) || url.pathname.includes('@'))
    throw invalid('the address of a PostgreSQL store has the form postgres://user@host:5432/database');
  const schema = url.searchParams.get('schema') ?? DEFAULT_SCHEMA;
  if (!SCHEMA.test(schema) || schema.startsWith('pg_'))
    throw invalid(
      'its schema must be 1 to 63 lowercase letters, digits and underscores, and not begin with pg_',
    );
  url.searchParams.delete('schema');
  const mode = url.searchParams.get('sslmode');
  if (mode !== null && !SSL_MODES.includes(mode))
    throw invalid(`its sslmode must be one of ${SSL_MODES.join(', ')}`);
  // The modes mean what PostgreSQL's documentation says. The driver alone would take `require` for `verify-full`.
  if (mode !== null && !url.searchParams.has('uselibpqcompat'))
    url.searchParams.set('uselibpqcompat', 'true');
  return { url: url.href, schema, shown: shownAddress(address) };
}

/** An address as it may be shown: without password and options. */
function shownAddress(address: string): string {
  if (!URL.canParse(address)) return 'postgres://…';
  const url = new URL(address);
  const schema = url.searchParams.get('schema');
  const host = url.host === '' ? (url.searchParams.get('host') ?? '') : url.host;
  const user = url.username === '' ? '' : `${url.username}@`;
  return `postgres://${user}${host}${url.pathname}${schema === null ? '' : `?schema=${schema}`}`;
}

function invalid(reason: string): VolleyError {
  return new VolleyError('INVALID_VALUE', `The store cannot be used: ${reason}.`);
}
