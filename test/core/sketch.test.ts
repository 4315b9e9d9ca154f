import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Sketch } from '../../src/core/sketch.ts';

const QUANTILES = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1];

/** The value at a quantile of the whole list. */
function exactQuantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(1, Math.ceil(q * sorted.length)) - 1]!;
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
        }
      }),
    );
  });

  it('is exact for small whole numbers, and for count, sum, mean and largest', () => {
    const sketch = new Sketch();
    for (let value = 0; value < 64; value++) sketch.add(value);
    expect([0.25, 0.5, 1].map((q) => sketch.quantile(q))).toEqual([15, 31, 63]);
    expect([sketch.count, sketch.sum, sketch.mean(), sketch.max]).toEqual([64, 2016, 31.5, 63]);
  });

  it('knows nothing while nothing was added', () => {
    const sketch = new Sketch();
    expect([sketch.quantile(0.5), sketch.mean(), sketch.count]).toEqual([0, 0, 0]);
  });

  it('takes values beyond its range for its ends', () => {
    const sketch = new Sketch();
    sketch.add(-5);
    expect(sketch.quantile(1)).toBe(0);
    sketch.add(1e15);
    expect(sketch.quantile(1)).toBeGreaterThan(2e9);
  });

  it('forgets half at each decay, so that new values soon outweigh old ones', () => {
    const sketch = new Sketch();
    for (let index = 0; index < 1000; index++) sketch.add(1000);
    for (let halving = 0; halving < 4; halving++) sketch.decay();
    expect(sketch.count).toBeLessThanOrEqual(63);
    for (let index = 0; index < 100; index++) sketch.add(10);
    expect(sketch.quantile(0.5)).toBe(10);
  });
});
