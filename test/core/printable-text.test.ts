import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createColors, onlyOwnStyles } from '../../src/cli/output/colors.ts';
import { cutMiddleToWidth, cutToWidth, textWidth } from '../../src/cli/output/text-layout.ts';
import { printableJson, printableLine, printableText } from '../../src/core/printable-text.ts';
import { amount } from '../support/depth.ts';

/** Pieces of commands, of every kind of invisible character, and of ordinary text in several scripts. */
const PIECES = [
  ...[
    '\x1b',
    '[',
    ']',
    '0;',
    '2J',
    '31',
    'm',
    '\x07',
    '\x9b',
    '\x9c',
    '\x9d',
    '\\',
    'P',
    '(',
    '\x00',
    '\x08',
  ],
  ...[
    '\r',
    '\n',
    '\r\n',
    '\t',
    '\v',
    '\x7f',
    '\x85',
    '\u2028',
    '\u2029',
    '\u202e',
    '\u2066',
    '\u200e',
    '\u061c',
  ],
  ...['\u200b', '\u200c', '\u200d', '\u2060', '\ufeff', '\u00ad', '\u034f', '\u3164', '\u{e0041}', '\ufff9'],
  ...[
    '\ud800',
    '\udc00',
    '\ufe0f',
    'a',
    'é',
    'е',
    '解',
    'می',
    '👨',
    '👩',
    '❤',
    '\u0301',
    ' ',
    '\x1b[31m',
    '\x1b[39m',
  ],
];
const texts = fc.oneof(
  fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }).map((pieces) => pieces.join('')),
  fc.string({ unit: 'binary', maxLength: 100 }),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('utf8')),
);
/** What must never get through, written out by code points rather than as the filter has it. */
function isForbidden(code: number): boolean {
  const ranges = [
    [0x00, 0x08],
    [0x0b, 0x1f],
    [0x7f, 0x9f],
    [0x00ad, 0x00ad],
    [0x034f, 0x034f],
    [0x061c, 0x061c],
    [0x200b, 0x200b],
    [0x200e, 0x200f],
    [0x2028, 0x202e],
    [0x2060, 0x206f],
    [0x3164, 0x3164],
    [0xd800, 0xdfff],
    [0xfeff, 0xfeff],
    [0xfff9, 0xfffb],
    [0xe0000, 0xe007f],
  ] as const;
  return ranges.some(([first, last]) => code >= first && code <= last);
}
const forbiddenIn = (text: string) => [...text].filter((one) => isForbidden(one.codePointAt(0)!));
const RUNS = { numRuns: amount({ quick: 300, deep: 5000 }) };

describe('text of others', () => {
  it('is nothing but printable text afterwards, and filtering it again changes nothing', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const [shown, line] = [printableText(text), printableLine(text)];
        expect(forbiddenIn(shown)).toEqual([]);
        expect(printableText(shown)).toBe(shown);
        expect(forbiddenIn(line)).toEqual([]);
        expect(line).not.toMatch(/[\n\t]| {2}|^ | $/);
        expect(printableLine(line)).toBe(line);
      }),
      RUNS,
    );
  });

  it('stays as it is where it is printable', () => {
    for (const text of ['plain', 'a\n\tb', 'é 解析 한글', 'می‌خواهم', '👨‍👩‍👧 ❤️ 🇩🇪', 'क्‍ष', '√ ≠ “x” …'])
      expect(printableText(text)).toBe(text);
  });

  it('has joiners only where scripts and emoji need them', () => {
    expect(printableText('ad\u200dmin a\u200cb')).toBe('ad\ufffdmin a\ufffdb');
  });

  it('takes the columns that the functions of width say, however it is cut', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 0, max: 40 }), (text, columns) => {
        const line = printableLine(text);
        const sum = [...line].reduce((width, one) => width + textWidth(one), 0);
        expect(textWidth(line)).toBe(sum);
        for (const cut of [cutToWidth(line, columns), cutMiddleToWidth(line, columns)]) {
          expect(textWidth(cut)).toBeLessThanOrEqual(columns);
          expect(forbiddenIn(cut)).toEqual([]);
        }
      }),
      RUNS,
    );
  });

  it('takes no longer for being made of commands without an end', () => {
    // Quadratic work on texts of this length would take minutes.
    const length = amount({ quick: 200_000, deep: 1_000_000 });
    for (const piece of ['\x9d', '\x1b]', '\x1b[', '\x1b(', '\x1b]a', '\u200d', 'م\u200d', '\r', '\x1b[1'])
      expect(forbiddenIn(printableText(piece.repeat(length / piece.length)))).toEqual([]);
  });
});

describe('styles', () => {
  const colors = createColors(true);
  const styles = Object.values(colors);

  it('of our own survive around any text, and nothing else does', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(texts, fc.nat(styles.length - 1)), { maxLength: 5 }), (pieces) => {
        const styled = pieces.map(([text, style]) => styles[style]!(printableText(text))).join('');
        expect(onlyOwnStyles(styled)).toBe(styled);
        const raw = pieces.map(([text, style]) => styles[style]!(text)).join('');
        const shown = onlyOwnStyles(raw);
        const SGR = new RegExp(`${String.fromCharCode(0x1b)}\\[(?:1|2|22|31|32|33|36|39)m`, 'g');
        expect(forbiddenIn(shown.replace(SGR, ''))).toEqual([]);
        expect(onlyOwnStyles(shown)).toBe(shown);
      }),
      RUNS,
    );
  });
});

describe('JSON for a terminal', () => {
  it('says the same, without anything unprintable', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const json = printableJson(JSON.stringify({ text }));
        expect(JSON.parse(json)).toEqual({ text });
        expect(forbiddenIn(json)).toEqual([]);
      }),
      RUNS,
    );
  });
});
