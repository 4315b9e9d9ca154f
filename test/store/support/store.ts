import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { NewTask, TaskStatus } from '../../../src/store/records.ts';
import { openStore, type SqliteStore, type StoreOptions } from '../../../src/store/sqlite-store.ts';
import type { Store } from '../../../src/store/store.ts';

/** A folder that is gone when the test ends. */
export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'volley-store-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A path in a folder of its own, where nothing is yet. */
export function newFile(): string {
  return join(temporaryFolder(), '.volley', 'volley.db');
}

/** A store that is closed when the test ends. */
export async function opened(file = newFile(), options: StoreOptions = {}): Promise<SqliteStore> {
  const store = await openStore(file, options);
  onTestFinished(() => store.close().catch(() => undefined));
  return store;
}

export function task(id: string, fields: Partial<NewTask> = {}): NewTask {
  return { id, name: `Task ${id}`, function: 'look', params: '{}', options: {}, ...fields };
}

export function tasks(count: number, prefix = 't'): NewTask[] {
  return Array.from({ length: count }, (_, index) => task(`${prefix}${index + 1}`));
}

/** The statuses of all tasks of a batch by their ids, in order. */
export async function statuses(
  store: Pick<Store, 'tasks'>,
  batch: string,
): Promise<Record<string, TaskStatus>> {
  return Object.fromEntries(
    (await store.tasks(batch, { limit: 1000 })).map(({ id, status }) => [id, status]),
  );
}

/** All counts that are not zero. */
export async function counts(
  store: Pick<Store, 'batch'>,
  batch: string,
): Promise<Partial<Record<TaskStatus, number>>> {
  const all = Object.entries((await store.batch(batch))?.counts ?? {});
  return Object.fromEntries(all.filter(([, count]) => count !== 0));
}

export const done = (result = '1') => ({ status: 'completed', result }) as const;
export const failed = { status: 'failed', reason: 'error', message: 'no' } as const;
