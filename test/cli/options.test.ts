import { describe, expect, it } from 'vitest';
import { listOption } from '../../src/cli/program/options.ts';

describe('an option that is a list', () => {
  it.each([
    ['a,b', ['a', 'b']],
    ['a,,b,', ['a', 'b']],
    ['src/**/*.{ts,js}', ['src/**/*.{ts,js}']],
    ['*.{ts,js},!{a,b}/**,c', ['*.{ts,js}', '!{a,b}/**', 'c']],
    ['a{b,c', ['a{b', 'c']],
  ])('is taken apart at commas, but not in the braces of a glob: %s', (text, expected) => {
    expect(listOption(text)).toEqual(expected);
  });

  it('may be given again', () => {
    expect(listOption('c', listOption('a,b'))).toEqual(['a', 'b', 'c']);
  });
});
