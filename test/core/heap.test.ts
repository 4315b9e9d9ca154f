import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IndexedHeap } from '../../src/core/heap.ts';

interface Item {
  readonly name: number;
  key: number;
  index: number;
}

class TestHeap extends IndexedHeap<Item> {
  protected override indexOf(item: Item): number {
    return item.index;
  }

  protected override setIndex(item: Item, index: number): void {
    item.index = index;
  }

  protected override winsTie(a: Item, b: Item): boolean {
    return a.name < b.name;
  }
}

type Step = readonly ['insert' | 'remove' | 'update', number, number];

const steps = fc.array(
  fc.tuple(fc.constantFrom<Step[0]>('insert', 'insert', 'remove', 'update'), fc.nat(1000), fc.nat(20)),
  { maxLength: 200 },
);

const first = (items: readonly Item[]) => [...items].sort((a, b) => a.key - b.key || a.name - b.name)[0];

describe('an indexed heap', () => {
  it('has the smallest first after any inserts, removals and changes', () => {
    fc.assert(
      fc.property(steps, (script) => {
        const heap = new TestHeap();
        const model: Item[] = [];
        for (const [name, [kind, pick, key]] of script.entries()) {
          const chosen = model[pick % (model.length || 1)];
          if (kind === 'insert') {
            const made = { name, key, index: -1 };
            model.push(made);
            heap.insert(made, key);
          } else if (chosen !== undefined && kind === 'remove') {
            model.splice(model.indexOf(chosen), 1);
            heap.remove(chosen);
            expect(chosen.index).toBe(-1);
          } else if (chosen !== undefined) {
            chosen.key = key;
            heap.update(chosen, key);
          }
          expect(heap.size).toBe(model.length);
          expect(heap.peek()).toBe(first(model));
          expect(heap.firstKey).toBe(first(model)?.key ?? Number.POSITIVE_INFINITY);
          for (const one of heap) expect(heap.keyAt(one.index)).toBe(one.key);
        }
        while (model.length > 0) {
          const next = first(model)!;
          expect(heap.peek()).toBe(next);
          heap.remove(next);
          model.splice(model.indexOf(next), 1);
        }
      }),
    );
  });
});
