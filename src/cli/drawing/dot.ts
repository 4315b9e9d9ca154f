import { printableLine } from '../../core/printable-text.ts';
import { numberText } from '../output/numbers.ts';
import { cutMiddleToWidth } from '../output/width.ts';
import { endedBadly, type FinishedTask } from './finished-task.ts';
import { dependenciesOf } from './layers.ts';

const LONGEST_NAME = 60;
const MAX_TASKS = 10_000;

const COLOURS: Readonly<Record<FinishedTask['status'], string>> = {
  completed: '#2a8f7f',
  failed: '#d1383d',
  cancelled: '#c77d0a',
  skipped: '#9aa5b1',
  running: '#3b76c4',
  open: '#cbd2d9',
};

/** The graph in the language of Graphviz, each task by itself. */
export function graphDot(batchName: string, tasks: readonly FinishedTask[]): string {
  const shown = tasks.slice(0, MAX_TASKS);
  const { before } = dependenciesOf(shown);
  const leftOut = tasks.length - shown.length;
  return [
    `digraph ${quoted(batchName)} {`,
    ...(leftOut > 0 ? [`  // ${numberText(leftOut)} tasks are left out`] : []),
    '  rankdir=LR;',
    '  node [shape=box, style="rounded,filled", fillcolor="#ffffff", penwidth=2, fontname="Helvetica", fontsize=11];',
    '  edge [color="#9aa5b1"];',
    ...shown.map(
      ({ name, id, function: functionName, status }, place) =>
        `  n${place} [label=${quoted(name || id, functionName)}, color="${COLOURS[status]}", tooltip=${quoted(`${id}: ${status}`)}];`,
    ),
    ...before.flatMap((places, place) =>
      places.map((from) => {
        const isBad = endedBadly(shown[from]!);
        return `  n${from} -> n${place}${isBad ? ` [color="${COLOURS.failed}", style=dashed]` : ''};`;
      }),
    ),
    '}',
    '',
  ].join('\n');
}

/** Lines between quotes. A backslash would begin an escape of Graphviz, which also reads HTML entities. */
function quoted(...lines: string[]): string {
  const safe = lines.map((line) =>
    cutMiddleToWidth(printableLine(line), LONGEST_NAME)
      .replaceAll('\\', '\\\\')
      .replaceAll('"', '\\"')
      .replaceAll('&', '&amp;'),
  );
  return `"${safe.join('\\n')}"`;
}
