import fc from 'fast-check';
import picomatch from 'picomatch';
import { describe, expect, test } from 'vitest';
import { findOverlap, OverlapIndex } from '../../../src/tasks/plan/deliverables.ts';
import { feature } from '../support/feature.ts';

function meet(a: string, b: string): boolean {
  const [first, second] = feature({ '01': { deliverables: [a] }, '02': { deliverables: [b] } }).subtasks;
  const there = findOverlap(first!, second!) !== undefined;
  expect(findOverlap(second!, first!) !== undefined, 'the other way round').toBe(there);
  const index = new OverlapIndex();
  index.add(first!);
  expect(index.overlapping(second!), 'by the index').toEqual(there ? [first] : []);
  return there;
}

describe('deliverables', () => {
  test.each([
    ['src/a.ts', 'src/a.ts'],
    ['./src//a.ts', 'src/a.ts'],
    ['src/', 'src/a.ts'],
    ['src', 'src/deep/a.ts'],
    ['.', 'a.ts'],
    ['src/**', 'src/a.ts'],
    ['src/**/*.ts', 'src/a.ts'],
    ['src/**/*.ts', 'src/a/b/c.ts'],
    ['**/*.ts', 'src/**'],
    ['src/*.ts', 'src/a*'],
    ['src/a*c', 'src/ab*'],
    ['src/{a,b}.ts', 'src/b.ts'],
    ['{src,lib}/{a,b}/*.ts', 'lib/b/x.ts'],
    ['src/[ab].ts', 'src/b.ts'],
    ['src/?.ts', 'src/x.ts'],
    ['src/+(a|b).ts', 'src/b.ts'],
    ['README.md', 'readme.md'],
    ['src\\a.ts', 'src/a.ts'],
    ['**', 'anything/at/all'],
    ['src/*/index.ts', 'src/**/index.*'],
  ])('%s and %s may be the same file', (a, b) => expect(meet(a, b)).toBe(true));

  test.each([
    ['src/a.ts', 'src/b.ts'],
    ['src', 'srcs/a.ts'],
    ['src/*.ts', 'src/deep/a.ts'],
    ['src/*.ts', 'src/*.js'],
    ['src/**/*.ts', 'src/**/*.md'],
    ['src/api/**', 'src/db/**'],
    ['src/{a,b}.ts', 'src/c.ts'],
    ['src/[ab].ts', 'src/c.ts'],
    ['src/[!ab].ts', 'src/a.ts'],
    ['src/?.ts', 'src/xy.ts'],
    ['a/**/z', 'b/**/z'],
    ['src/user-*.ts', 'src/order-*.ts'],
    ['!src/a.ts', 'src/a.ts'],
  ])('%s and %s are different files', (a, b) => expect(meet(a, b)).toBe(false));

  test('that both match some path are never taken for different ones', () => {
    const name = fc.constantFrom('a', 'b', 'ab', 'a.ts', 'b.ts');
    const path = fc.array(name, { minLength: 1, maxLength: 4 });
    const ways = fc.array(fc.nat({ max: WAYS.length - 1 }), { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(path, ways, ways, (names, some, others) => {
        const [one, other] = [some, others].map((chosen) =>
          names.map((part, place) => WAYS[chosen[place]!]!(part)).join('/'),
        ) as [string, string];
        expect(picomatch.isMatch(names.join('/'), one), 'the test itself').toBe(true);
        expect(meet(one, other), `${one} and ${other}`).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

/** Globs that match a name. */
const WAYS: readonly ((name: string) => string)[] = [
  (name) => name,
  () => '*',
  () => '**',
  (name) => `${name[0]}*`,
  (name) => `*${name.at(-1)}`,
  (name) => `{${name},z}`,
  (name) => `[${name[0]}z]${name.slice(1)}`,
  (name) => `?${name.slice(1)}`,
  (name) => `@(${name}|z)`,
];
