import { describe, expect, it } from 'vitest';
import { linearGlob } from '../../../src/tools/pattern/glob.ts';

describe('a glob', () => {
  it.each([
    ['*.ts', ['a.ts', '.ts', 'a.b.ts'], ['a/b.ts', 'a.tsx', 'ts']],
    ['**/*.ts', ['a.ts', 'a/b.ts', 'a/b/c.ts'], ['a.js']],
    ['src/**', ['src/a', 'src/a/b', 'src/.hidden'], ['src', 'asrc/b', 'lib/src/a']],
    ['src/**/test/*.js', ['src/test/a.js', 'src/a/b/test/c.js'], ['src/test/a/b.js']],
    ['**', ['a', 'a/b', ''], []],
    ['a**b', ['ab', 'axxb'], ['a/b']],
    ['?.txt', ['a.txt', 'é.txt', '😀.txt'], ['ab.txt', '.txt', '/.txt']],
    ['[a-c!].txt', ['a.txt', '!.txt'], ['d.txt']],
    ['[!a-c].txt', ['d.txt'], ['a.txt', '/.txt']],
    ['[]a].txt', ['].txt', 'a.txt'], ['b.txt']],
    ['[+-9]x', ['0x', '-x'], ['/x']],
    ['{a,b/c}.{ts,js}', ['a.ts', 'b/c.js'], ['a.c', 'b.ts']],
    ['{**/x,y}', ['x', 'a/b/x', 'y'], ['a/y']],
    ['{,a}b', ['b', 'ab'], ['aab']],
    ['\\*\\{', ['*{'], ['a{']],
    ['a.b', ['a.b'], ['axb']],
    ['(a|b)+$', ['(a|b)+$'], ['a']],
  ])('%s matches as a whole path', (glob, matching, others) => {
    const matcher = linearGlob(glob);
    expect(matching.filter((path) => !matcher.test(path))).toEqual([]);
    expect(others.filter((path) => matcher.test(path))).toEqual([]);
  });

  it('ends soon where backtracking would take for ever', () => {
    expect(linearGlob(`${'*a'.repeat(60)}*b`).test('a'.repeat(255))).toBe(false);
    expect(linearGlob(`${'**/'.repeat(60)}b`).test('a/'.repeat(1000))).toBe(false);
  });

  it.each(['{a', '[a', '[]', 'a\\', '{'.repeat(60)])('refuses %s', (glob) => {
    expect(() => linearGlob(glob)).toThrow('is not valid');
  });
});
