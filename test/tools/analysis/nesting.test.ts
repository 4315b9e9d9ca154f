import { describe, expect, test } from 'vitest';
import { amount } from '../../support/depth.ts';
import { factsOf } from './support/sample.ts';

// The parsers go some thousand levels deep; what lies deeper they report and read less exactly. All that is promised
// of such a file is that it does no harm.
describe('deep nesting overflows no stack:', { timeout: 180_000 }, () => {
  test('parentheses', () => {
    const levels = amount({ quick: 20_000, deep: 100_000 });
    const facts = factsOf('a.js', `x = ${'('.repeat(levels)}a${')'.repeat(levels)}\nfunction f() {}\n`);
    expect(facts.lines).toEqual({ total: 2, code: 2, comment: 0, blank: 0 });
    expect(facts.functions.count).toBe(1);
  });

  test.each([
    ['a.js', '{'],
    ['a.js', '['],
    ['a.py', '('],
    ['a.jsx', '<a>'],
    ['a.js', '`${'],
    ['a.ts', 'a<'],
  ])('unclosed, %s: %s', (name, opening) => {
    expect(factsOf(name, opening.repeat(20_000)).syntaxErrors.first).toEqual([1]);
  });

  test.each([
    ['a.js', 'a=>'],
    ['a.py', 'lambda:'],
  ])('functions, %s: %s', (name, opening) => {
    const facts = factsOf(name, `x = ${opening.repeat(20_000)}1`, 10);
    expect(facts.functions.count).toBeGreaterThan(19_000);
    expect(facts.totalComplexity).toBe(facts.functions.count);
  });

  test.each([
    ['a.js', '&&'],
    ['a.py', ' and '],
  ])('operators, %s: %s', (name, operator) => {
    expect(factsOf(name, `x = a${`${operator}a`.repeat(20_000)}`).topLevelDecisions).toBe(20_000);
  });
});
