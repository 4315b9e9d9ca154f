import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EdgeLists } from '../../src/core/edge-lists.ts';
import { IdMap } from '../../src/core/id-map.ts';
import { amount } from '../support/depth.ts';

describe('a map of ids', () => {
  it('finds the number that was set last, whatever the ids look like', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.string({ maxLength: 4 }), fc.nat(1000))),
        fc.integer(),
        (entries, seed) => {
          const ids = new IdMap(seed);
          for (const [id, number] of entries) ids.set(id, number);
          const expected = new Map(entries);
          expect(ids.size).toBe(expected.size);
          for (const [id, number] of expected) expect(ids.get(id)).toBe(number);
          expect(ids.get('an id that is too long')).toBe(-1);
        },
      ),
    );
  });

  it('takes none of many similar ids for another', () => {
    const count = amount({ quick: 200_000, deep: 3_000_000 });
    const ids = new IdMap(7);
    for (let number = 0; number < count; number++) ids.set(`t${number}`, number);
    expect(ids.size).toBe(count);
    for (let number = 0; number < count; number += 97) expect(ids.get(`t${number}`)).toBe(number);
    for (let number = 0; number < count; number += 97) expect(ids.get(`u${number}`)).toBe(-1);
  });
});

describe('lists of edges', () => {
  const graph = fc
    .integer({ min: 1, max: 12 })
    .chain((nodes) =>
      fc.tuple(
        fc.constant(nodes),
        fc.array(fc.tuple(fc.nat(nodes - 1), fc.nat(nodes - 1)), { maxLength: 20 }),
      ),
    );

  it('give an order in which each node comes after its dependencies, or a cycle', () => {
    fc.assert(
      fc.property(graph, ([nodes, edges]) => {
        const lists = new EdgeLists();
        for (let node = 0; node < nodes; node++) lists.addNode();
        for (const [dependency, dependent] of edges) lists.addEdge(dependency, dependent);
        const cycle = lists.cycle();
        if (cycle === undefined) {
          const order = [...lists.order()];
          expect(order).toHaveLength(nodes);
          for (const [from, to] of edges) expect(order.indexOf(from)).toBeLessThan(order.indexOf(to));
          return;
        }
        const next = [...cycle.slice(1), cycle[0]!];
        for (const [at, node] of cycle.entries())
          expect(edges.some(([from, to]) => to === node && from === next[at])).toBe(true);
      }),
    );
  });
});
