import { lookIntoStore, openStore, openStoreLate, type StoreOptions } from '../sqlite-store.ts';
import type { Store } from '../store.ts';

/** Where a store is: in a file, or at the address of a database. */
export interface StorePlace {
  readonly file: string;
  /** It is used instead of the file. */
  readonly url?: string | undefined;
}

/** Opens a store, creating it if necessary. */
export function openStoreAt({ file, url }: StorePlace, options: StoreOptions = {}): Promise<Store> {
  return url === undefined ? openStore(file, options) : openShared(url, options);
}

/** Opens a store for reading. If there is no file, it is empty and nothing is saved. */
export function lookIntoStoreAt({ file, url }: StorePlace): Promise<Store> {
  return url === undefined ? lookIntoStore(file) : openShared(url);
}

/** Opens a store that the first write creates if there is no file. */
export function openStoreLateAt({ file, url }: StorePlace): Promise<Store> {
  return url === undefined ? openStoreLate(file) : openShared(url);
}

/** Nothing of it is loaded by those who use a file. */
async function openShared(url: string, options: StoreOptions = {}): Promise<Store> {
  const { openPostgresStore } = await import('../postgres/postgres-store.ts');
  return openPostgresStore(url, options);
}
