import type { StoreOptions } from '../sqlite-store.ts';
import type { Store } from '../store.ts';

/**
 * Opens the store in a file, or at an address such as `postgres://user@host/database`, creating it if necessary. Loads
 * SQLite or the PostgreSQL driver on the first call.
 */
export async function loadStore(place: string, options: StoreOptions = {}): Promise<Store> {
  const { openStoreAt } = await import('./open-store.ts');
  return openStoreAt({ file: place, url: isPostgresAddress(place) ? place : undefined }, options);
}

/** Whether it is the address of a database, and not a file. */
export function isPostgresAddress(place: string): boolean {
  return /^postgres(ql)?:\/\//.test(place);
}
