import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/tools/define-tool.ts';
import { temporaryFolder } from '../store/support/store.ts';
import { amount } from '../support/depth.ts';
import { openRig } from './support/rig.ts';

const never = new Promise<never>(() => {});

describe('a schema that never answers', () => {
  const stuck = defineTool({ name: 'stuck', input: z.any().refine(() => never), run: () => 1 });

  it('does not hold up what is added for longer than the task may run', async () => {
    const { executor, store } = await openRig([stuck]);
    const task = { function: 'stuck', timeout: 0.05 };
    for (const request of [
      { action: 'add', ...task },
      { action: 'add_batch', tasks: [{ function: 'echo' }, ...Array.from({ length: 1000 }, () => task)] },
    ]) {
      const answer = await executor.handle(request);
      expect(answer).toMatchObject({ ok: false, error: { code: 'EXECUTION_TIMEOUT' } });
    }
    expect(await store.batches()).toEqual([]);
  });

  it('fails what was added before it fell silent, all of it after one wait', async () => {
    const file = join(temporaryFolder(), 'volley.db');
    const before = await openRig([defineTool({ name: 'stuck', run: () => 1 })], undefined, file);
    const tasks = Array.from({ length: 500 }, () => ({ function: 'stuck', timeout: 0.2 }));
    await before.ask('add_batch', { tasks });
    const after = await openRig([stuck], undefined, file);
    const { data } = await after.ask('start', { wait: true });
    expect(data).toMatchObject({ counts: { failed: 500 } });
    expect(await after.store.task('default', 't500')).toMatchObject({ code: 'EXECUTION_TIMEOUT' });
  });
});

describe('a large list', () => {
  it('is refused as a whole for the last of its tasks', { timeout: 180_000 }, async () => {
    const count = amount({ quick: 20_000, deep: 100_000 });
    const { executor, store } = await openRig();
    const tasks: object[] = Array.from({ length: count }, () => ({ function: 'echo' }));
    tasks[count - 1] = { function: 'ecko' };
    const answer = await executor.handle({ action: 'add_batch', tasks });
    expect(answer).toMatchObject({
      ok: false,
      error: { code: 'UNKNOWN_TOOL' },
      data: { problems: [expect.stringContaining(`task ${count} ("ecko")`)] },
    });
    const all = await executor.handle({ action: 'add_batch', tasks: tasks.map(() => ({ parms: 1 })) });
    expect(all).toMatchObject({ ok: false, error: { code: 'INVALID_REQUEST' } });
    expect(all.text.length).toBeLessThan(2500);
    expect(await store.batches()).toEqual([]);
  });

  it('may be a chain of 20,000 that ends in a cycle, which is found and shown in short', async () => {
    const { executor, store } = await openRig();
    const tasks = Array.from({ length: 20_000 }, (_, index) => ({
      id: `t${index}`,
      function: 'echo',
      depends_on: [`t${(index + 1) % 20_000}`],
    }));
    const answer = await executor.handle({ action: 'add_batch', tasks });
    expect(answer).toMatchObject({ ok: false, error: { code: 'DEPENDENCY_CYCLE' } });
    expect(answer.text.length).toBeLessThan(2500);
    expect(JSON.stringify(answer.data).length).toBeLessThan(10_000);
    expect(await store.batches()).toEqual([]);
  });
});

describe('names', () => {
  const ODD = {
    'from right to left': '‏שלום‎ ‮abc',
    combining: `e${'\u0301'.repeat(40)}`,
    emoji: '👩🏽‍🚀🏳️‍🌈',
    'outside the first plane': '𝕏\u{1F9FF}\u{10FFFD}',
    spaces: ' \u00a0\u2003x ',
    'that mean something elsewhere': `'; DROP TABLE tasks; -- "%s" $(rm) \\ <b>`,
    'of the language': '__proto__',
  };

  it.each(Object.entries(ODD))('%s are kept as they are', async (_, name) => {
    const { ask, executor, store } = await openRig();
    await ask('add', { batch: name, id: name, name, function: 'echo', params: { [name]: name } });
    await ask('add', { batch: name, id: 'next', function: 'echo', depends_on: [name] });
    const request = JSON.stringify({ action: 'start', batch: name, wait: true });
    expect(await executor.handle(request)).toMatchObject({ ok: true, data: { succeeded: true } });
    expect(await store.task(name, name)).toMatchObject({ id: name, name, status: 'completed' });
    expect(await store.result(name, name)).toBe(JSON.stringify({ [name]: name }));
    expect((await ask('list')).text).toContain(name.trim().slice(0, 4));
    await ask('clear', { batch: name });
    expect(await store.batches()).toEqual([]);
  });

  it.each(['\0', 'a\0', '\u001b[31m', 'a\nb', '\ud800', 'a\udc00b', '\u0085'])(
    '%j are refused, wherever they stand',
    async (name) => {
      const { executor, store } = await openRig();
      for (const fields of [{ name }, { id: name }, { batch: name }, { depends_on: [name] }]) {
        const answer = await executor.handle({ action: 'add', function: 'echo', ...fields });
        expect(answer).toMatchObject({ ok: false, error: { code: 'INVALID_REQUEST' } });
        expect(answer.text).toContain('control characters');
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not reach a terminal.
        expect(answer.text).not.toMatch(/[\u0000\u001b\u0085]/);
      }
      expect(await executor.handle({ action: 'add', function: name })).toMatchObject({ ok: false });
      expect(await store.batches()).toEqual([]);
    },
  );
});
