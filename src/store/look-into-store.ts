import { statSync } from 'node:fs';
import { emptyDatabase, lateDatabase } from './database.ts';
import { openStore, SqliteStore } from './sqlite-store.ts';

/** Opens the store in a file for whoever only looks: where there is no file, an empty one that nothing is kept of. */
export async function lookIntoStore(file: string): Promise<SqliteStore> {
  return isMissing(file) ? new SqliteStore(emptyDatabase(file), {}) : openStore(file);
}

/** Opens the store in a file for whoever may have something to keep: where there is no file, the first write makes it. */
export async function openStoreLate(file: string): Promise<SqliteStore> {
  return isMissing(file) ? new SqliteStore(lateDatabase(file), {}) : openStore(file);
}

function isMissing(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined;
  } catch {
    // Opening it says what is in the way.
    return false;
  }
}
