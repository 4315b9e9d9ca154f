import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { TaskRecord } from '../../src/store/records.ts';
import { openStore, type SqliteStore } from '../../src/store/sqlite-store.ts';
import { startProgram } from './support/program.ts';
import { temporaryFolder } from './support/store.ts';

const ROUNDS = 6;

describe('a process that is killed while it writes', () => {
  it('has lost nothing that it was told is kept, and has left nothing half', {
    timeout: 300_000,
  }, async () => {
    const folder = temporaryFolder();
    const [file, notes] = [join(folder, 'volley.db'), join(folder, 'notes')];
    appendFileSync(notes, '');
    for (let round = 0; round < ROUNDS; round++) {
      const program = startProgram('journals', [file, notes]);
      // The moment of the end is as random as the time between two lines and the way of the signal.
      const lines = 1 + Math.floor(Math.random() * 8);
      for (let line = 0; line < lines; line++) await program.line();
      await program.kill();
      const store = await openStore(file);
      await check(store, readFileSync(notes, 'utf8').split('\n').slice(0, -1));
      await store.close();
    }
  });
});

async function check(store: SqliteStore, notes: readonly string[]): Promise<void> {
  const tasks = new Map<string, TaskRecord>();
  for (const { name, counts } of await store.batches()) {
    const rows = await store.tasks(name, { limit: 1_000_000 });
    const counted = { open: 0, running: 0, completed: 0, failed: 0, cancelled: 0, skipped: 0 };
    for (const row of rows) {
      tasks.set(`${name} ${row.seq}`, row);
      counted[row.status]++;
      if (row.status === 'completed') {
        expect(Buffer.byteLength((await store.result(name, row.id))!)).toBe(row.resultBytes);
      }
    }
    expect(counts).toEqual(counted);
    // Lists are there as a whole: the name of a task is the length of its list.
    const lists = new Map<string, TaskRecord[]>();
    for (const row of rows) {
      const list = row.id.slice(0, row.id.lastIndexOf('-'));
      lists.set(list, [...(lists.get(list) ?? []), row]);
    }
    for (const list of lists.values()) expect(list).toHaveLength(Number(list[0]!.name));
  }
  for (const note of notes) {
    const [, what, task, size = '1'] = /^(\w+) (batch \d \d+)(?: (\d+))?$/.exec(note)!;
    const found = tasks.get(task!);
    expect(found, note).toBeDefined();
    if (what === 'started') expect(found!.attempts, note).toBeGreaterThan(0);
    else if (what === 'added') expect(found!.name, note).toBe(size);
    else expect(found!.status, note).toBe(what);
  }
}
