import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { withFolderLock } from '../../src/store/folder-lock.ts';
import { buildProgram } from '../e2e/support/built-program.ts';
import { project, put } from '../tasks/support/feature.ts';
import { startProgram } from '../tasks/support/processes.ts';

async function startHolder(folder: string) {
  const { moduleUrl } = await buildProgram();
  const holder = startProgram('lock-holder', [moduleUrl('store/folder-lock.js'), folder]);
  expect(await holder.line()).toBe('held');
  return holder;
}

describe('the lock of a folder', () => {
  test('is waited for with an end, and then the error says who has it', { timeout: 180_000 }, async () => {
    const folder = project();
    const holder = await startHolder(folder);
    const late = withFolderLock(folder, async () => 'mine', 50);
    await expect(late).rejects.toMatchObject({
      code: 'TASKS_LOCKED',
      message: expect.stringContaining(
        process.platform === 'linux' ? `Process ${holder.pid} has held` : 'has held',
      ),
    });
  });

  test('is free as soon as the one that had it is killed', { timeout: 180_000 }, async () => {
    const folder = project();
    const holder = await startHolder(folder);
    const waiting = withFolderLock(folder, async () => 'mine');
    await holder.kill();
    expect(await waiting).toBe('mine');
    expect(readdirSync(folder)).toEqual(['.lock']);
  });

  test('lets one after the other in, also within a process, and survives an error', async () => {
    const folder = project();
    let inside = 0;
    const turns = Array.from({ length: 10 }, (_, place) =>
      withFolderLock(folder, async () => {
        expect(++inside).toBe(1);
        await new Promise(setImmediate);
        inside--;
        if (place % 2 === 0) throw new Error('on purpose');
      }).catch(({ message }) => message),
    );
    expect((await Promise.all(turns)).filter((message) => message === 'on purpose')).toHaveLength(5);
  });

  test('says what to do where something else has its name', async () => {
    const folder = project();
    put(
      folder,
      '.lock',
      'this is a text that somebody wrote here, longer than a header of SQLite'.repeat(20),
    );
    await expect(withFolderLock(folder, async () => 'mine')).rejects.toMatchObject({
      code: 'TASKS_LOCKED',
      message: expect.stringContaining('may be deleted'),
    });
  });
});
