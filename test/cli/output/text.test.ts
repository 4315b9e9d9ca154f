import { describe, expect, it } from 'vitest';
import { createColors, wantsColors } from '../../../src/cli/output/colors.ts';
import {
  factorText,
  numberText,
  percentText,
  rateText,
  timeRangeText,
} from '../../../src/cli/output/numbers.ts';
import {
  cutMiddleToWidth,
  cutStartToWidth,
  cutToWidth,
  tableLines,
  textWidth,
} from '../../../src/cli/output/text-layout.ts';
import { printableLine } from '../../../src/core/printable-text.ts';
import { shellQuote } from '../../../src/core/shell-quote.ts';

describe('a text of somebody else', () => {
  it.each([
    ['as it is', 'Analyze user_model.py', 'Analyze user_model.py'],
    ['without colors', '\x1b[1;31mred\x1b[0m text', 'red text'],
    ['without the title of a window', 'a\x1b]0;evil\x07b\x1b]2;evil\x1b\\c', 'abc'],
    ['without commands in one character', 'a\x9b31mb\x9d0;x\x9cc', 'abc'],
    ['without device control strings', 'a\x1bPevil\x1b\\b\x1b_x\x1b\\c', 'abc'],
    ['without a reset', 'a\x1bcb\x1b(0c', 'abc'],
    ['in spite of a command that has no end', 'a\x1b]0;never closed', 'a0;never closed'],
    ['in spite of half a command', 'a\x1b[31\x00b\x1b', 'a31\ufffdb'],
    ['on one line', ' a\r\n\tb \u2028 c  ', 'a b c'],
    ['with signs in place of control characters', 'a\x00b\x08c\x7fd', 'a\ufffdb\ufffdc\ufffdd'],
    ['without marks that turn the direction', 'a\u202eb\u2066c', 'a\ufffdb\ufffdc'],
    ['without half of a pair', 'a\ud800b😀', 'a\ufffdb😀'],
  ])('is shown %s', (_how, text, shown) => {
    expect(printableLine(text)).toBe(shown);
  });

  it('never holds a control character afterwards, whatever it was put together from', () => {
    const pieces = ['\x1b', '[', ']', '0;', '\x07', '\x9b', 'm', '\\', 'P', '\x00', '\r', 'é', '😀', ' '];
    let seed = 7;
    const next = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return Math.floor((seed / 2 ** 31) * below);
    };
    for (let round = 0; round < 20_000; round++) {
      const text = Array.from({ length: next(12) }, () => pieces[next(pieces.length)]).join('');
      expect(printableLine(text)).not.toMatch(/\p{Cc}/u);
    }
  });
});

describe('a width', () => {
  it('counts two columns for wide signs and none for marks', () => {
    expect(textWidth('abc')).toBe(3);
    expect(textWidth('解析')).toBe(4);
    expect(textWidth('😀')).toBe(2);
    expect(textWidth('e\u0301')).toBe(1);
    expect(textWidth('한글')).toBe(4);
    expect(textWidth('❤\ufe0f')).toBe(2);
  });

  it('is kept when a text is cut, at its end, its middle or its start', () => {
    expect(cutToWidth('Analyze', 7)).toBe('Analyze');
    expect(cutToWidth('Analyze', 6)).toBe('Analy…');
    expect(cutToWidth('解析する', 4)).toBe('解…');
    expect(cutToWidth('abc', 0)).toBe('');
    expect(cutMiddleToWidth('Analyze src/models/user_model.py', 20)).toBe('Analyz…user_model.py');
    expect(cutStartToWidth('Analyze src/models/user.py', 9)).toBe('…/user.py');
    for (let columns = 0; columns < 40; columns++) {
      for (const cut of [cutToWidth, cutMiddleToWidth, cutStartToWidth]) {
        expect(textWidth(cut('解析する😀 e\u0301 src/models/解析.py', columns))).toBeLessThanOrEqual(columns);
      }
    }
  });

  it('bounds a text that stacks marks without end', () => {
    expect(cutToWidth(`a${'\u0301'.repeat(1_000_000)}`, 10).length).toBeLessThan(200);
    expect(cutMiddleToWidth(`a${'\u0301'.repeat(1_000_000)}`, 20).length).toBeLessThan(400);
  });
});

describe('numbers', () => {
  it('are written for people', () => {
    expect([0, 999, 1000, 12_345, 1_234_567, -1500].map(numberText)).toEqual([
      '0',
      '999',
      '1,000',
      '12,345',
      '1,234,567',
      '-1,500',
    ]);
    expect([0, 0.001, 0.5, 0.999, 1, Number.NaN].map(percentText)).toEqual([
      '0%',
      '<1%',
      '50%',
      '99%',
      '100%',
      '0%',
    ]);
    expect([1240, 41.2, 3.46, 0.2, 0.0005].map(rateText)).toEqual([
      '1,240/s',
      '41/s',
      '3.5/s',
      '12/min',
      '1.8/h',
    ]);
    expect([4.12, 0.9, 120].map(factorText)).toEqual(['4.1', '0.9', '120']);
  });

  it('of a time that is left say how sure it is', () => {
    const range = (lowMs: number, highMs: number) => timeRangeText({ lowMs, highMs });
    expect(range(0, 100)).toBe('about 1 s');
    expect(range(39_000, 41_000)).toBe('about 40 s');
    expect(range(31_000, 52_000)).toBe('30 to 50 s');
    expect(range(125_000, 250_000)).toBe('2 to 4 min');
    expect(range(50_000, 100_000)).toBe('50 s to 1 min 30 s');
    expect(range(7_200_000, 10_800_000)).toBe('2 to 3 h');
    expect(range(5000, 1000)).toBe('about 5 s');
  });
});

describe('colors', () => {
  it('are used on a terminal, unless the environment says otherwise', () => {
    const terminal = { isTTY: true };
    expect(wantsColors(terminal, {})).toBe(true);
    expect(wantsColors({}, {})).toBe(false);
    expect(wantsColors(terminal, { NO_COLOR: '1' })).toBe(false);
    expect(wantsColors(terminal, { NO_COLOR: '' })).toBe(true);
    expect(wantsColors(terminal, { TERM: 'dumb' })).toBe(false);
    expect(wantsColors({}, { FORCE_COLOR: '1', NO_COLOR: '1' })).toBe(true);
    expect(wantsColors(terminal, { FORCE_COLOR: '0' })).toBe(false);
    expect(createColors(true).red('x')).toBe('\x1b[31mx\x1b[39m');
    expect(createColors(false).red('x')).toBe('x');
  });
});

describe('a table', () => {
  const columns = [{ title: 'id' }, { title: 'task' }, { title: 'ms', align: 'right' as const }];
  const options = { colors: createColors(false) };

  it('has columns that stand below each other', () => {
    expect(
      tableLines(
        columns,
        [
          ['1', '解析', '5'],
          ['22', 'a\x1b[31mb', '1,000'],
        ],
        options,
      ),
    ).toEqual(['id  task     ms', '1   解析      5', '22  ab    1,000']);
  });

  it('gives way where it is too wide, the widest column first', () => {
    const lines = tableLines(columns, [['1', 'a very long name of a task', '5']], { ...options, width: 20 });
    expect(lines).toEqual(['id  task          ms', '1   a very long…   5']);
  });
});

describe('a word for the shell', () => {
  it('is quoted only where it must be', () => {
    expect(['audit-1', 'my audit', "it's", '-x', ''].map(shellQuote)).toEqual([
      'audit-1',
      "'my audit'",
      "'it'\\''s'",
      "'-x'",
      "''",
    ]);
  });
});
