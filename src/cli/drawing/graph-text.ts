import { printableLine } from '../../core/printable-text.ts';
import { numberText } from '../output/numbers.ts';
import { cutMiddleToWidth } from '../output/text-layout.ts';
import { linkDependencies } from './graph-layout.ts';
import {
  type DrawnNode,
  endedWithoutResult,
  type FinishedTask,
  foldGroups,
  itemsText,
  STATUS_ORDER,
  taskGraph,
} from './task-graph.ts';

const MAX_NAME_WIDTH = 60;
const MAX_TASKS = 10_000;

const COLORS: Readonly<Record<FinishedTask['status'], string>> = {
  completed: '#2a8f7f',
  failed: '#d1383d',
  cancelled: '#c77d0a',
  skipped: '#9aa5b1',
  running: '#3b76c4',
  open: '#cbd2d9',
};

/** The graph for Graphviz, with a node for each task. */
export function graphDot(batchName: string, tasks: readonly FinishedTask[]): string {
  const nodes = foldGroups(tasks);
  const shown = nodes.slice(0, MAX_TASKS);
  const { before } = linkDependencies(shown.map(({ task: { id }, dependsOn }) => ({ id, dependsOn })));
  const omitted = nodes.length - shown.length;
  return [
    `digraph ${quoted(batchName)} {`,
    ...(omitted > 0 ? [`  // ${numberText(omitted)} tasks omitted`] : []),
    '  rankdir=LR;',
    '  node [shape=box, style="rounded,filled", fillcolor="#ffffff", penwidth=2, fontname="Helvetica", fontsize=11];',
    '  edge [color="#9aa5b1"];',
    ...shown.map(
      ({ task: { name, id, function: functionName, status }, items }, place) =>
        `  n${place} [label=${quoted(name || id, functionName, ...(items.length > 0 ? [itemsText(items)] : []))}, color="${COLORS[status]}", tooltip=${quoted(`${id}: ${status}`)}];`,
    ),
    ...before.flatMap((places, place) =>
      places.map((from) => {
        const isBad = endedWithoutResult(shown[from]!.task);
        return `  n${from} -> n${place}${isBad ? ` [color="${COLORS.failed}", style=dashed]` : ''};`;
      }),
    ),
    '}',
    '',
  ].join('\n');
}

/** Quotes lines for Graphviz, which reads backslash escapes and HTML entities. */
function quoted(...lines: string[]): string {
  const safe = lines.map((line) =>
    cutMiddleToWidth(printableLine(line), MAX_NAME_WIDTH)
      .replaceAll('\\', '\\\\')
      .replaceAll('"', '\\"')
      .replaceAll('&', '&amp;'),
  );
  return `"${safe.join('\\n')}"`;
}

/** The default limit of Mermaid's renderer. */
const MAX_EDGES = 500;

const CLASSES: Readonly<Record<FinishedTask['status'], string>> = {
  completed: 'fill:#2a8f7f,color:#fff,stroke:#1d6b5f',
  failed: 'fill:#d1383d,color:#fff,stroke:#9b2226',
  cancelled: 'fill:#c77d0a,color:#fff,stroke:#8f5a07',
  skipped: 'fill:#9aa5b1,color:#000,stroke:#616e7c',
  running: 'fill:#3b76c4,color:#fff,stroke:#28528a',
  open: 'fill:#e4e7eb,color:#000,stroke:#9aa5b1',
};

/** The graph as a Mermaid flowchart. Similar tasks share a node, as in the SVG. */
export function graphMermaid(batchName: string, tasks: readonly FinishedTask[]): string {
  const graph = taskGraph(tasks);
  const edges = graph.before.flatMap((places, node) => places.map((from) => `  n${from} --> n${node}`));
  const used = STATUS_ORDER.filter((status) => graph.nodes.some((node) => node.tasks[0]!.status === status));
  return [
    `%% ${comment(batchName)}: dependencies`,
    ...(graph.omitted > 0 ? [`%% ${numberText(graph.omitted)} tasks omitted`] : []),
    ...(edges.length > MAX_EDGES ? [`%% ${numberText(edges.length - MAX_EDGES)} edges omitted`] : []),
    'flowchart LR',
    ...graph.nodes.map((node, place) => `  n${place}["${labelOf(node)}"]:::${node.tasks[0]!.status}`),
    ...edges.slice(0, MAX_EDGES),
    ...used.map((status) => `  classDef ${status} ${CLASSES[status]}`),
    '',
  ].join('\n');
}

function labelOf({ tasks, items }: DrawnNode): string {
  const [{ name, id, function: functionName }] = tasks as [FinishedTask];
  const title = tasks.length > 1 ? `${numberText(tasks.length)} tasks` : name || id;
  const count = items.length === 0 ? '' : `<br/>${escaped(itemsText(items))}`;
  return `${escaped(title)}<br/>${escaped(functionName)}${count}`;
}

/** Escapes what means something to Mermaid, Markdown or HTML, as `#` and the code point. */
function escaped(text: string): string {
  const plain = cutMiddleToWidth(printableLine(text), MAX_NAME_WIDTH);
  return plain.replace(
    /[^\p{L}\p{M}\p{N}\p{Emoji_Presentation} _.,:/+=()…-]/gu,
    (sign) => `#${sign.codePointAt(0)};`,
  );
}

/** Braces after `%%` would make the comment a directive. */
function comment(text: string): string {
  return printableLine(text).replace(/[{}]/g, ' ');
}
