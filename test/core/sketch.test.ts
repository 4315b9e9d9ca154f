import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Sketch } from '../../src/core/sketch.ts';

const QUANTILES = [0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1];

/** The value at a quantile of the whole list. */
function exactQuantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(1, Math.ceil(q * sorted.length)) - 1]!;
}

interface Bucket {
  readonly low: number;
  readonly width: number;
  readonly count: number;
}

function bucketsOf(sketch: Sketch): Bucket[] {
  const buckets: Bucket[] = [];
  sketch.forEachBucket((low, width, count) => buckets.push({ low, width, count }));
  return buckets;
}

describe('a sketch', () => {
  it.each([
    [5, 0.016],
    [3, 0.0625],
  ])('with %i bits is off by at most %d of the true quantile', (bits, bound) => {
    const values = fc.array(fc.oneof(fc.nat(100), fc.nat(100_000), fc.nat(2 ** 31 - 1)), {
      minLength: 1,
      maxLength: 500,
    });
    fc.assert(
      fc.property(values, (list) => {
        const sketch = new Sketch(bits);
        for (const value of list) sketch.add(value);
        for (const q of QUANTILES) {
          const exact = exactQuantile(list, q);
          expect(Math.abs(sketch.quantile(q) - exact)).toBeLessThanOrEqual(exact * bound);
          expect(sketch.quantile(q)).toBeLessThanOrEqual(sketch.max);
        }
      }),
    );
  });

  it('gives its buckets from the lowest, each with the values that lie in it', () => {
    const values = fc.array(fc.oneof(fc.nat(100), fc.nat(2 ** 31 - 1), fc.constant(2 ** 31 - 1)));
    fc.assert(
      fc.property(values, (list) => {
        const sketch = new Sketch(3);
        for (const value of list) sketch.add(value);
        const found: number[] = [];
        for (const { low, width, count } of bucketsOf(sketch)) {
          const inside = list.filter((value) => value >= low && value <= low + width);
          expect(inside).toHaveLength(count);
          expect(width).toBeLessThanOrEqual(Math.max(1, low / 8 + 1));
          found.push(...inside.sort((a, b) => a - b));
        }
        expect(found).toEqual([...list].sort((a, b) => a - b));
      }),
    );
  });

  it('is exact for small whole numbers, and for count, sum, mean and largest', () => {
    const sketch = new Sketch();
    for (let value = 0; value < 64; value++) sketch.add(value);
    expect([0.25, 0.5, 1].map((q) => sketch.quantile(q))).toEqual([15, 31, 63]);
    expect([sketch.count, sketch.sum, sketch.mean(), sketch.max]).toEqual([64, 2016, 31.5, 63]);
  });

  it('gives the mean of nine quantiles as the quantiles one by one do', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(100_000), { minLength: 1, maxLength: 60 }), (values) => {
        const sketch = new Sketch(3);
        for (const value of values) sketch.add(value);
        let sum = 0;
        for (let tenth = 1; tenth <= 9; tenth++) sum += sketch.quantile(tenth / 10);
        expect(sketch.middleMean()).toBe(sum / 9);
      }),
    );
  });

  it('knows nothing while nothing was added', () => {
    const sketch = new Sketch();
    expect([sketch.quantile(0.5), sketch.mean(), sketch.count]).toEqual([0, 0, 0]);
  });

  it('takes values beyond its range for its ends', () => {
    const sketch = new Sketch();
    sketch.add(-5);
    expect(bucketsOf(sketch)).toEqual([{ low: 0, width: 0, count: 1 }]);
    for (const value of [2 ** 32 + 5, 1e15, Number.POSITIVE_INFINITY]) sketch.add(value);
    expect(bucketsOf(sketch)).toMatchObject([{ count: 1 }, { count: 3 }]);
    expect(sketch.quantile(0.5)).toBeGreaterThan(2e9);
  });

  it('forgets half at each decay, so that new values soon outweigh old ones', () => {
    const sketch = new Sketch();
    for (let index = 0; index < 1000; index++) sketch.add(1000);
    for (let halving = 0; halving < 4; halving++) sketch.decay();
    expect(sketch.count).toBeLessThanOrEqual(63);
    for (let index = 0; index < 100; index++) sketch.add(10);
    expect(sketch.quantile(0.5)).toBe(10);
  });

  it('keeps its mean and its shape at each decay, even of values that it has seen but once', () => {
    const sketch = new Sketch();
    for (let value = 0; value < 64; value++) sketch.add(value);
    expect(sketch.hasFaded).toBe(false);
    for (const left of [32, 16, 8]) {
      sketch.decay();
      expect([sketch.count, sketch.mean(), sketch.hasFaded]).toEqual([left, 31.5, true]);
      expect(bucketsOf(sketch).reduce((sum, { count }) => sum + count, 0)).toBe(left);
      for (const q of [0.25, 0.5, 0.75]) expect(Math.abs(sketch.quantile(q) - 64 * q)).toBeLessThan(8);
    }
  });

  it('does not let rare values wander upwards, however often it fades', () => {
    const sketch = new Sketch();
    for (let round = 0; round < 100; round++) {
      sketch.add(10);
      sketch.add(60);
      sketch.decay();
    }
    expect([0.5, 1].map((q) => sketch.quantile(q))).toEqual([10, 60]);
  });
});
