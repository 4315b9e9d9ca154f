import { describe, expect, it } from 'vitest';
import { type Distribution, DurationModel, UnknownDuration } from '../../src/core/durations.ts';
import { seededRandom } from '../../src/core/random.ts';
import { lognormalMs } from './support/coverage.ts';

function learned(durations: readonly number[]): DurationModel {
  const model = new DurationModel();
  for (const durationMs of durations) model.learn(durationMs);
  return model;
}

function drawn(distribution: Distribution, count = 20_000): number[] {
  const random = seededRandom(3);
  return Array.from({ length: count }, () => distribution.draw(random)).sort((a, b) => a - b);
}

function around(durationMs: number, count: number, seed = 1): number[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => lognormalMs(random, durationMs, 0.2));
}

describe('the learned duration of a tool', () => {
  it('starts as a guess', () => {
    expect(new DurationModel().estimateMs()).toBe(1000);
    expect(new DurationModel().distribution()).toBeUndefined();
  });

  it('starts as a guess from the other tools, so that it neither goes before nor behind all of them', () => {
    for (const unitMs of [1, 1000, 10_000, 600_000]) {
      const unknown = new UnknownDuration();
      const known = [20, 40].map((units) => {
        const model = new DurationModel(unknown);
        for (let count = 0; count < 10; count++) model.learn(units * unitMs);
        return model;
      });
      const fresh = new DurationModel(unknown);
      expect(fresh.isKnown).toBe(false);
      expect(fresh.estimateMs()).toBeGreaterThan(30 * unitMs);
      expect(fresh.estimateMs()).toBeLessThan(2 * 33 * unitMs);
      known[1]!.forget();
      expect(fresh.estimateMs()).toBeLessThan(2 * 22 * unitMs);
      known[0]!.forget();
      expect(fresh.estimateMs()).toBe(1000);
    }
  });

  it('is near what was seen', () => {
    const estimate = learned(around(400, 50)).estimateMs();
    expect(estimate).toBeGreaterThan(360);
    expect(estimate).toBeLessThan(440);
  });

  it('is at least a millisecond, so that a longer chain is a longer path', () => {
    expect(learned([0, 0, 0]).estimateMs()).toBe(1);
  });

  it('is not moved by an outlier', () => {
    const usual = around(100, 50);
    const model = learned([...usual, 3_600_000]);
    const before = learned(usual);
    expect(model.estimateMs()).toBeLessThan(1.1 * before.estimateMs());
    expect(model.distribution()!.mean).toBeLessThan(1.1 * before.distribution()!.mean);
  });

  it('keeps the weight of slow runs that are merely rare', () => {
    const durations = Array.from({ length: 200 }, (_, index) => (index % 20 === 0 ? 5000 : 10));
    const { mean } = learned(durations).distribution()!;
    expect(mean).toBeGreaterThan(230);
    expect(mean).toBeLessThan(290);
  });

  it('follows a tool that changes', () => {
    const model = learned([...around(100, 2000), ...around(1000, 1500, 2)]);
    expect(model.estimateMs()).toBeGreaterThan(900);
  });

  it('follows what is seen however often it was asked for before', () => {
    const model = learned([1000]);
    expect(model.estimateMs()).toBeGreaterThan(900);
    for (let round = 0; round < 20; round++) {
      model.learn(10);
      model.estimateMs();
    }
    expect(model.estimateMs()).toBe(10);
    for (let round = 0; round < 1000; round++) {
      model.learn(1000);
      model.estimateMs();
    }
    expect(model.estimateMs()).toBeGreaterThan(900);
  });

  it('is a whole number of milliseconds', () => {
    expect(learned([1, 2, 3, 5, 8, 13]).estimateMs()).toBe(5);
  });

  it('does not lose its rare values by fading', () => {
    const random = seededRandom(5);
    const durations = Array.from({ length: 5000 }, () => lognormalMs(random, 1000, 1));
    const recent = durations.slice(-400);
    const recentMean = recent.reduce((sum, durationMs) => sum + durationMs, 0) / recent.length;
    const { mean } = learned(durations).distribution()!;
    expect(mean).toBeGreaterThan(0.85 * recentMean);
    expect(mean).toBeLessThan(1.15 * recentMean);
  });
});

describe('the estimates of callers', () => {
  it('are trusted as a guess until one was checked, whatever ran without an estimate', () => {
    const model = learned([10, 20, 30_000]);
    expect(model.ratioToEstimate()).toEqual(new DurationModel().ratioToEstimate());
  });

  it('are corrected by how far they were off, the more surely the more were checked', () => {
    const model = new DurationModel();
    const errors = [1, 4, 20].map((count) => {
      for (let round = 0; round < count; round++) model.learn(300, 100);
      expect(model.ratioToEstimate().mean).toBeCloseTo(3);
      return model.ratioToEstimate().relativeError;
    });
    expect(errors[0]!).toBeGreaterThan(errors[1]!);
    expect(errors[1]!).toBeGreaterThan(errors[2]!);
  });
});

describe('durations that are drawn', () => {
  it('are spread as those that were seen, without steps', () => {
    const random = seededRandom(1);
    const distribution = learned(
      Array.from({ length: 500 }, () => Math.round(1000 + 1000 * random())),
    ).distribution()!;
    const sorted = drawn(distribution);
    for (const share of [0.1, 0.25, 0.5, 0.75, 0.9]) {
      expect(sorted[share * sorted.length]!).toBeGreaterThan(1000 + 1000 * share - 80);
      expect(sorted[share * sorted.length]!).toBeLessThan(1000 + 1000 * share + 80);
    }
    expect(new Set(sorted).size).toBeGreaterThan(0.9 * sorted.length);
  });

  it('vary even when only one was seen', () => {
    const sorted = drawn(learned([100]).distribution()!);
    expect(sorted[0.1 * sorted.length]!).toBeLessThan(70);
    expect(sorted[0.9 * sorted.length]!).toBeGreaterThan(130);
  });

  it('are longer than what has passed already', () => {
    const distribution = learned(around(100, 100)).distribution()!;
    const random = seededRandom(1);
    for (const passed of [0, 50, 100, 150, 1000]) {
      for (let draw = 0; draw < 100; draw++) {
        expect(distribution.drawBeyond(passed, random)).toBeGreaterThanOrEqual(passed);
      }
    }
  });

  it('are longer than what has passed already where there is but a guess, too', () => {
    const guess = new DurationModel().ratioToEstimate();
    const random = seededRandom(1);
    for (const passed of [0.1, 1, 2, 100]) {
      const longer = Array.from({ length: 100 }, () => guess.drawBeyond(passed, random));
      expect(Math.min(...longer)).toBeGreaterThan(passed);
      expect(Math.max(...longer)).toBeLessThan(10 * Math.max(1, passed));
      expect(new Set(longer).size).toBe(100);
    }
    const fresh = Array.from({ length: 1000 }, () => guess.drawBeyond(0, random)).sort((a, b) => a - b);
    expect(Math.abs(fresh[500]! - 1)).toBeLessThan(0.1);
  });

  it('are less certain on average the fewer were seen', () => {
    const errors = [3, 30, 300].map((count) => learned(around(100, count)).distribution()!.relativeError);
    expect(errors[0]!).toBeGreaterThan(2 * errors[1]!);
    expect(errors[1]!).toBeGreaterThan(2 * errors[2]!);
  });
});
