import { describe, expect, it } from 'vitest';
import { DependencyGraph } from '../../src/engine/dependency-graph.ts';

const ids = (nodes: readonly { id: string }[]) => nodes.map(({ id }) => id);

/** A graph of `id: dependencies`, with a clock that counts its readings. */
function graphOf(edges: Readonly<Record<string, readonly string[]>>): DependencyGraph {
  let time = 0;
  const graph = new DependencyGraph(() => ++time);
  graph.add(Object.entries(edges).map(([id, dependsOn]) => ({ id, dependsOn })));
  return graph;
}

describe('a dependency graph that is built by hand', () => {
  it('makes the links of a chain ready one after the other', () => {
    const graph = graphOf({ 1: [], 2: ['1'], 3: ['2'] });
    expect(ids(graph.ready())).toEqual(['1']);
    expect(ids(graph.markCompleted('1'))).toEqual(['2']);
    expect(ids(graph.ready())).toEqual(['2']);
    expect(graph.dependenciesSatisfied('2')).toBe(true);
    expect(graph.dependenciesSatisfied('3')).toBe(false);
    expect(graph.dependenciesSatisfied('unknown')).toBe(false);
  });

  it('keeps the status of each node, and when it was submitted, started and settled', () => {
    const graph = graphOf({ a: [], b: [], c: [], d: ['b'] });
    graph.markRunning('a');
    graph.markCompleted('a');
    graph.markFailed('b');
    graph.markCancelled('c');
    expect([...graph]).toMatchObject([
      { id: 'a', status: 'completed', submittedAt: 1, startedAt: 5, settledAt: 6 },
      { id: 'b', status: 'failed', submittedAt: 2, startedAt: undefined, settledAt: 7 },
      { id: 'c', status: 'cancelled', submittedAt: 3, settledAt: 8 },
      { id: 'd', status: 'pending', submittedAt: 4, settledAt: undefined },
    ]);
    expect(graph.ready()).toEqual([]);
    expect(graph.size).toBe(4);
  });

  it('waits for what is added later', () => {
    const graph = graphOf({ b: ['a', 'a'] });
    expect([ids(graph.ready()), graph.detectCycles()]).toEqual([[], undefined]);
    graph.addNode('a');
    expect(ids(graph.ready())).toEqual(['a']);
    expect(ids(graph.order())).toEqual(['a', 'b']);
    expect(ids(graph.markCompleted('a'))).toEqual(['b']);
  });

  it.each([
    [{ a: [], b: ['a'], c: ['a', 'b'] }, undefined],
    [{ a: ['a'] }, ['a']],
    [{ a: ['c'], b: ['a'], c: ['b'] }, ['a', 'c', 'b']],
    [{ start: ['a'], a: ['b'], b: ['c', 'done'], c: ['b'], done: [] }, ['b', 'c']],
  ])('finds the cycle of %j', (edges, cycle) => {
    const graph = graphOf(edges as Record<string, readonly string[]>);
    expect(graph.detectCycles()).toEqual(cycle);
    if (cycle === undefined) expect(ids(graph.order())).toEqual(['a', 'b', 'c']);
    else
      expect(() => graph.order()).toThrow(
        expect.objectContaining({ code: 'DEPENDENCY_CYCLE', details: { path: [...cycle, cycle[0]] } }),
      );
  });

  it('finds a cycle of a hundred thousand nodes', () => {
    const size = 100_000;
    const graph = new DependencyGraph();
    for (let at = 0; at < size; at++) graph.addNode(`n${at}`, [`n${(at + 1) % size}`]);
    expect(graph.detectCycles()).toHaveLength(size);
  });

  it('refuses an id that is used twice or empty, an unknown node, and a second end', () => {
    const graph = graphOf({ a: [] });
    expect(() => graph.addNode('a')).toThrow(expect.objectContaining({ code: 'DUPLICATE_ID' }));
    expect(() => graph.addNode('')).toThrow(expect.objectContaining({ code: 'INVALID_ID' }));
    expect(() => graph.markCompleted('b')).toThrow(expect.objectContaining({ code: 'UNKNOWN_DEPENDENCY' }));
    graph.markFailed('a');
    expect(() => graph.markCompleted('a')).toThrow(expect.objectContaining({ code: 'INVALID_VALUE' }));
  });
});
