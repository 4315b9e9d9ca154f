import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Prediction } from '../../../src/batch/run/prediction.ts';

describe('the time that a run will still take', () => {
  beforeEach(() =>
    vi.useFakeTimers({ toFake: ['performance', 'setImmediate', 'setTimeout', 'clearTimeout'] }),
  );
  afterEach(() => vi.useRealTimers());

  const counting = () => {
    let made = 0;
    return new Prediction(() => {
      made++;
      return { lowMs: 60_000, expectedMs: 80_000, highMs: made * 100_000 };
    });
  };

  it('is what was predicted last, less what has passed, while a new prediction is made', () => {
    const prediction = counting();
    expect(prediction.timeLeft()?.highMs).toBe(100_000);
    vi.advanceTimersByTime(900);
    expect(prediction.timeLeft()?.highMs).toBe(99_100);
    vi.advanceTimersByTime(200);
    expect(prediction.timeLeft()?.highMs).toBe(98_900);
    vi.runAllTimers();
    expect(prediction.timeLeft()?.highMs).toBe(200_000);
  });

  it('is there when somebody asks for the first time, of a run that has lasted for a while', () => {
    const prediction = counting();
    prediction.begin();
    vi.advanceTimersByTime(1100);
    vi.runAllTimers();
    expect(prediction.timeLeft()?.highMs).toBeLessThanOrEqual(100_000);

    const short = vi.fn(() => undefined);
    const ended = new Prediction(short);
    ended.begin();
    ended.end();
    vi.runAllTimers();
    expect(short).not.toHaveBeenCalled();
  });

  it('is never told from a prediction that is long out of date', () => {
    const prediction = counting();
    prediction.timeLeft();
    vi.advanceTimersByTime(30_000);
    expect(prediction.timeLeft()?.highMs).toBe(200_000);
  });
});
