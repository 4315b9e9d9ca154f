import { describe, expect, test } from 'vitest';
import { factsOf, functionsOf, sample } from './support/sample.ts';

/** What a person counted in a sample. Functions are `name line-end complexity parameters`. */
interface Counted {
  readonly language: string;
  readonly lines: { total: number; code: number; comment: number; blank: number };
  readonly functions: readonly string[];
  /** `name line-end methods`. */
  readonly classes: readonly string[];
  /** `line module`. */
  readonly imports: readonly string[];
  readonly totalComplexity: number;
  readonly maxComplexity: number;
  readonly topLevelDecisions: number;
  readonly longest: string;
}

const COUNTED: Record<string, Counted> = {
  'shop.js': {
    language: 'javascript',
    lines: { total: 106, code: 83, comment: 6, blank: 17 },
    functions: [
      'total 18-26 7 3',
      'round 28-28 1 1',
      'describe 30-40 5 1',
      'ids 42-47 2 1',
      'Basket.limit 51-51 2 0',
      'Basket.constructor 53-57 2 1',
      'Basket.size 59-61 1 0',
      'Basket.size 63-65 2 1',
      'Basket.[Symbol.asyncIterator] 67-69 2 0',
      'open 77-85 2 0',
      'close now 86-86 1 0',
      '[path.sep] 87-89 1 0',
      'refill 92-99 2 1',
      '(anonymous) 96-96 1 1',
      '(anonymous) 96-98 1 1',
      'default 101-106 2 0',
      '(anonymous) 103-103 1 1',
    ],
    classes: ['Basket 49-74 5'],
    imports: [
      '5 node:fs',
      '6 ./side-effect.js',
      '7 ./prices.js',
      '8 ./tax.js',
      '9 node:path',
      '102 ./plugins.js',
    ],
    totalComplexity: 35,
    maxComplexity: 7,
    topLevelDecisions: 2,
    longest: 'describe',
  },
  'ledger.ts': {
    language: 'typescript',
    lines: { total: 86, code: 70, comment: 2, blank: 14 },
    functions: [
      'parse 22-25 3 1',
      'Account.compare 28-28 1 2',
      'Account.constructor 32-35 1 2',
      'Account.post 41-49 5 2',
      'nested 47-47 2 2',
      'Account.name 51-53 1 0',
      'lines 57-61 3 1',
      'Nothing.render 64-66 1 0',
      'debit 71-71 1 1',
      'credit 72-79 3 1',
      'retry 82-82 1 1',
      'Bank.check 85-85 2 0',
    ],
    classes: ['Account 27-54 4', 'Nothing 63-67 1', 'Bank 84-86 1'],
    imports: ['1 ./money.ts', '2 ./clock.ts', '3 ./money.ts'],
    totalComplexity: 24,
    maxComplexity: 5,
    topLevelDecisions: 1,
    longest: 'Account.post',
  },
  'panel.tsx': {
    language: 'typescript',
    lines: { total: 32, code: 26, comment: 1, blank: 5 },
    functions: [
      'Panel 9-28 3 1',
      'toggle 11-11 1 0',
      '(anonymous) 11-11 1 1',
      '(anonymous) 19-21 1 1',
      'Row 30-30 1 1',
      'identity 32-32 1 1',
    ],
    classes: [],
    imports: ['1 react'],
    totalComplexity: 8,
    maxComplexity: 3,
    topLevelDecisions: 0,
    longest: 'Panel',
  },
  'orders.py': {
    language: 'python',
    lines: { total: 95, code: 68, comment: 10, blank: 17 },
    functions: [
      'key 17-17 2 3',
      'classify 20-30 6 4',
      'fetch 35-52 6 2',
      '(anonymous) 60-60 1 2',
      'Order.__init__ 62-64 2 2',
      'self.on_change 64-64 1 0',
      'Order.label 67-68 1 1',
      'Order.items 70-73 5 1',
      'Order.Line.total 76-78 5 1',
      'price 77-77 1 1',
      'report 81-91 9 1',
      '(anonymous) 91-91 1 1',
    ],
    classes: ['Order 56-78 3', 'Order.Line 75-78 1'],
    imports: ['7 os', '7 sys', '8 xml.etree.ElementTree', '9 collections', '13 .', '14 ..shop.prices'],
    totalComplexity: 40,
    maxComplexity: 9,
    topLevelDecisions: 2,
    longest: 'fetch',
  },
};

describe.each(Object.entries(COUNTED))('the analysis of %s', (name, counted) => {
  const source = sample(name);

  test.each([
    ['as it is', source],
    ['with CRLF line ends', source.replaceAll('\n', '\r\n')],
    ['without the last line end', source.slice(0, -1)],
  ])('finds what a person counts, %s', (_, text) => {
    const facts = factsOf(name, text);
    expect({
      language: facts.language,
      lines: facts.lines,
      functions: functionsOf(facts),
      classes: facts.classes.first.map((c) => `${c.name} ${c.line}-${c.endLine} ${c.methods}`),
      imports: facts.imports.first.map(({ line, module }) => `${line} ${module}`),
      totalComplexity: facts.totalComplexity,
      maxComplexity: facts.maxComplexity,
      topLevelDecisions: facts.topLevelDecisions,
      longest: facts.longest?.name,
    }).toEqual(counted);
    expect(facts.syntaxErrors).toMatchObject({ count: 0, first: [] });
  });
});
