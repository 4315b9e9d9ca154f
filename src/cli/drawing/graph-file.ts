import { extname } from 'node:path';
import { VolleyError } from '../../core/errors.ts';
import { graphDot } from './dot.ts';
import type { FinishedTask } from './finished-task.ts';
import { graphSvg } from './graph-svg.ts';
import { graphMermaid } from './mermaid.ts';

type Drawer = (batchName: string, tasks: readonly FinishedTask[]) => string;

const DRAWERS: Readonly<Record<string, Drawer>> = {
  '.svg': graphSvg,
  '.mmd': graphMermaid,
  '.dot': graphDot,
};

/** How a graph is written into a file of this name. Ask before the batch runs: an unknown ending is an error. */
export function graphDrawerFor(path: string): Drawer {
  const drawer = DRAWERS[extname(path).toLowerCase()];
  if (drawer !== undefined) return drawer;
  const known = Object.keys(DRAWERS).join(', ');
  throw new VolleyError('INVALID_VALUE', `The graph ${JSON.stringify(path)} must end in one of ${known}.`, {
    path,
  });
}
