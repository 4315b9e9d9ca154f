import type { FinishedTask } from './finished-task.ts';
import { type Dependencies, dependenciesOf } from './layers.ts';

/** A task of a graph, or many that are alike. */
export interface GraphNode {
  /** More than one where tasks with the same function, status, dependencies and dependents are drawn as one. */
  readonly tasks: readonly FinishedTask[];
}

export interface TaskGraph extends Dependencies {
  readonly nodes: readonly GraphNode[];
  /** Tasks that are not drawn because there are too many. */
  readonly leftOut: number;
}

/** Up to here every task is drawn by itself. */
const FEW = 40;
/** So many that are alike are drawn as one. */
const MANY_ALIKE = 6;
const MAX_NODES = 1500;

/** The graph of a batch. A hundred tasks that wait for the same and for which the same waits are one node of it. */
export function taskGraph(tasks: readonly FinishedTask[]): TaskGraph {
  const dependencies = dependenciesOf(tasks);
  const groups = tasks.length <= FEW ? tasks.map((_, place) => [place]) : alike(tasks, dependencies);
  const shown = groups.slice(0, MAX_NODES);
  const nodeOf = new Map<number, number>();
  for (const [node, places] of shown.entries()) for (const place of places) nodeOf.set(place, node);
  const toNodes = (places: readonly number[]) => {
    const nodes = places.map((place) => nodeOf.get(place)).filter((node) => node !== undefined);
    return [...new Set(nodes)];
  };
  return {
    nodes: shown.map((places) => ({ tasks: places.map((place) => tasks[place]!) })),
    // All of a node have the same neighbours, so that the first speaks for them.
    before: shown.map(([first]) => toNodes(dependencies.before[first!]!)),
    after: shown.map(([first]) => toNodes(dependencies.after[first!]!)),
    leftOut: tasks.length - nodeOf.size,
  };
}

/** Groups of places, in the order of their first; those of few are taken apart again. */
function alike(tasks: readonly FinishedTask[], { before, after }: Dependencies): number[][] {
  const groups = new Map<string, number[]>();
  for (const [place, { function: functionName, status }] of tasks.entries()) {
    const key = JSON.stringify([functionName, status, sorted(before[place]!), sorted(after[place]!)]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [place]);
    else group.push(place);
  }
  return [...groups.values()]
    .flatMap((group) => (group.length < MANY_ALIKE ? group.map((place) => [place]) : [group]))
    .sort((a, b) => a[0]! - b[0]!);
}

function sorted(places: readonly number[]): number[] {
  return [...places].sort((a, b) => a - b);
}
