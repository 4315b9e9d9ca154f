import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mentionsIn } from '../../src/script/mentions.ts';
import { cpuMsOf } from '../support/cpu-time.ts';
import { amount } from '../support/depth.ts';

const known = new Set(['a', 'b', 'c', 'notes', 'item', 'JSON', 'results', 'with-dash']);
const mentioned = (source: string, locals?: ReadonlySet<string>) => {
  const { ids, usesAll } = mentionsIn(source, known, locals);
  return [...[...ids].sort(), ...(usesAll ? ['all'] : [])];
};

describe('mentionsIn', () => {
  it.each<[string, string[]]>([
    ['a', ['a']],
    ['a.length > 3 && b', ['a', 'b']],
    ['x + y', []],
    ['results.a', ['a']],
    ['results?.a', ['a']],
    ["results['with-dash'].x", ['with-dash']],
    ['results?.["with-dash"]', ['with-dash']],
    ['results[`a`]', ['a']],
    ["results['it\\'s']", ["it's"]],
    ['results[3]', ['3']],
    ['results.unknown', ['unknown']],
    ['x.results.a', []],
    ['x.a + x?.b + x["c"]', []],
    ['results', ['all']],
    ['results[a]', ['a', 'all']],
    ['results[`${b}`]', ['b', 'all']],
    ["results['\\x61']", ['all']],
    ['Object.values(results)', ['all']],
    ['(({ a }) => a)(results)', ['all']],
    ['{ a }', ['a']],
    ['{ a: 1, b() {} }', []],
    ['{ a: b, [c]: 1 }', ['b', 'c']],
    ['{ ...a }', ['a']],
    ['`${a} and ${`${b}`}`', ['a', 'b']],
    ['JSON.parse(a)', ['a']],
    ['a ? b : c', ['a', 'b', 'c']],
    ['a;', ['a']],
    ['"a" + /b/.source // c', []],
    ['a /* b */', ['a']],
  ])('%s', (source, expected) => {
    expect(mentioned(source)).toEqual(expected);
  });

  it.each<[string, string[]]>([
    ['a.map(a => a.x)', ['a']],
    ['b.map(a => a.x)', ['b']],
    ['b.map((x, a = c) => a)', ['b', 'c']],
    ['b.map(({ a, x: [c] }) => a + c)', ['b']],
    ['b.map(({ a: x }) => a)', ['a', 'b']],
    ['(() => { const a = 1; return a + b })()', ['b']],
    ['(() => { { let a = 1 } return a })()', ['a']],
    ['(() => { { var a = 1 } return a })()', []],
    ['(() => { for (const a of b) { a } return c })()', ['b', 'c']],
    ['(() => { for (var a of b) { } return a })()', ['b']],
    ['(() => { for (let a = 0; a < b; a++) a; return a })()', ['a', 'b']],
    ['(() => { try { b } catch (a) { a } })()', ['b']],
    ['(() => { try { b } catch { } return a })()', ['a', 'b']],
    ['(() => { return a(); function a() { return b } })()', ['b']],
    ['(function a() { return a })', []],
    ['(() => { class a extends b { c() { return a } } return new a() })()', ['b']],
    ['({ f(a) { return a + b } })', ['b']],
    ['(() => { [a] = b })()', ['a', 'b']],
    ['(() => { let x; ({ x } = b); return x })()', ['b']],
    ['((results) => results.a)(b)', ['b']],
    ['(async (a) => { for await (const b of a) c })', ['c']],
  ])('knows what a script declares itself: %s', (source, expected) => {
    expect(mentioned(source)).toEqual(expected);
  });

  it('leaves names alone that mean something else here', () => {
    expect(mentioned('item.x + a + results.item', new Set(['item']))).toEqual(['a', 'item']);
    expect(mentioned('item.x')).toEqual(['item']);
  });

  it.each<[string, number, number]>([
    ['a +', 1, 4],
    ['const x = 1', 1, 1],
    ['a b', 1, 3],
    ['a.map(x =>\n  x +\n)', 3, 1],
    ['', 1, 1],
  ])('refuses %j and says where', (source, line, column) => {
    expect(() => mentionsIn(source, known)).toThrow(
      expect.objectContaining({ code: 'INVALID_EXPRESSION', details: { line, column } }),
    );
  });

  it('refuses what is too long or has a NUL character', () => {
    const invalid = expect.objectContaining({ code: 'INVALID_EXPRESSION' });
    expect(() => mentionsIn('a+'.repeat(10_000).concat('a'), known)).toThrow(invalid);
    expect(() => mentionsIn('"\0"', known)).toThrow(invalid);
  });

  it('answers quickly for any text', () => {
    const piece = fc.constantFrom(
      'a',
      'results',
      '=>',
      '(',
      ')',
      '{',
      '}',
      '[',
      ']',
      '.',
      '`',
      '${',
      ';',
      ' ',
      '+',
      '\n',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.integer({ min: 1, max: 300 }), (pieces, times) => {
        const source = pieces.join('').repeat(times).slice(0, 20_000);
        const spentMs = cpuMsOf(() => {
          try {
            mentionsIn(source, known);
          } catch (error) {
            expect(error).toMatchObject({ code: 'INVALID_EXPRESSION' });
          }
        });
        expect(spentMs).toBeLessThan(2000);
      }),
      { numRuns: amount({ quick: 60, deep: 200 }) },
    );
    const spentMs = cpuMsOf(() => {
      mentionsIn('a=>'.repeat(1000).concat('a'), known);
      mentionsIn('a+'.repeat(1000).concat('a'), known);
    });
    expect(spentMs).toBeLessThan(2000);
  });
});
