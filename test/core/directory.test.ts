import { describe, expect, it } from 'vitest';
import { Directory } from '../../src/core/directory.ts';

interface Item {
  readonly seq: number;
  readonly name: string | undefined;
}

const item = (seq: number, name?: string): Item => ({ seq, name });

describe('a directory', () => {
  it('finds items by number and by name until they are removed', () => {
    const directory = new Directory<Item>();
    const items = Array.from({ length: 5000 }, (_, index) =>
      item(index + 1, index % 2 ? `n${index}` : undefined),
    );
    for (const one of items) directory.add(one);
    for (const one of items) {
      expect(directory.bySeq(one.seq)).toBe(one);
      if (one.name !== undefined) expect(directory.byName(one.name)).toBe(one);
    }
    for (const { seq } of items.slice(0, 3000)) directory.remove(seq);
    expect([...directory]).toEqual(items.slice(3000));
    for (const one of items.slice(3000)) expect(directory.bySeq(one.seq)).toBe(one);
    expect(directory.pageCount).toBe(3);
    expect(directory.bySeq(3000)).toBeUndefined();
    expect(directory.byName('n2999')).toBeUndefined();
  });

  it('finds the old ones that stay while the others go', () => {
    const directory = new Directory<Item>();
    const old = item(1, 'old');
    directory.add(old);
    for (let seq = 2; seq < 10_000; seq++) {
      const one = item(seq);
      directory.add(one);
      directory.remove(seq);
    }
    expect([...directory]).toEqual([old]);
    expect(directory.bySeq(1)).toBe(old);
  });

  it('refuses a name that is taken, and still finds who has it', () => {
    const directory = new Directory<Item>();
    const items = [item(1, 'a'), item(2, 'b'), item(3)];
    for (const one of items) expect(directory.add(one)).toBe(true);
    expect(directory.add(item(4, 'a'))).toBe(false);
    expect([...directory]).toEqual(items);
    expect([directory.seqOf('a'), directory.seqOf('b')]).toEqual([1, 2]);
  });

  it('takes numbers that leave gaps', () => {
    const directory = new Directory<Item>();
    const items = [item(5), item(100_000), item(100_001)];
    for (const one of items) directory.add(one);
    expect([...directory]).toEqual(items);
    expect(directory.bySeq(50_000)).toBeUndefined();
  });

  it('does not take a number beyond 32 bits for another', () => {
    const directory = new Directory<Item>();
    const items = [item(1), item(2 ** 31 + 1), item(2 ** 31 + 2)];
    for (const one of items) directory.add(one);
    expect([...directory]).toEqual(items);
    for (const one of items) expect(directory.bySeq(one.seq)).toBe(one);
    expect(directory.bySeq(2 ** 32 + 1)).toBeUndefined();
    expect(directory.bySeq(-1)).toBeUndefined();
  });

  it('keeps no memory of what has gone, however quickly it went', () => {
    const directory = new Directory<Item>();
    for (let seq = 1; seq < 100_000; seq++) {
      directory.add(item(seq, `n${seq}`));
      directory.remove(seq);
    }
    expect(directory.pageCount).toBe(1);
    expect(directory.nameCount).toBeLessThanOrEqual(1025);
  });

  it('keeps the names of what is there when it drops those of what has gone', () => {
    const directory = new Directory<Item>();
    const items = Array.from({ length: 10_000 }, (_, index) => item(index + 1, `n${index + 1}`));
    for (const one of items) directory.add(one);
    for (const { seq } of items) if (seq % 100 !== 0) directory.remove(seq);
    expect(directory.nameCount).toBeLessThan(2000);
    for (const { seq, name } of items) if (seq % 100 === 0) expect(directory.seqOf(name!)).toBe(seq);
  });

  it('gives a name again when who had it has gone', () => {
    const directory = new Directory<Item>();
    for (const one of [item(1, 'a'), item(2, 'b')]) directory.add(one);
    directory.remove(1);
    expect(directory.add(item(3, 'a'))).toBe(true);
    expect(directory.add(item(4, 'b'))).toBe(false);
    expect([directory.seqOf('a'), directory.seqOf('b')]).toEqual([3, 2]);
  });
});
