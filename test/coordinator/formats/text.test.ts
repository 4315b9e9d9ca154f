import { expect, test } from 'vitest';
import { shownResult } from '../../../src/coordinator/formats/common.ts';
import { completed, RESULTS, TEXTS } from './support/results.ts';

test('shows each kind of result in words that a model can act on', () => {
  expect(RESULTS.map((result) => shownResult(result).text)).toEqual(TEXTS);
  expect(RESULTS.map((result) => shownResult(result).isError)).toEqual([
    ...[false, false, false, false],
    ...[true, true, true, true],
  ]);
});

test('gives the value as JSON has it', () => {
  expect(RESULTS.slice(0, 4).map((result) => shownResult(result))).toMatchObject([
    { value: 'a text' },
    { value: { rows: [1, 2], when: '1970-01-01T00:00:00.000Z' } },
    { value: [true, null, '10'] },
    { value: null },
  ]);
});

test('says of a value that JSON cannot hold that it cannot be shown', () => {
  const circle: { self?: unknown } = {};
  circle.self = circle;
  const shown = shownResult(completed('a', circle));
  expect(shown).toEqual({
    isError: true,
    binary: [],
    text: expect.stringContaining('completed, but the result cannot be written as JSON: TypeError'),
  });
  expect(shownResult(completed('a', () => 1))).toMatchObject({ isError: false, text: '(no result)' });
});

test('names no cause where none is known', () => {
  const result = { id: 'a', name: 'b', attempts: 0, waitedMs: 0, durationMs: 0 };
  expect(shownResult({ ...result, status: 'skipped', cause: undefined }).text).toBe(
    'skipped: a call it depends on did not end as required',
  );
});
