import type { TaskStatus } from '../../store/records.ts';
import { numberText } from '../output/numbers.ts';
import { type FoldedTask, foldItems } from './fold-items.ts';
import { type DependencyLinks, linkDependencies } from './graph-layout.ts';

/** A task, or several similar ones that are drawn as one node. */
export interface DrawnNode {
  /** Several if they have the same function, status, dependencies and dependents. */
  readonly tasks: readonly FinishedTask[];
  /** The items, if it is a group. */
  readonly items: readonly FinishedTask[];
}

export interface TaskGraph extends DependencyLinks {
  readonly nodes: readonly DrawnNode[];
  /** Tasks that are not drawn because there are too many. */
  readonly omitted: number;
}

/** Up to this many tasks, each is a node. */
const MAX_SINGLE = 40;
/** From this many, similar tasks share a node. */
const MIN_GROUP = 6;
const MAX_NODES = 1500;
/** Up to this many items of a group are nodes, if the graph is small. */
const MAX_ITEMS = 6;

/** The nodes of a graph: a group stands for its items, unless these are few. */
export function foldGroups(tasks: readonly FinishedTask[]): FoldedTask<FinishedTask>[] {
  const isSmall = tasks.filter(({ group }) => group === undefined).length <= MAX_SINGLE / 2;
  return foldItems(tasks, (_, { length }) => (isSmall && length <= MAX_ITEMS ? length : 0));
}

/** The graph of a batch, in which similar tasks share a node. */
export function taskGraph(all: readonly FinishedTask[]): TaskGraph {
  const folded = foldGroups(all);
  const tasks = folded.map(({ task, dependsOn }) => ({ ...task, dependsOn }));
  const dependencies = linkDependencies(tasks);
  const groups =
    tasks.length <= MAX_SINGLE ? tasks.map((_, place) => [place]) : groupSimilar(tasks, dependencies);
  const shown = groups.slice(0, MAX_NODES);
  const nodeOf = new Map<number, number>();
  for (const [node, places] of shown.entries()) for (const place of places) nodeOf.set(place, node);
  const toNodes = (places: readonly number[]) => {
    const nodes = places.map((place) => nodeOf.get(place)).filter((node) => node !== undefined);
    return [...new Set(nodes)];
  };
  return {
    nodes: shown.map((places) => ({
      tasks: places.map((place) => tasks[place]!),
      items: folded[places[0]!]!.items,
    })),
    // All tasks of a node have the same links.
    before: shown.map(([first]) => toNodes(dependencies.before[first!]!)),
    after: shown.map(([first]) => toNodes(dependencies.after[first!]!)),
    omitted: tasks.length - nodeOf.size,
  };
}

/** Groups similar tasks, in the order of the first of each. Small groups are split again. */
function groupSimilar(tasks: readonly FinishedTask[], { before, after }: DependencyLinks): number[][] {
  const groups = new Map<string, number[]>();
  for (const [place, { function: functionName, status, isGroup, id }] of tasks.entries()) {
    const own = isGroup ? [id] : [];
    const key = JSON.stringify([functionName, status, sorted(before[place]!), sorted(after[place]!), ...own]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [place]);
    else group.push(place);
  }
  return [...groups.values()]
    .flatMap((group) => (group.length < MIN_GROUP ? group.map((place) => [place]) : [group]))
    .sort((a, b) => a[0]! - b[0]!);
}

function sorted(places: readonly number[]): number[] {
  return [...places].sort((a, b) => a - b);
}

/** What a drawing needs to know about a task. */
export interface FinishedTask {
  readonly id: string;
  readonly name: string;
  readonly function: string;
  readonly status: TaskStatus;
  /** The first start, in milliseconds since any origin. */
  readonly startMs: number | undefined;
  readonly endMs: number | undefined;
  /** Without pauses, by the monotonic clock. */
  readonly durationMs?: number | undefined;
  /** Its attempts, if there were several. */
  readonly tries?: readonly { readonly startMs: number; readonly endMs: number }[];
  readonly attempts: number;
  readonly dependsOn: readonly string[];
  /** Whether it is a group, which waits for its items. */
  readonly isGroup?: boolean;
  /** If it is an item: the id of its group. */
  readonly group?: string | undefined;
}

/** `30 items`, `30 items, 2 failed`. */
export function itemsText(items: readonly FinishedTask[]): string {
  const failed = items.filter(({ status }) => status === 'failed').length;
  const count = `${numberText(items.length)} ${items.length === 1 ? 'item' : 'items'}`;
  return failed === 0 ? count : `${count}, ${numberText(failed)} failed`;
}

/** For legends. */
export const STATUS_ORDER: readonly TaskStatus[] = [
  'completed',
  'failed',
  'cancelled',
  'skipped',
  'running',
  'open',
];

/** Whether it ended without a result, so that its dependents cannot run. */
export function endedWithoutResult({ status }: FinishedTask): boolean {
  return status === 'failed' || status === 'cancelled' || status === 'skipped';
}
