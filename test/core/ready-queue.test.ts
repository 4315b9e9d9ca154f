import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dequeue, goesBefore, type Ranked, ReadyQueue, requeue } from '../../src/core/ready-queue.ts';

class Item implements Ranked {
  home: Ranked['home'] = undefined;
  place = -1;

  constructor(
    readonly seq: number,
    public rank: number,
    public level: number,
  ) {}
}

function changeRank(item: Item, rank: number, level: number): void {
  item.rank = rank;
  requeue(item, level);
}

type Step = readonly [kind: 'push' | 'take' | 'remove' | 'rerank', pick: number, rank: number, level: number];

const kinds = fc.constantFrom<Step[0]>('push', 'push', 'push', 'take', 'remove', 'rerank');
const steps = (ranks: fc.Arbitrary<number>) =>
  fc.array(fc.tuple(kinds, fc.nat(10_000), ranks, fc.nat(4)), { maxLength: 400, size: 'max' });

/** Plays steps on a queue and on a sorted array, and compares after each. */
function compareWithSortedArray(
  script: readonly Step[],
  rankAt: (step: number, rank: number) => number,
): void {
  const queue = new ReadyQueue<Item>();
  let model: Item[] = [];
  const sort = () => model.sort((a, b) => (goesBefore(a, b) ? -1 : 1));
  for (const [index, [kind, pick, rank, level]] of script.entries()) {
    const chosen = kind === 'take' ? model[0] : model[pick % (model.length || 1)];
    if (kind === 'push') {
      const item = new Item(index, rankAt(index, rank), level);
      queue.push(item, level);
      model.push(item);
    } else if (chosen !== undefined && kind === 'rerank') {
      chosen.level = level;
      changeRank(chosen, rankAt(index, rank), level);
    } else if (chosen !== undefined) {
      dequeue(chosen);
      expect(chosen.home).toBeUndefined();
      model = model.filter((item) => item !== chosen);
    }
    sort();
    expect(queue.peek()).toBe(model[0]);
    expect(queue.size).toBe(model.length);
  }
  expect(new Set(queue)).toEqual(new Set(model));
  for (const item of model) {
    expect(queue.peek()).toBe(item);
    dequeue(item);
  }
  expect(queue.peek()).toBeUndefined();
}

describe('a ready queue', () => {
  it('is a sorted array for any ranks', () => {
    fc.assert(fc.property(steps(fc.nat(30)), (script) => compareWithSortedArray(script, (_, rank) => rank)));
  });

  it('is a sorted array for ranks that mostly rise, as they do within a priority', () => {
    fc.assert(
      fc.property(steps(fc.nat(8)), (script) => compareWithSortedArray(script, (step, rank) => step + rank)),
    );
  });

  it('stays in order through many thousands that come and go', () => {
    const queue = new ReadyQueue<Item>();
    const taken: number[] = [];
    for (let seq = 0; seq < 20_000; seq++) {
      queue.push(new Item(seq, seq, 0), 0);
      if (seq % 3 === 2) {
        const next = queue.peek()!;
        taken.push(next.seq);
        dequeue(next);
      }
    }
    for (let next = queue.peek(); next !== undefined; next = queue.peek()) {
      taken.push(next.seq);
      dequeue(next);
    }
    expect(taken).toEqual(Array.from({ length: 20_000 }, (_, seq) => seq));
  });

  it('stays in order when nearly all of those that came out of order are taken out or moved', () => {
    const queue = new ReadyQueue<Item>();
    let model: Item[] = [];
    for (let seq = 0; seq < 5000; seq++) {
      const item = new Item(seq, seq === 0 ? 10_000 : (seq * 7919) % 5003, 0);
      queue.push(item, 0);
      model.push(item);
    }
    const inOrder = [...model].sort((a, b) => (goesBefore(a, b) ? -1 : 1));
    for (const [before, item] of inOrder.entries())
      if (before % 100 === 0) expect(Math.abs(queue.countBefore(item) - before)).toBeLessThan(100);
    const isTaken = (item: Item) => item.seq % 50 !== 0;
    for (const item of model.slice(1)) {
      if (item.seq % 3 === 0) changeRank(item, (item.seq * 31) % 5003, 0);
      if (item.seq % 7 === 0) changeRank(item, item.rank, 0);
      if (isTaken(item)) dequeue(item);
    }
    model = model.filter((item) => !isTaken(item)).sort((a, b) => (goesBefore(a, b) ? -1 : 1));
    expect(queue.size).toBe(model.length);
    expect([...queue].sort((a, b) => (goesBefore(a, b) ? -1 : 1))).toEqual(model);
    for (const [before, item] of model.entries()) expect(queue.countBefore(item)).toBe(before);
    const counts = [0];
    queue.countLevels(counts, () => 0);
    expect(counts).toEqual([model.length]);
    for (const item of model) {
      expect(queue.peek()).toBe(item);
      dequeue(item);
    }
    expect(queue.size).toBe(0);
  });

  it('loses none of those that came out of order when others were taken out', () => {
    const queue = new ReadyQueue<Item>();
    const [last, ...items] = Array.from({ length: 201 }, (_, seq) => new Item(seq, seq === 0 ? 999 : seq, 0));
    for (const item of [last!, ...items]) queue.push(item, 0);
    for (const item of items.slice(0, 30)) {
      expect(queue.peek()).toBe(item);
      dequeue(item);
    }
    for (const item of items.slice(80)) dequeue(item);
    for (const item of items.slice(0, 30)) queue.push(item, 0);
    expect(new Set(queue)).toEqual(new Set([last, ...items.slice(0, 80)]));
  });

  it('tells about how many go before where many were taken out of the middle', () => {
    const queue = new ReadyQueue<Item>();
    const items = Array.from({ length: 1000 }, (_, seq) => new Item(seq, seq, 0));
    for (const item of items) queue.push(item, 0);
    const left = items.filter(({ seq }) => seq % 4 === 0);
    for (const item of items) if (!left.includes(item)) dequeue(item);
    for (const [before, item] of left.entries())
      expect(Math.abs(queue.countBefore(item) - before)).toBeLessThanOrEqual(2);
  });

  it('takes out of no queue what stands in none', () => {
    expect(() => dequeue(new Item(1, 1, 1))).not.toThrow();
  });
});
