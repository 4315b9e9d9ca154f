import picomatch from 'picomatch';
import { describe, expect, it } from 'vitest';
import { globProblem } from '../../src/core/glob.ts';

describe('a glob', () => {
  it.each([
    '(((([a-z_]+)+)+)+)+!',
    '(((a+)+)+)+!',
    '+(a*)b',
    '+(a|aa)b',
    '+(a|[a-z])b',
    '*(+(a))b',
    '(a)?b',
    '(?=a)b',
    '[a]+[a]+[a]+[a]+b',
    '[(a+)+\\]',
    '[[:alpha:\\](a+)+]',
    '"("{a,aa}',
    '@({a,aa}@(|/**//**/.{a,aa}/**/.[**,|((*|aaa/**/a)!',
    '@({a)+}',
    `${'{a,aa}'.repeat(30)}!`,
    `${'?(a)'.repeat(30)}!`,
    `@(${'{a,a},'.repeat(30)}!)`,
    '*a*a*a*a',
    '**/a/**/b/**/c/**',
    '{**,a}/{**,b}/{**,c}/{**,d}',
  ])('that may take exponential time is refused: %s', (glob) => {
    expect(globProblem(glob)).toBeDefined();
  });

  it.each([
    ['**/*.{js,jsx,ts,tsx,mjs,cjs}', 'src/a.ts'],
    ['src/**/!(*.test).ts', 'src/x/a.ts'],
    ['+([0-9]).md', '123.md'],
    ['*.+(ts|js)', 'a.ts'],
    ['@(a|b)?(c)', 'bc'],
    ['{src,test}/**/*.{test,spec}.{ts,tsx,js,jsx}', 'test/x/a.spec.ts'],
    ['chapter{1..3}.md', 'chapter2.md'],
    ['c++/*.h', 'c++/a.h'],
    ['[[:alpha:]]*', 'abc'],
    ['!(node_modules)/**', 'src/a'],
    ['(a|b)/*.ts', 'a/x.ts'],
  ])('that people write can be used: %s', (glob, path) => {
    expect(globProblem(glob)).toBeUndefined();
    expect(picomatch(glob, { dot: true, posix: true })(path)).toBe(true);
  });
});
