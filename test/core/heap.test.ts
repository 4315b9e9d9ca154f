import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IndexedHeap } from '../../src/core/heap.ts';
import { NumberHeap } from '../../src/core/number-heap.ts';

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

type NumberStep = readonly ['add' | 'drop' | 'renumber', number];

const numberSteps = fc.array(
  fc.tuple(
    fc.constantFrom<NumberStep[0]>('add', 'add', 'add', 'add', 'drop', 'drop', 'renumber'),
    fc.nat(20),
  ),
  { maxLength: 300, size: 'max' },
);

describe('a heap of numbers', () => {
  it('has the smallest key first, then the smallest tie-breaker', () => {
    fc.assert(
      fc.property(numberSteps, (script) => {
        const heap = new NumberHeap();
        let model: [key: number, tie: number, value: number][] = [];
        for (const [step, [kind, number]] of script.entries()) {
          if (kind === 'add') {
            // In no order, but each once.
            const tie = (step * 7919) % 1009;
            heap.add(number, tie, step);
            model.push([number, tie, step]);
            model.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
          } else if (kind === 'drop' && model.length > 0) {
            heap.dropFirst();
            model.shift();
          } else if (kind === 'renumber') {
            const change = (value: number) => (value % 5 === number % 5 ? -1 : value + 1);
            heap.renumber(change);
            model = model.flatMap(([key, tie, value]) =>
              change(value) < 0 ? [] : [[key, tie, change(value)]],
            );
          }
          expect(heap.size).toBe(model.length);
          expect(heap.firstKey).toBe(model[0]?.[0] ?? Number.POSITIVE_INFINITY);
          if (model.length > 0) expect([heap.firstTie, heap.first]).toEqual(model[0]!.slice(1));
        }
        for (const [key, tie, value] of model) {
          expect([heap.firstKey, heap.firstTie, heap.first]).toEqual([key, tie, value]);
          heap.dropFirst();
        }
        expect(heap.size).toBe(0);
      }),
    );
  });
});
