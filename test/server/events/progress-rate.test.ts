import { expect, test } from 'vitest';
import { ProgressRate, type RateClock } from '../../../src/server/events/progress-rate.ts';

/** A clock that stands still until the test moves it. */
class TestClock implements RateClock {
  private time = 0;
  private timers: { readonly at: number; readonly call: () => void }[] = [];

  now(): number {
    return this.time;
  }

  after(ms: number, call: () => void): () => void {
    const timer = { at: this.time + ms, call };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((other) => other !== timer);
    };
  }

  moveTo(time: number): void {
    for (;;) {
      const [next] = this.timers.filter(({ at }) => at <= time).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.timers = this.timers.filter((other) => other !== next);
      this.time = next.at;
      next.call();
    }
    this.time = time;
  }

  get waiting(): number {
    return this.timers.length;
  }
}

function rate(spanMs: number) {
  const clock = new TestClock();
  const passed: string[] = [];
  const progress = new ProgressRate<string>(spanMs, (text) => passed.push(`${clock.now()} ${text}`), clock);
  return { clock, passed, progress };
}

test('the first report of a source passes at once, and the newest of the others when the span is over', () => {
  const { clock, passed, progress } = rate(250);
  for (const [at, text] of [
    [0, 'a 1'],
    [40, 'a 2'],
    [80, 'a 3'],
    [120, 'a 4'],
    [160, 'a 5'],
  ] as const) {
    clock.moveTo(at);
    progress.add('a', text);
  }
  expect(passed).toEqual(['0 a 1']);
  clock.moveTo(1000);
  expect(passed).toEqual(['0 a 1', '250 a 5']);
  progress.add('a', 'a 6');
  expect(passed.at(-1)).toBe('1000 a 6');
});

test('no source passes two reports within a span, whenever the others report', () => {
  const { clock, passed, progress } = rate(100);
  progress.add('a', 'a 1');
  clock.moveTo(90);
  progress.add('b', 'b 1');
  progress.add('a', 'a 2');
  clock.moveTo(95);
  progress.add('b', 'b 2');
  clock.moveTo(500);
  expect(passed).toEqual(['0 a 1', '90 b 1', '100 a 2', '190 b 2']);
});

test('a source that is forgotten passes nothing that waited, and its next report passes at once', () => {
  const { clock, passed, progress } = rate(100);
  progress.add('a', 'a 1');
  progress.add('a', 'a 2');
  clock.moveTo(10);
  progress.forget('a');
  progress.add('a', 'a 3');
  clock.moveTo(500);
  expect(passed).toEqual(['0 a 1', '10 a 3']);
});

test('nothing is left to do when all sources are quiet, or after its end', () => {
  const { clock, passed, progress } = rate(100);
  progress.add('a', 'a 1');
  clock.moveTo(100);
  expect(clock.waiting).toBe(0);
  progress.add('b', 'b 1');
  progress.add('b', 'b 2');
  progress.close();
  clock.moveTo(500);
  expect(clock.waiting).toBe(0);
  expect(passed).toEqual(['0 a 1', '100 b 1']);
});
