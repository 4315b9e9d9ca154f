import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VolleyError } from '../../src/core/errors.ts';
import { ExecutionGraph } from '../../src/core/execution-graph.ts';
import { LinkedNode } from '../../src/core/graph-node.ts';

/** Adds named nodes with what each depends on, numbered in the order in which they stand. */
function graphOf(edges: Record<string, readonly string[]>): { graph: ExecutionGraph; order: string[] } {
  const graph = new ExecutionGraph();
  const nodes = Object.keys(edges).map((name, index) => new LinkedNode(index + 1, name));
  const order = graph.add(
    nodes,
    Object.values(edges).map((dependsOn) => ({ dependsOn })),
  );
  return { graph, order: order.map(({ id }) => id) };
}

function pathOf(edges: Record<string, readonly string[]>): unknown {
  try {
    graphOf(edges);
  } catch (error) {
    return error instanceof VolleyError && error.code === 'DEPENDENCY_CYCLE'
      ? (error.details as { path: string[] }).path
      : error;
  }
  return undefined;
}

/** Settles a node and returns those that it unblocks. */
function settle(graph: ExecutionGraph, node: LinkedNode): LinkedNode[] {
  const unblocked: LinkedNode[] = [];
  graph.settle(node, (dependent) => unblocked.push(dependent));
  return unblocked;
}

const ready = (graph: ExecutionGraph) => graph.ready().map(({ id }) => id);

describe('a dependency graph', () => {
  it('makes the links of a chain ready one after the other', () => {
    const { graph } = graphOf({ a: [], b: ['a'], c: ['b'] });
    expect(ready(graph)).toEqual(['a']);
    graph.settle(graph.find('a')!);
    expect(ready(graph)).toEqual(['b']);
    graph.settle(graph.find('b')!);
    expect(ready(graph)).toEqual(['c']);
  });

  it('refuses nodes without consecutive numbers, and forgets what it does not know without harm', () => {
    const graph = new ExecutionGraph();
    const add = () => graph.add([new LinkedNode(1, 'a'), new LinkedNode(5, 'b')], [{}, { dependsOn: ['a'] }]);
    expect(add).toThrow(expect.objectContaining({ code: 'INVALID_VALUE' }));
    expect([...graph]).toEqual([]);
    const [node] = graph.add([new LinkedNode(1, 'a')], [{}]);
    for (const unknown of [0, 2, 99_999]) graph.forget(unknown);
    expect(graph.find('a')).toBe(node);
  });

  it('finds a cycle of three, and shows it as an ordered path', () => {
    expect(pathOf({ a: ['c'], b: ['a'], c: ['b'] })).toEqual(['a', 'c', 'b', 'a']);
  });

  it('shows the cycle only, not what leads to it', () => {
    expect(pathOf({ start: ['a'], a: ['b'], b: ['c'], c: ['b'], after: ['start'] })).toEqual(['b', 'c', 'b']);
    expect(pathOf({ self: ['self'] })).toEqual(['self', 'self']);
  });

  it('shortens a long cycle in the message, and has all of it in the details', () => {
    const size = 1000;
    const edges = Object.fromEntries(
      Array.from({ length: size }, (_, at) => [`n${at}`, [`n${(at + 1) % size}`]]),
    );
    expect(pathOf(edges)).toHaveLength(size + 1);
    expect(() => graphOf(edges)).toThrow(/^The dependencies form a cycle: n0 → n1 .{10,200} → n0 \(/);
  });

  it('orders nodes that refer forward behind what they depend on', () => {
    expect(graphOf({ a: ['b', 'c'], b: ['c'], c: [] }).order).toEqual(['c', 'b', 'a']);
  });

  it('calls back for those that wait for nothing more when a node settles', () => {
    const { graph } = graphOf({ a: [], b: ['a'], c: ['a', 'b'] });
    graph.addSingle(new LinkedNode(4, 'd'), ['a']);
    expect(settle(graph, graph.find('a')!).map(({ id }) => id)).toEqual(['b', 'd']);
    expect(graph.find('c')!.waitingFor).toBe(1);
    expect(settle(graph, graph.find('c')!)).toEqual([]);
    // Late, after its dependent: there is nobody left to make ready.
    expect(settle(graph, graph.find('b')!)).toEqual([]);
  });

  it('keeps both kinds of edges apart, and shows them as one', () => {
    const { graph } = graphOf({ a: [], b: ['a'] });
    const [a, b] = [graph.find('a')!, graph.find('b')!];
    const group = [new LinkedNode(3, 'c'), new LinkedNode(4, 'd'), new LinkedNode(5, 'e')];
    graph.add(group, [{ dependsOn: ['a', 'd', b] }, {}, { dependsOn: ['d', 'a', 'c'] }]);
    const [c, d, e] = group as [LinkedNode, LinkedNode, LinkedNode];
    graph.addSingle(new LinkedNode(6, 'f'), [c, 'a']);
    const f = graph.find('f')!;
    const ids = (nodes: readonly LinkedNode[] | undefined) => nodes?.map(({ id }) => id).join('');
    expect([a, b, c, d, e, f].map((node) => ids(node.dependencies))).toEqual([
      undefined,
      'a',
      'adb',
      undefined,
      'dac',
      'ca',
    ]);
    expect([a, b, c, d, e, f].map((node) => ids(node.dependents))).toEqual([
      'becf',
      'c',
      'ef',
      'ce',
      undefined,
      undefined,
    ]);
    expect([a, b, c, d, e, f].map(({ waitingFor }) => waitingFor)).toEqual([0, 1, 3, 0, 3, 2]);
    group.reverse();
    const settled = [a, b, d, c, e, f].map((node) => ids(settle(graph, node)));
    expect(settled).toEqual(['b', '', 'c', 'ef', '', '']);
    expect([a, b, c, d, e, f].map(({ block, links }) => block ?? links)).toEqual(Array(6).fill(undefined));
  });

  it('finds nodes by their own name and by their number, until they are forgotten', () => {
    const graph = new ExecutionGraph();
    const [named, numbered] = [new LinkedNode(1, 'a'), new LinkedNode(2)];
    graph.add([named, numbered], [{}, { dependsOn: ['a'] }]);
    expect([graph.find('a'), graph.find('exec-1'), graph.find('exec-2')]).toEqual([named, named, numbered]);
    graph.settle(named);
    graph.forget(named.seq);
    expect([graph.find('a'), graph.find('exec-1'), graph.find('exec-4294967298')]).toEqual(
      Array(3).fill(undefined),
    );
  });

  it('takes a node itself as a dependency, settled or not, remembered or not', () => {
    const graph = new ExecutionGraph();
    const [done, open] = [new LinkedNode(1), new LinkedNode(2)];
    graph.add([done, open], [{}, {}]);
    graph.settle(done);
    graph.forget(done.seq);
    const next = new LinkedNode(3);
    graph.add([next], [{ dependsOn: [done, open, done] }]);
    expect(next.waitingFor).toBe(1);
    expect(next.dependencies).toEqual([done, open]);
  });

  it('counts a dependency once however often it is named', () => {
    const graph = new ExecutionGraph();
    const base = new LinkedNode(1, 'base');
    const repeated = new LinkedNode(2);
    graph.add([base, repeated], [{}, { dependsOn: Array(40).fill('base') }]);
    expect(repeated.waitingFor).toBe(1);
    expect(base.dependents).toEqual([repeated]);
  });

  it('adds nothing when one of the nodes is wrong', () => {
    for (const wrong of [['ghost'], ['b'], ['c', 'd']]) {
      const graph = new ExecutionGraph();
      const base = new LinkedNode(1, 'base');
      graph.add([base], [{}]);
      const nodes = [new LinkedNode(2, 'a'), new LinkedNode(3, 'b'), new LinkedNode(4, 'c')];
      expect(() =>
        graph.add(nodes, [{ dependsOn: ['base'] }, { dependsOn: wrong }, { dependsOn: ['b'] }]),
      ).toThrow();
      expect([...graph]).toEqual([base]);
      expect(graph.find('base')).toBe(base);
      expect(base.dependents).toBeUndefined();
    }
  });

  it('adds nothing when a name is taken, by an older node or within the group', () => {
    for (const taken of ['base', 'a']) {
      const graph = new ExecutionGraph();
      const base = new LinkedNode(1, 'base');
      graph.add([base], [{}]);
      const nodes = [new LinkedNode(2, 'a'), new LinkedNode(3, taken)];
      expect(() => graph.add(nodes, [{}, {}])).toThrow(`The id "${taken}" is already in use`);
      expect(() => graph.addSingle(new LinkedNode(4, 'base'))).toThrow('The id "base" is already in use');
      expect([...graph]).toEqual([base]);
      expect([graph.find('base'), graph.find('a')]).toEqual([base, undefined]);
    }
  });

  it('counts down from few and from many dependencies, also when the dependent settles first', () => {
    for (const count of [1, 126, 127, 128, 129, 255, 256, 300]) {
      for (const isEarly of [false, true]) {
        const names = Array.from({ length: count }, (_, at) => `n${at}`);
        const { graph } = graphOf({ ...Object.fromEntries(names.map((name) => [name, []])), last: names });
        const last = graph.find('last')!;
        expect(last.waitingFor).toBe(count);
        if (isEarly) graph.settle(last);
        const ready = names.map((name) => settle(graph, graph.find(name)!));
        expect(ready.findIndex((nodes) => nodes.length > 0)).toBe(isEarly ? -1 : count - 1);
      }
    }
  });

  it('forgets those that settle before what they depend on, alone or in a group', () => {
    const graph = new ExecutionGraph();
    const endless = new LinkedNode(1);
    const patient = new LinkedNode(2);
    graph.addSingle(endless);
    graph.addSingle(patient, [endless]);
    let most = 0;
    for (let seq = 3; seq < 2000; seq += 3) {
      const group = [new LinkedNode(seq), new LinkedNode(seq + 1)];
      graph.add(group, [{ dependsOn: [endless] }, { dependsOn: [endless] }]);
      const single = new LinkedNode(seq + 2);
      graph.addSingle(single, [endless]);
      for (const node of [...group, single]) graph.settle(node);
      most = Math.max(most, endless.dependents!.length);
    }
    expect(most).toBeLessThan(200);
    expect(settle(graph, endless)).toEqual([patient]);
  });

  it('shows that a node which was added alone depends on itself', () => {
    const graph = new ExecutionGraph();
    expect(() => graph.addSingle(new LinkedNode(1, 'self'), ['self'])).toThrow('form a cycle: self → self (');
    expect([...graph]).toEqual([]);
    // Its number can be used again, without its name.
    graph.addSingle(new LinkedNode(1, 'other'));
    expect(graph.find('self')).toBeUndefined();
    graph.addSingle(new LinkedNode(2, 'self'));
  });

  it('settles any acyclic graph to its end, each node after all that it depends on', () => {
    const dag = fc.array(fc.array(fc.nat(30), { maxLength: 4 }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(dag, fc.nat(1000), (references, turn) => {
        // Each node depends on nodes further down the list, so it refers forward and has no cycle.
        const edges = Object.fromEntries(
          references.map((list, at) => [
            `n${at}`,
            list
              .map((to) => at + 1 + to)
              .filter((to) => to < references.length)
              .map((to) => `n${to}`),
          ]),
        );
        const { graph, order } = graphOf(edges);
        for (const [place, name] of order.entries()) {
          for (const dependency of edges[name]!) expect(order.indexOf(dependency)).toBeLessThan(place);
        }
        const settled = new Set<string>();
        while (settled.size < references.length) {
          const choices = graph.ready();
          const next = choices[(turn + settled.size) % choices.length]!;
          for (const dependency of edges[next.id]!) expect(settled).toContain(dependency);
          graph.settle(next);
          settled.add(next.id);
        }
      }),
    );
  });
});
