import { describe, expect, it } from 'vitest';
import type { OutputChunk } from '../../../src/store/records.ts';
import { task } from '../support/store.ts';
import type { StoreHarness } from './harness.ts';

const LIMIT = 2 ** 20;

function chunk(seq: number, firstLine: number, texts: readonly string[], attempt = 1): OutputChunk {
  return {
    seq,
    attempt,
    firstLine,
    lines: texts.map((text, at) => ({ at: 1000 + at, stream: 'stdout', text })),
  };
}

export function outputTests({ newPlace, open }: StoreHarness): void {
  describe('the output of tasks', () => {
    it('is kept by attempt, and read from any line by all who use the store', async () => {
      const place = newPlace();
      const [store, other] = [await open(place), await open(place)];
      await store.addTasks('b', [task('a')]);
      await store.addOutput('b', [chunk(1, 0, ['one', '', 'three ü'])], LIMIT);
      await store.addOutput('b', [chunk(1, 3, ['four']), chunk(1, 0, ['again'], 2)], LIMIT);
      expect(await other.outputOf('b', 'a')).toMatchObject([
        { attempt: 1, firstLine: 0, endLine: 4 },
        { attempt: 2, firstLine: 0, endLine: 1 },
      ]);
      expect(await other.output('b', 'a', 1, 1)).toEqual({
        firstLine: 1,
        lines: [
          { at: 1001, stream: 'stdout', text: '' },
          { at: 1002, stream: 'stdout', text: 'three ü' },
          { at: 1000, stream: 'stdout', text: 'four' },
        ],
      });
      expect(await other.output('b', 'a', 1, 4)).toBeUndefined();
      expect(await other.outputOf('b', 'missing')).toEqual([]);
    });

    it('loses its oldest lines beyond the limit of a task, and of the store', async () => {
      const store = await open();
      await store.addTasks('b', [task('a'), task('c')]);
      const text = 'x'.repeat(40_000);
      for (let line = 0; line < 5; line++) await store.addOutput('b', [chunk(1, line, [text])], 100_000);
      expect(await store.outputOf('b', 'a')).toMatchObject([{ firstLine: 3, endLine: 5 }]);
      await store.addOutput('b', [chunk(2, 0, [text])], 100_000);
      expect(await store.trimOutput(90_000)).toBeGreaterThan(40_000);
      expect(await store.outputOf('b', 'a')).toMatchObject([{ firstLine: 4, endLine: 5 }]);
      expect(await store.outputOf('b', 'c')).toMatchObject([{ firstLine: 0, endLine: 1 }]);
    });

    it('goes with its task, and what comes later is ignored', async () => {
      const store = await open();
      await store.addTasks('b', [task('a'), task('c')]);
      await store.addOutput('b', [chunk(1, 0, ['one'])], LIMIT);
      await store.clear('b');
      await store.addTasks('b', [task('a')]);
      await store.addOutput('b', [chunk(2, 0, ['late'])], LIMIT);
      expect(await store.outputOf('b', 'a')).toEqual([]);
    });
  });
}
