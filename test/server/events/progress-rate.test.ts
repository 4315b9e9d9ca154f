import { expect, test } from 'vitest';
import { ProgressRate } from '../../../src/server/events/progress-rate.ts';
import { FakeTiming } from '../../support/fake-timing.ts';

function rate(spanMs: number) {
  const timing = new FakeTiming();
  const passed: string[] = [];
  const progress = new ProgressRate<string>(spanMs, (text) => passed.push(`${timing.now()} ${text}`), timing);
  return { timing, passed, progress };
}

test('the first report of a source passes at once, and the newest of the others when the span is over', () => {
  const { timing, passed, progress } = rate(250);
  for (const [at, text] of [
    [0, 'a 1'],
    [40, 'a 2'],
    [80, 'a 3'],
    [120, 'a 4'],
    [160, 'a 5'],
  ] as const) {
    timing.moveTo(at);
    progress.add('a', text);
  }
  expect(passed).toEqual(['0 a 1']);
  timing.moveTo(1000);
  expect(passed).toEqual(['0 a 1', '250 a 5']);
  progress.add('a', 'a 6');
  expect(passed.at(-1)).toBe('1000 a 6');
});

test('no source passes two reports within a span, whenever the others report', () => {
  const { timing, passed, progress } = rate(100);
  progress.add('a', 'a 1');
  timing.moveTo(90);
  progress.add('b', 'b 1');
  progress.add('a', 'a 2');
  timing.moveTo(95);
  progress.add('b', 'b 2');
  timing.moveTo(500);
  expect(passed).toEqual(['0 a 1', '90 b 1', '100 a 2', '190 b 2']);
});

test('a source that is forgotten passes nothing that waited, and its next report passes at once', () => {
  const { timing, passed, progress } = rate(100);
  progress.add('a', 'a 1');
  progress.add('a', 'a 2');
  timing.moveTo(10);
  progress.forget('a');
  progress.add('a', 'a 3');
  timing.moveTo(500);
  expect(passed).toEqual(['0 a 1', '10 a 3']);
});

test('nothing is left to do when all sources are quiet, or after its end', () => {
  const { timing, passed, progress } = rate(100);
  progress.add('a', 'a 1');
  timing.moveTo(100);
  expect(timing.pending).toBe(0);
  progress.add('b', 'b 1');
  progress.add('b', 'b 2');
  progress.close();
  timing.moveTo(500);
  expect(timing.pending).toBe(0);
  expect(passed).toEqual(['0 a 1', '100 b 1']);
});
