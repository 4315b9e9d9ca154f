import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { BatchExecutor } from '../../../src/batch/batch-executor.ts';
import type { McpServerSettings } from '../../../src/config/config.ts';
import { openStore, type SqliteStore } from '../../../src/store/sqlite-store.ts';
import { notesServer, openWith, testFolder } from './support/open.ts';

/** As a process that dies leaves it: tasks that are running, and nobody who runs them. */
async function leaveRunning(store: SqliteStore): Promise<void> {
  const lease = await store.lease('default');
  await store.batchStarted('default', '{}', Date.now());
  for (const { seq } of await store.tasks('default', { limit: 10 }))
    await store.started('default', seq, Date.now());
  await lease.release();
}

async function executorWith(folder: string, server: McpServerSettings) {
  const coordinator = await openWith(folder, { notes: server });
  const store = await openStore(join(folder, 'volley.db'));
  const executor = new BatchExecutor({ coordinator, store });
  onTestFinished(async () => {
    await executor.close({ graceMs: 0 });
    await store.close();
  });
  return { executor, store };
}

test('after a crash of Volley, calls that may be repeated run again, and those that may not are failed', async () => {
  const folder = testFolder();
  const { executor, store } = await executorWith(folder, notesServer(folder));
  const tasks = [
    { id: 'reads', function: 'notes.echo', params: { text: 'again' } },
    { id: 'writes', function: 'notes.add_note', params: { note: 'once' } },
  ];
  expect(await executor.handle({ action: 'add_batch', tasks })).toMatchObject({ ok: true });
  await leaveRunning(store);
  const next = await executorWith(folder, notesServer(folder));
  expect(await next.executor.handle({ action: 'start', wait: true })).toMatchObject({ ok: true });
  expect(await next.store.tasks('default', { limit: 10 })).toMatchObject([
    { id: 'reads', status: 'completed' },
    { id: 'writes', status: 'failed', reason: 'crashed' },
  ]);
});

test('tasks of a server that cannot be started now are taken, and fail by themselves', async () => {
  const folder = testFolder();
  const { executor, store } = await executorWith(folder, notesServer(folder, { NOTES_FAIL: '1' }));
  const tasks = [
    { id: 'theirs', function: 'notes.echo', params: { text: 'hello' } },
    { id: 'ours', function: 'list_directory', params: { path: '.' } },
  ];
  expect(await executor.handle({ action: 'add_batch', tasks })).toMatchObject({ ok: true });
  await executor.handle({ action: 'start', wait: true });
  expect(await store.tasks('default', { limit: 10 })).toMatchObject([
    { id: 'theirs', status: 'failed' },
    { id: 'ours', status: 'completed' },
  ]);
});
