import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { linearRegex, PatternError } from '../../../src/tools/pattern/regex.ts';
import { amount } from '../../support/depth.ts';

/** Patterns of the part that both JavaScript and the matcher know; small, since JavaScript tries all ways through them. */
const { pattern } = fc.letrec<{ pattern: string; branch: string; piece: string; atom: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 2 },
    tie('branch'),
    fc.tuple(tie('branch'), tie('pattern')).map((all) => all.join('|')),
  ),
  branch: fc.array(tie('piece'), { maxLength: 3 }).map((all) => all.join('')),
  piece: fc.oneof(
    fc
      .tuple(tie('atom'), fc.constantFrom('', '', '*', '+', '?', '*?', '{2}', '{1,}', '{0,2}'))
      .map((all) => all.join('')),
    fc.constantFrom('^', '$', '\\b', '\\B'),
  ),
  atom: fc.oneof(
    { maxDepth: 2 },
    fc.constantFrom(
      'a',
      'b',
      'B',
      ' ',
      '.',
      '\\w',
      '\\W',
      '\\d',
      '\\s',
      '\\S',
      '[ab]',
      '[^a]',
      '[a-c\\d]',
      '[^\\w]',
      '[\\W_]',
      'é',
      '\\u00e9',
      '\\x41',
      '\\cI',
      '\\u{1F600}',
      '\\ud83d\\ude00',
      '[^]',
      '[]',
      '[\\s\\S]',
      '[^\\s]',
      '[\\S\\t]',
      '[\\D-]',
      '[-a]',
      '[\\b\\]^\\-]',
      '[[:a]',
      '\\/',
      '\\{',
    ),
    tie('pattern').map((inner) => `(${inner})`),
    tie('pattern').map((inner) => `(?:${inner})`),
  ),
}));
const text = fc.string({
  unit: fc.constantFrom(
    'a',
    'b',
    'c',
    'A',
    'B',
    '1',
    ' ',
    '_',
    'é',
    'É',
    '{',
    '-',
    '\t',
    '\r',
    '\v',
    '\u00a0',
    '\u2028',
    '😀',
    '/',
    ':',
    ']',
  ),
  maxLength: 7,
});

describe('a search by regular expression', () => {
  it('finds what the expressions of JavaScript find, with and without regard to case', () => {
    fc.assert(
      fc.property(pattern, text, fc.boolean(), (source, given, ignoreCase) => {
        const expected = new RegExp(source, ignoreCase ? 'iu' : 'u').test(given);
        expect(linearRegex(source, ignoreCase).test(given)).toBe(expected);
      }),
      { numRuns: amount({ quick: 150, deep: 3000 }) },
    );
  });

  it('answers the same however often it is asked', () => {
    fc.assert(
      fc.property(pattern, fc.array(text, { maxLength: 10 }), (source, given) => {
        const matcher = linearRegex(source, false);
        const expression = new RegExp(source, 'u');
        for (const each of given) expect(matcher.test(each)).toBe(expression.test(each));
      }),
      { numRuns: amount({ quick: 40, deep: 500 }) },
    );
  });

  it.each([
    ['(a+)+$', `${'a'.repeat(20_000)}!`],
    ['(a|aa)+$', `${'a'.repeat(20_000)}!`],
    ['(.*)*x.*x.*x.*x.*x$', 'x'.repeat(20_000).concat('!')],
    ['^(\\w+\\s?)*$', `${'word '.repeat(4000)}!`],
    // Nearly every place of such a text has a state of its own, so that none is met again.
    [
      '[ab]*a[ab]{300}c',
      Array.from({ length: 10_000 }, (_, n) => (Math.sin(n * n) > 0 ? 'a' : 'b')).join(''),
    ],
  ])('ends soon where backtracking would take for ever: %s', (source, given) => {
    expect(linearRegex(source, false).test(given)).toBe(false);
  });

  it('takes a lone bracket and a needless backslash for what people mean by them', () => {
    expect(linearRegex('f\\(\\) {$').test('f() {')).toBe(true);
    expect(linearRegex('^a{,2}\\-]$').test('a{,2}-]')).toBe(true);
  });

  it('takes a character beyond the first 65536 as one', () => {
    expect(linearRegex('^.$', false).test('😀')).toBe(true);
    expect(linearRegex('^[😀-😎]$', false).test('😃')).toBe(true);
    expect(linearRegex('^\\u{1F600}$', false).test('😀')).toBe(true);
  });

  it.each([
    ['(?=a)', 'look-around'],
    ['(?<!a)b', 'look-around'],
    ['(a)\\1', 'back-reference'],
    ['(?<x>a)\\k<x>', 'back-reference'],
    ['\\p{L}', '\\p'],
    ['a{5000}', 'more than 1000'],
    ['((a{100}){100}){100}', 'too large'],
    [`${'a{1000}'.repeat(100)}`, 'too large'],
    [`(?:${'abc'.repeat(300)}){900}`, 'too large'],
    [`${'('.repeat(60)}${')'.repeat(60)}`, 'nested'],
  ])('refuses %s, which could take long, and says why', (source, problem) => {
    expect(() => linearRegex(source, false)).toThrow(problem);
  });

  it.each(['a**', '*a', '^*', '(a', 'a)', '[a', '[b-a]', 'a{3,2}', 'a\\'])(
    'refuses %s, which is no expression of JavaScript',
    (source) => {
      expect(() => linearRegex(source, false)).toThrow(PatternError);
    },
  );
});
