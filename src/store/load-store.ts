import type { SqliteStore, StoreOptions } from './sqlite-store.ts';

/** Opens the store in a file, or makes a new one; its folder is made as well. SQLite is loaded when it is first called. */
export async function loadStore(file: string, options: StoreOptions = {}): Promise<SqliteStore> {
  const { openStore } = await import('./sqlite-store.ts');
  return openStore(file, options);
}
