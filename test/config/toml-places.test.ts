import { describe, expect, it } from 'vitest';
import { TomlPlaces } from '../../src/config/toml-places.ts';

const TEXT = `top = 1
[a]
b.c.d = { e = [1, { f = "x" }], g.h = 2 }
"q r".s = 3
[[list]]
x = 1
[[list]]
x = 2
[list.sub]
y = 3
[[list.inner]]
z = 4
[a.late]
u = """
two
lines"""
`;
const lines = TEXT.split('\n');
const places = new TomlPlaces(TEXT);

/** The piece of the text that stands at the place, with its line. */
function shown(path: readonly PropertyKey[], part: 'key' | 'value'): string | undefined {
  const place = places.find(path, part);
  return (
    place &&
    `${place.line}: ${lines[place.line - 1]!.slice(place.column - 1, place.column - 1 + place.length)}`
  );
}

describe('the place of a value', () => {
  it.each([
    [['top'], '1: 1'],
    [['a', 'b', 'c', 'd', 'e', 0], '3: 1'],
    [['a', 'b', 'c', 'd', 'e', 1, 'f'], '3: "x"'],
    [['a', 'b', 'c', 'd', 'g', 'h'], '3: 2'],
    [['a', 'q r', 's'], '4: 3'],
    [['list', 0, 'x'], '6: 1'],
    [['list', 1, 'x'], '8: 2'],
    [['list', 1, 'sub', 'y'], '10: 3'],
    [['list', 1, 'inner', 0, 'z'], '12: 4'],
    [['a', 'late', 'u'], '14: """'],
  ])('%j is %s', (path, text) => expect(shown(path, 'value')).toBe(text));

  it.each([
    [['a'], '2: a'],
    [['list', 1], '7: list'],
    [['list', 1, 'sub'], '9: sub'],
    [['list', 1, 'inner', 0], '11: inner'],
    [['a', 'b', 'c'], '3: c'],
  ])('%j, which is a table, is that of its name: %s', (path, text) =>
    expect(shown(path, 'value')).toBe(text),
  );
});

describe('the place of a key', () => {
  it.each([
    [['top'], '1: top'],
    [['a', 'b'], '3: b'],
    [['a', 'b', 'c', 'd', 'g'], '3: g'],
    [['a', 'b', 'c', 'd', 'g', 'h'], '3: h'],
    [['a', 'q r'], '4: "q r"'],
    [['list'], '5: list'],
    [['a', 'late'], '13: late'],
  ])('%j is %s', (path, text) => expect(shown(path, 'key')).toBe(text));
});

describe('the place of what is missing', () => {
  it('is the name of the innermost table that there is', () => {
    expect(shown(['a', 'b', 'c', 'd', 'none', 'deeper'], 'value')).toBe('3: d');
    expect(shown(['list', 1, 'sub', 'none'], 'value')).toBe('9: sub');
    expect(places.find(['none'], 'value')).toBeUndefined();
  });
});
