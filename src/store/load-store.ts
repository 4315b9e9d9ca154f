import type { SqliteStore, StoreOptions } from './sqlite-store.ts';

/** Opens the store in a file, creating it and its folder if necessary. Loads SQLite on the first call. */
export async function loadStore(file: string, options: StoreOptions = {}): Promise<SqliteStore> {
  const { openStore } = await import('./sqlite-store.ts');
  return openStore(file, options);
}
