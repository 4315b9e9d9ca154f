import { describe, expect, it } from 'vitest';
import { simulate } from '../../src/core/simulate.ts';
import { World } from './support/world.ts';

/** What the message says about a value that stands where a time limit should. */
function shownAs(value: unknown): string {
  const submit = () => new World().submit({ timeoutMs: value as number });
  expect(submit).toThrow(/^timeoutMs must be a number from 0\.001 to 2147483647 or Infinity, but it is /);
  try {
    submit();
  } catch (error) {
    return (error as Error).message.replace(/^.* but it is (.*)\.$/s, '$1');
  }
  throw new Error('it was not refused');
}

describe('the message about a number that is refused', () => {
  it('says which are allowed', () => {
    const failing = (failures: number) => simulate([{ toolName: 'a', durationMs: 1, failures }], {});
    expect(() => failing(-1)).toThrow(
      'failures must be a whole number of at least 0 or Infinity, but it is -1.',
    );
    expect(() => new World().submit({ retry: { maxRetries: 1.5 } })).toThrow(
      'retry.maxRetries must be a whole number from 0 to 1000, but it is 1.5.',
    );
    expect(() => new World().submit({ retry: { jitter: 2 } })).toThrow(
      'retry.jitter must be a number from 0 to 1, but it is 2.',
    );
  });

  it.each([
    [0, '0'],
    [Number.NaN, 'NaN'],
    [null, 'null'],
    ['1s', '"1s"'],
    [[1], 'an array'],
    [{ ms: 1 }, 'an object'],
    [true, 'true'],
  ])('says what it is instead: %j', (value, shown) => {
    expect(shownAs(value)).toBe(shown);
  });

  it('stays short, whatever was given', () => {
    expect(shownAs(`<${'x'.repeat(79)}`)).toBe(`"<${'x'.repeat(79)}"`);
    expect(shownAs(`<${'x'.repeat(80)}`)).toBe(`"<${'x'.repeat(79)}…"`);
  });

  it('stays on one line, and neither controls a terminal nor turns the direction of writing', () => {
    expect(shownAs('a\n\u001b[2J\u007f\u009b2J\u2028\u202e\u2066é')).toBe(
      '"a\\n\\u001b[2J\\u007f\\u009b2J\\u2028\\u202e\\u2066é"',
    );
  });
});
