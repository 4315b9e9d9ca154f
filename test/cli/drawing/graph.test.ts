import { describe, expect, it } from 'vitest';
import { layOutLinks } from '../../../src/cli/drawing/graph-layout.ts';
import { graphSvg } from '../../../src/cli/drawing/graph-svg.ts';
import { graphDot, graphMermaid } from '../../../src/cli/drawing/graph-text.ts';
import { graphDrawer } from '../../../src/cli/drawing/pictures.ts';
import { type FinishedTask, taskGraph } from '../../../src/cli/drawing/task-graph.ts';
import { EVIL, finished } from './support/tasks.ts';
import { checkXml } from './support/xml.ts';

const waiting = (id: string, ...dependsOn: string[]) => finished(id, { dependsOn });

function layoutOf(tasks: readonly FinishedTask[]) {
  const graph = taskGraph(tasks);
  return layOutLinks(
    graph,
    graph.nodes.map((_, node) => node),
    { node: 50, pass: 14 },
  );
}

describe('groups in a graph', () => {
  const group = (count: number) => [
    waiting('list'),
    finished('read', { dependsOn: ['list'], isGroup: true }),
    waiting('end', 'read'),
    ...Array.from({ length: count }, (_, index) =>
      finished(`read[${index}]`, { group: 'read', status: index === 0 ? 'failed' : 'completed' }),
    ),
  ];

  it('are one node with their items counted', () => {
    const { nodes } = taskGraph(group(50));
    expect(nodes.map(({ tasks, items }) => [tasks[0]!.id, items.length])).toEqual([
      ['list', 0],
      ['read', 50],
      ['end', 0],
    ]);
    const svg = graphSvg('b', group(50));
    checkXml(svg);
    expect(svg).toContain('50 items, 1 failed');
    expect(graphDot('b', group(50))).toContain('50 items, 1 failed');
    expect(graphMermaid('b', group(50))).toContain('50 items, 1 failed');
  });

  it('have few items between them and what depends on them', () => {
    const { nodes, before } = taskGraph(group(2));
    const ids = nodes.map(({ tasks }) => tasks[0]!.id);
    expect(ids).toEqual(['list', 'read', 'read[0]', 'read[1]', 'end']);
    expect(before.map((places) => places.map((place) => ids[place]))).toEqual([
      [],
      ['list'],
      ['read'],
      ['read'],
      ['read[0]', 'read[1]'],
    ]);
  });

  it('leave items alone whose group was cleared', () => {
    expect(taskGraph([finished('gone[0]', { group: 'gone' })]).nodes).toHaveLength(1);
  });
});

describe('the layout of a graph', () => {
  it('has a column for each step, and lets long lines pass beside the nodes', () => {
    const { nodes, edges, columnCount } = layoutOf([
      waiting('a'),
      waiting('b', 'a'),
      waiting('c', 'b', 'a'),
      waiting('d', 'c'),
    ]);
    expect(nodes.map(({ column }) => column)).toEqual([0, 1, 2, 3]);
    expect(columnCount).toBe(4);
    const long = edges.find(({ from, to }) => from === 0 && to === 2)!;
    expect(long.passes).toHaveLength(1);
    expect(Math.abs(long.passes[0]!.y - nodes[1]!.y)).toBeGreaterThanOrEqual(32);
  });

  it('untangles lines that need not cross', () => {
    const tasks = [
      waiting('a'),
      waiting('b'),
      waiting('c'),
      waiting('x', 'c'),
      waiting('y', 'b'),
      waiting('z', 'a'),
    ];
    const { nodes } = layoutOf(tasks);
    for (const [from, to] of [
      [0, 5],
      [1, 4],
      [2, 3],
    ] as const)
      expect(nodes[to]!.y).toBe(nodes[from]!.y);
  });

  it('keeps nodes of a column apart', () => {
    const tasks = Array.from({ length: 60 }, (_, index) =>
      index < 12 ? waiting(`t${index}`) : waiting(`t${index}`, `t${(index * 7) % 12}`, `t${index - 12}`),
    );
    const { nodes, height } = layoutOf(tasks);
    for (const a of nodes) {
      expect(a.y).toBeGreaterThanOrEqual(25 - 1e-6);
      expect(a.y).toBeLessThanOrEqual(height - 25 + 1e-6);
      for (const b of nodes) {
        if (a.node < b.node && a.column === b.column)
          expect(Math.abs(a.y - b.y)).toBeGreaterThanOrEqual(50 - 1e-6);
      }
    }
  });
});

describe('a graph as a picture', () => {
  it('draws tasks with their status, and lines that end in trouble in another color', () => {
    const svg = graphSvg('pipeline', [
      waiting('a'),
      finished('b', { dependsOn: ['a'], status: 'failed', attempts: 3, durationMs: 100 }),
      finished('c', { dependsOn: ['b'], status: 'skipped', startMs: undefined, endMs: undefined }),
      waiting('alone'),
    ]);
    checkXml(svg);
    expect(svg).toContain('4 tasks in 3 steps');
    expect(svg).toContain('<title>Task b (tool, id b): failed in 100 ms, 3 attempts</title>');
    expect(svg).toContain('>skipped: tool</text>');
    expect(svg).toContain('>Without dependencies</text>');
    expect(svg.match(/<path class="edge"/g)).toHaveLength(1);
    expect(svg.match(/<path class="edge bad"/g)).toHaveLength(1);
  });

  it('draws many tasks that are alike as one', () => {
    const ids = Array.from({ length: 200 }, (_, index) => `f${index}`);
    const tasks = [
      ...ids.map((id) => finished(id, { status: id === 'f7' ? 'failed' : 'completed' })),
      waiting('sum', ...ids),
    ];
    const svg = graphSvg('fan in', tasks);
    checkXml(svg);
    expect(svg).toContain('>199 tasks</text>');
    expect(svg).toContain('>Task f7</text>');
    expect(svg).toContain('Tasks with the same function, status and dependencies share a node.');
  });

  it('is bounded for any graph, and finishes', () => {
    const chain = Array.from({ length: 5000 }, (_, index) =>
      index === 0 ? waiting('0') : waiting(`${index}`, `${index - 1}`, '0'),
    );
    const dense = Array.from({ length: 400 }, (_, index) =>
      waiting(
        `${index}`,
        ...(index < 200
          ? []
          : Array.from({ length: 200 }, (_, one) => `${one}`).filter((_, one) => (one * index) % 3 > 0)),
      ),
    );
    const flat = Array.from({ length: 50_000 }, (_, index) =>
      finished(`${index}`, { function: `f${index % 5000}` }),
    );
    for (const tasks of [chain, dense, flat]) {
      const svg = graphSvg('big', tasks);
      checkXml(svg);
      expect(svg.length).toBeLessThan(3_000_000);
    }
    expect(graphSvg('big', chain)).toContain('3,500 tasks are not shown.');
  });

  it('takes a circle, unknown ids and nothing at all', () => {
    checkXml(graphSvg('circle', [waiting('a', 'b'), waiting('b', 'a'), waiting('c', 'c', 'nobody')]));
    checkXml(graphSvg('', []));
  });

  it('cannot be broken by names', () => {
    const svg = graphSvg(EVIL, [
      finished('x', { name: EVIL, function: EVIL }),
      finished(EVIL, { dependsOn: ['x'] }),
    ]);
    checkXml(svg);
    expect(svg).not.toContain('<script');
  });
});

describe('a graph as text', () => {
  const tasks = [
    waiting('a'),
    finished('b', { name: 'say "hi" <b> #1 \\N & `x`', dependsOn: ['a'], status: 'failed' }),
    finished('c', { name: '', dependsOn: ['b'], status: 'skipped' }),
  ];

  it('of Mermaid has everything escaped', () => {
    expect(graphMermaid('my {batch}\nx', tasks)).toBe(`%% my  batch  x: dependencies
flowchart LR
  n0["Task a<br/>tool"]:::completed
  n1["say #34;hi#34; #60;b#62; #35;1 #92;N #38; #96;x#96;<br/>tool"]:::failed
  n2["c<br/>tool"]:::skipped
  n0 --> n1
  n1 --> n2
  classDef completed fill:#2a8f7f,color:#fff,stroke:#1d6b5f
  classDef failed fill:#d1383d,color:#fff,stroke:#9b2226
  classDef skipped fill:#9aa5b1,color:#000,stroke:#616e7c
`);
  });

  it('of Graphviz has everything escaped', () => {
    const lines = graphDot('my "batch"\\', tasks).split('\n');
    expect(lines[0]).toBe('digraph "my \\"batch\\"\\\\" {');
    expect(lines.slice(4, 9)).toEqual([
      '  n0 [label="Task a\\ntool", color="#2a8f7f", tooltip="a: completed"];',
      '  n1 [label="say \\"hi\\" <b> #1 \\\\N &amp; `x`\\ntool", color="#d1383d", tooltip="b: failed"];',
      '  n2 [label="c\\ntool", color="#9aa5b1", tooltip="c: skipped"];',
      '  n0 -> n1;',
      '  n1 -> n2 [color="#d1383d", style=dashed];',
    ]);
  });

  it('is chosen by the end of the name, which must be known', async () => {
    const tasks = [waiting('a'), waiting('b', 'a')];
    expect(await graphDrawer('out/x.SVG')('batch', tasks)).toBe(graphSvg('batch', tasks));
    expect(await graphDrawer('x.mmd')('batch', tasks)).toBe(graphMermaid('batch', tasks));
    expect(await graphDrawer('x.dot')('batch', tasks)).toBe(graphDot('batch', tasks));
    expect(() => graphDrawer('x.png')).toThrow(expect.objectContaining({ code: 'INVALID_VALUE' }));
  });
});
