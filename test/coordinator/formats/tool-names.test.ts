import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toolNames } from '../../../src/coordinator/formats/tool-names.ts';

const ALLOWED = /^[a-zA-Z0-9_-]{1,64}$/;
const named = (...names: string[]) => names.map((name) => ({ name }));

describe('the names of tools for providers', () => {
  test('stay as they are where a provider takes them', () => {
    const names = toolNames(named('read_file', 'a-b', '_x'));
    expect(['read_file', 'a-b', '_x'].map(names.toProvider)).toEqual(['read_file', 'a-b', '_x']);
  });

  test('have no dots, and lead back', () => {
    const names = toolNames(named('files.read', 'git.log.short'));
    expect(names.toProvider('files.read')).toBe('files__read');
    expect(names.toProvider('git.log.short')).toBe('git__log__short');
    expect(names.fromProvider('git__log__short')).toBe('git.log.short');
  });

  test('never collide, whatever the order', () => {
    const names = toolNames(named('a.b', 'a__b', 'a._', 'a_.'));
    const others = toolNames(named('a_.', 'a._', 'a__b', 'a.b'));
    expect(names.toProvider('a__b')).toBe('a__b');
    expect(names.toProvider('a.b')).toMatch(/^a__b_[0-9a-f]{8}$/);
    for (const name of ['a.b', 'a__b', 'a._', 'a_.']) {
      expect(names.fromProvider(names.toProvider(name))).toBe(name);
      expect(others.toProvider(name)).toBe(names.toProvider(name));
    }
  });

  test('are shortened to what a provider takes', () => {
    const [long, other] = [`server.${'x'.repeat(100)}`, `server.${'x'.repeat(99)}y`];
    const names = toolNames(named(long, other));
    for (const name of [long, other]) {
      expect(names.toProvider(name)).toMatch(ALLOWED);
      expect(names.fromProvider(names.toProvider(name))).toBe(name);
    }
  });

  test('that nobody knows come back as they are', () => {
    const names = toolNames(named('files.read'));
    expect(names.fromProvider('files__write')).toBe('files__write');
    expect(names.toProvider('now')).toBe('now');
  });

  test('are valid, different and reversible for any set of tools', () => {
    const name = fc.stringMatching(/^[ab_][ab_.-]{0,6}$/);
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 40 }), (list) => {
        const names = toolNames(named(...list));
        const provided = list.map(names.toProvider);
        expect(new Set(provided).size).toBe(list.length);
        expect(provided.every((each) => ALLOWED.test(each))).toBe(true);
        expect(provided.map(names.fromProvider)).toEqual(list);
      }),
    );
  });
});
