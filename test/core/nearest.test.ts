import { describe, expect, it } from 'vitest';
import { nearest } from '../../src/core/nearest.ts';

const keys = [
  'max_concurrency',
  'cpu',
  'memory_mb',
  'io_operations',
  'network_operations',
  'tools',
  'groups',
];

describe('the nearest name', () => {
  it.each([
    ['max_concurency', 'max_concurrency', 'a letter too few'],
    ['memory_mbb', 'memory_mb', 'a letter too much'],
    ['memery_mb', 'memory_mb', 'a wrong letter'],
    ['ocpu', 'cpu', 'a letter before it'],
    ['cup', 'cpu', 'two letters swapped'],
    ['pcu', 'cpu', 'the first two letters swapped'],
    ['maxConcurrency', 'max_concurrency', 'camel case'],
    ['MAX-CONCURRENCY', 'max_concurrency', 'capitals and hyphens'],
    ['tool', 'tools', 'the singular'],
  ])('finds for %s the name %s: %s', (name, meant) => {
    expect(nearest(name, keys)).toBe(meant);
  });

  it.each(['timeout_ms', 'gpu_cores', '', 'x', 'zzz', 'cxp', 'cux'])('suggests nothing for %j', (name) => {
    expect(nearest(name, keys)).toBeUndefined();
  });

  it('allows one mistake in three letters of the longer name, and one in short names', () => {
    expect(nearest('abcdefxyz', ['abcdefghi'])).toBe('abcdefghi');
    expect(nearest('abcdeuxyz', ['abcdefghi'])).toBeUndefined();
    expect(nearest('abcdexyz', ['abcdefgh'])).toBeUndefined();
    expect(nearest('abcdef', ['abcdefghi'])).toBe('abcdefghi');
    expect(nearest('abcdefghi', ['abcdef'])).toBe('abcdef');
    expect(nearest('io', ['iq'])).toBe('iq');
    expect(nearest('cab', ['cpu'])).toBeUndefined();
    expect(nearest('x', ['xy'])).toBe('xy');
    expect(nearest('xy', ['x'])).toBe('x');
  });

  it('is never one that has nothing in common, however short the two are', () => {
    expect(nearest('x', ['y'])).toBeUndefined();
  });

  it('prefers fewer mistakes, then the name that stands first', () => {
    expect(nearest('car', ['cart', 'car', 'cat'])).toBe('car');
    expect(nearest('cax', ['cat', 'car'])).toBe('cat');
    expect(nearest('cup', ['cut', 'cpu'])).toBe('cut');
  });

  it('suggests nothing where nothing is known, and does not compare endless names', () => {
    expect(nearest('cpu', [])).toBeUndefined();
    expect(nearest('c'.repeat(128), ['c'.repeat(128)])).toBe('c'.repeat(128));
    expect(nearest('c'.repeat(129), ['c'.repeat(128)])).toBeUndefined();
    expect(nearest('c'.repeat(128), ['c'.repeat(129)])).toBeUndefined();
  });
});

describe('a very long list of names', () => {
  it('is not compared to its end', () => {
    const long = 'x'.repeat(100);
    const names = Array.from({ length: 2000 }, (_, index) => `${index}`.padStart(100, 'y'));
    expect(nearest(long, [long.slice(1), ...names])).toBe(long.slice(1));
    expect(nearest(long, [...names, long.slice(1)])).toBeUndefined();
  });
});
