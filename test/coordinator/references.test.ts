import { describe, expect, it } from 'vitest';
import { referencesIn, resolveReferences } from '../../src/coordinator/references.ts';
import type { VolleyError } from '../../src/core/errors.ts';
import { thrownBy } from '../engine/support/errors.ts';
import { cpuMsOf } from '../support/cpu-time.ts';

const known = new Set(['a', 'b-1', 'x.y']);
const results = {
  a: { items: [{ name: 'first' }, { name: 'second' }], count: 2, 'odd/key~': true, nothing: null },
  'b-1': 'plain text',
  'x.y': { z: 'dotted' },
};
const resolve = (value: unknown) =>
  resolveReferences(value, known, (id) => (results as Record<string, unknown>)[id]);

describe('references between calls', () => {
  it('are found wherever they stand in the arguments', () => {
    const found = referencesIn(
      { deep: [{ $from: 'a' }], text: 'see ${b-1} and ${x.y.z}', plain: 7, none: null },
      known,
    );
    expect([...found.ids]).toEqual(['a', 'b-1', 'x.y']);
  });

  it('keep the type of what they stand for', () => {
    expect(
      resolve({
        whole: { $from: 'a' },
        item: { $from: 'a', path: '/items/1' },
        count: { $from: 'a', path: '/count' },
        odd: { $from: 'a', path: '/odd~1key~0' },
        nothing: { $from: 'a', path: '/nothing' },
      }),
    ).toEqual({ whole: results.a, item: { name: 'second' }, count: 2, odd: true, nothing: null });
  });

  it('become text inside a text', () => {
    expect(resolve('${a.items.0.name}: ${a.count} of ${a.items}, ${b-1}, ${x.y.z}')).toBe(
      'first: 2 of [{"name":"first"},{"name":"second"}], plain text, dotted',
    );
  });

  it('leave alone what is no reference to a call of the list', () => {
    const command = 'echo ${HOME} $a {a} ${unknown.items} ${}';
    expect([...referencesIn(command, known).ids]).toEqual([]);
    expect(resolve(command)).toBe(command);
    expect(resolve({ $from: 'a', path: '/count', extra: 1 })).toEqual({
      $from: 'a',
      path: '/count',
      extra: 1,
    });
    expect(resolve({ $from: 7 })).toEqual({ $from: 7 });
  });

  it('can be written as plain text', () => {
    expect([...referencesIn('$${a.count}', known).ids]).toEqual([]);
    expect(resolve('$${a.count} is ${a.count}')).toBe('${a.count} is 2');
  });

  it('say which path is missing in which result, and what is there', async () => {
    const texts = [
      { $from: 'a', path: '/items/0/title' },
      { $from: 'a', path: '/items/5' },
      '${b-1.name}',
      { $from: 'a', path: '/nothing/at/all' },
      { $from: 'a', path: '/constructor' },
    ].map((value) => {
      const error = thrownBy(() => resolve(value)) as VolleyError;
      expect(error).toMatchObject({ code: 'UNRESOLVED_REFERENCE' });
      return `${JSON.stringify(value)}: ${error.message}`;
    });
    await expect(texts.join('\n')).toMatchFileSnapshot('golden/missing-paths.txt');
  });

  it('say that a result cannot stand in a text if it is no JSON', () => {
    const circle: Record<string, unknown> = { size: 1 };
    circle['self'] = circle;
    const inText = (text: string) => resolveReferences(text, known, () => circle);
    expect(inText('${a.size}')).toBe('1');
    for (const text of ['is ${a}', 'is ${a.self}'])
      expect(() => inText(text)).toThrow(
        expect.objectContaining({
          code: 'UNSERIALISABLE_RESULT',
          message: expect.stringContaining(text.slice(3)),
        }),
      );
  });

  it('are refused before anything starts where they cannot be right', () => {
    expect(() => referencesIn({ $from: 'nobody' }, known)).toThrow(
      expect.objectContaining({ code: 'UNKNOWN_DEPENDENCY', message: expect.stringContaining('"nobody"') }),
    );
    expect(() => referencesIn({ $from: 'a', path: 'items' }, known)).toThrow('JSON pointer');
    let deep: unknown = 1;
    for (let level = 0; level < 200; level++) deep = [deep];
    expect(() => referencesIn(deep, known)).toThrow('more than 100 levels');
  });

  it('do not let a result bring in references of its own', () => {
    expect(resolveReferences('${b-1}', known, () => '${a.count}')).toBe('${a.count}');
    expect(resolveReferences({ $from: 'b-1' }, known, () => ({ $from: 'a' }))).toEqual({ $from: 'a' });
  });
});

describe('arguments beside references', () => {
  it('keep what is no plain data as it is', () => {
    const [map, date] = [new Map([['a', '${x}']]), new Date(0)];
    const known = new Set(['x']);
    const given = { map, date, list: [{ $from: 'x' }] };
    expect([...referencesIn(given, known).ids]).toEqual(['x']);
    const resolved = resolveReferences(given, known, () => 1) as typeof given;
    expect(resolved.map).toBe(map);
    expect(resolved.date).toBe(date);
    expect(resolved.list).toEqual([1]);
  });

  it('are searched quickly, however many dots a text has', () => {
    const text = `\${${'.'.repeat(16_000)}}`.repeat(200);
    let { size } = known;
    const spentMs = cpuMsOf(() => {
      size = referencesIn(text, new Set(['x'])).ids.size;
    });
    expect(size).toBe(0);
    // It takes milliseconds.
    expect(spentMs).toBeLessThan(10_000);
    expect([...referencesIn(`\${x.${'a.'.repeat(200)}b}`, new Set(['x'])).ids]).toEqual(['x']);
  });
});
