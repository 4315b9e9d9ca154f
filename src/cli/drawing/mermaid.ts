import { printableLine } from '../../core/printable-text.ts';
import { numberText } from '../output/numbers.ts';
import { cutMiddleToWidth } from '../output/width.ts';
import type { FinishedTask } from './finished-task.ts';
import { STATUS_ORDER } from './finished-task.ts';
import { type GraphNode, taskGraph } from './graph-nodes.ts';

const LONGEST_NAME = 60;
/** Beyond this its renderer refuses a picture unless it is told otherwise. */
const MAX_EDGES = 500;

const CLASSES: Readonly<Record<FinishedTask['status'], string>> = {
  completed: 'fill:#2a8f7f,color:#fff,stroke:#1d6b5f',
  failed: 'fill:#d1383d,color:#fff,stroke:#9b2226',
  cancelled: 'fill:#c77d0a,color:#fff,stroke:#8f5a07',
  skipped: 'fill:#9aa5b1,color:#000,stroke:#616e7c',
  running: 'fill:#3b76c4,color:#fff,stroke:#28528a',
  open: 'fill:#e4e7eb,color:#000,stroke:#9aa5b1',
};

/** The graph as a flowchart of Mermaid. Tasks that are alike are one node of it, as in the picture. */
export function graphMermaid(batchName: string, tasks: readonly FinishedTask[]): string {
  const graph = taskGraph(tasks);
  const edges = graph.before.flatMap((places, node) => places.map((from) => `  n${from} --> n${node}`));
  const used = STATUS_ORDER.filter((status) => graph.nodes.some((node) => node.tasks[0]!.status === status));
  return [
    `%% ${comment(batchName)}: what waited for what`,
    ...(graph.leftOut > 0 ? [`%% ${numberText(graph.leftOut)} tasks are left out`] : []),
    ...(edges.length > MAX_EDGES ? [`%% ${numberText(edges.length - MAX_EDGES)} lines are left out`] : []),
    'flowchart LR',
    ...graph.nodes.map((node, place) => `  n${place}["${labelOf(node)}"]:::${node.tasks[0]!.status}`),
    ...edges.slice(0, MAX_EDGES),
    ...used.map((status) => `  classDef ${status} ${CLASSES[status]}`),
    '',
  ].join('\n');
}

function labelOf({ tasks }: GraphNode): string {
  const [{ name, id, function: functionName }] = tasks as [FinishedTask];
  const title = tasks.length > 1 ? `${numberText(tasks.length)} tasks` : name || id;
  return `${escaped(title)}<br/>${escaped(functionName)}`;
}

/** Mermaid writes characters that mean something to it, to Markdown or to HTML as `#` and their number. */
function escaped(text: string): string {
  const plain = cutMiddleToWidth(printableLine(text), LONGEST_NAME);
  return plain.replace(
    /[^\p{L}\p{M}\p{N}\p{Emoji_Presentation} _.,:/+=()…-]/gu,
    (sign) => `#${sign.codePointAt(0)};`,
  );
}

/** A comment ends with its line; braces after `%%` would make it a directive. */
function comment(text: string): string {
  return printableLine(text).replace(/[{}]/g, ' ');
}
