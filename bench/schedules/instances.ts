import { seededRandom } from '../work/random.ts';
import { PROJECT_OPTIMA } from './optima.ts';

/** A task of an instance: times in units, needs in the order of {@link Instance.capacities}. */
interface InstanceTask {
  readonly duration: number;
  readonly needs: readonly number[];
  /** Indexes of earlier tasks. */
  readonly dependsOn: readonly number[];
}

/** A scheduling problem: the shortest schedule of all tasks is wanted. */
export interface Instance {
  readonly tasks: readonly InstanceTask[];
  /** How many tasks may run at the same time. */
  readonly slots: number;
  /** How much there is of cpu, memory, I/O and network. */
  readonly capacities: readonly number[];
  /** No schedule is shorter than this. */
  readonly bound: number;
  /** Whether a schedule of that length exists. */
  readonly isOptimum: boolean;
}

export type Family = 'projects' | 'tiled projects' | 'graphs' | 'workflows';

type Random = () => number;

const RESOURCES = 4;
/** The amounts that a task can ask for, by resource. */
const AMOUNTS: readonly (readonly number[])[] = [
  [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  [1, 2, 4],
  [1],
];
const NO_NEEDS: readonly number[] = [0, 0, 0, 0];
const UNLIMITED: readonly number[] = [1000, 1000, 1000, 1000];
const LONGEST = 10;

const MAKERS: Readonly<Record<Family, (size: number, index: number, random: Random) => Instance>> = {
  projects: project,
  'tiled projects': tiledProject,
  graphs: graph,
  workflows: workflow,
};

/** The same instances for the same arguments. Projects are left out if their optimum is not proven. */
export function makeProvenInstances(family: Family, size: number, count: number): Instance[] {
  const instances = makeInstances(family, size, count);
  return family === 'projects' ? instances.filter(({ isOptimum }) => isOptimum) : instances;
}

/** The same instances for the same arguments. */
export function makeInstances(family: Family, size: number, count: number): Instance[] {
  const make = MAKERS[family];
  return Array.from({ length: count }, (_, index) => {
    const instance = make(size, index, seededRandom(size * 100_003 + index * 7919 + family.length));
    const optimum = family === 'projects' ? PROJECT_OPTIMA.get(size)?.[index] : undefined;
    return optimum == null ? instance : { ...instance, bound: optimum, isOptimum: true };
  });
}

/** The longest path, and the work divided by the capacity: no schedule is shorter. */
export function lowerBound({ tasks, slots, capacities }: Omit<Instance, 'bound' | 'isOptimum'>): number {
  const ends: number[] = [];
  for (const { duration, dependsOn } of tasks)
    ends.push(duration + Math.max(0, ...dependsOn.map((other) => ends[other]!)));
  const work = (share: (task: InstanceTask) => number) =>
    tasks.reduce((sum, task) => sum + task.duration * share(task), 0);
  const byResource = capacities.map((capacity, index) => work(({ needs }) => needs[index]!) / capacity);
  const bySlots = work(() => 1) / slots;
  return Math.max(...ends, bySlots, ...byResource);
}

function withBound(instance: Omit<Instance, 'bound' | 'isOptimum'>): Instance {
  return { ...instance, bound: lowerBound(instance), isOptimum: false };
}

/**
 * Four resources. As in the literature, instances differ in how many edges there are for each task, how many resources
 * a task needs, and how scarce they are.
 */
function project(size: number, index: number, random: Random): Instance {
  const edges = [1.5, 1.8, 2.1][index % 3]!;
  const resourceFactor = [0.25, 0.5, 0.75, 1][Math.floor(index / 3) % 4]!;
  const strength = [0.2, 0.5, 0.7, 1][Math.floor(index / 12) % 4]!;
  const tasks = Array.from({ length: size }, (_, at) => ({
    duration: 1 + pick(LONGEST, random),
    needs: drawNeeds(resourceFactor, random),
    dependsOn: at < 3 ? [] : someEarlier(at, edges, random),
  }));
  const capacities = scarceCapacities(tasks, strength);
  return withBound({ tasks, slots: size, capacities });
}

function drawNeeds(resourceFactor: number, random: Random): number[] {
  const needs = AMOUNTS.map((amounts): number =>
    random() < resourceFactor ? amounts[pick(amounts.length, random)]! : 0,
  );
  if (!needs.some((need) => need > 0)) needs[pick(RESOURCES, random)] = 1;
  return needs;
}

/** About so many of the nearest earlier tasks, so that the graph is neither flat nor a chain. */
function someEarlier(at: number, edges: number, random: Random): number[] {
  const count = Math.floor(edges) + (random() < edges % 1 ? 1 : 0);
  const chosen = new Set<number>();
  for (let drawn = 0; drawn < count; drawn++)
    chosen.add(Math.max(0, at - 1 - pick(Math.min(at, 12), random)));
  return [...chosen].sort((a, b) => a - b);
}

/** Between the largest single need and the peak of the schedule that ignores resources. */
function scarceCapacities(tasks: readonly InstanceTask[], strength: number): number[] {
  const starts: number[] = [];
  for (const { dependsOn } of tasks)
    starts.push(Math.max(0, ...dependsOn.map((other) => starts[other]! + tasks[other]!.duration)));
  return AMOUNTS.map((_, resource) => {
    const least = Math.max(1, ...tasks.map(({ needs }) => needs[resource]!));
    const peak = Math.max(
      ...starts.map((now) =>
        tasks.reduce((sum, { duration, needs }, at) => {
          const runs = starts[at]! <= now && now < starts[at]! + duration;
          return runs ? sum + needs[resource]! : sum;
        }, 0),
      ),
    );
    return Math.max(least, Math.round(least + strength * (peak - least)));
  });
}

/** One placed task of a schedule without gaps. */
interface Tile {
  readonly from: number;
  readonly to: number;
  readonly cpu: number;
}

/**
 * The optimum is known: a rectangle of time and cpu is cut into tasks, edges are drawn only between tasks that follow
 * each other in it, and the cpu is never idle in it. The other resources suffice for that schedule, not for every one.
 */
function tiledProject(size: number, _: number, random: Random): Instance {
  const cpu = 12;
  const length = Math.max(12, Math.round((size * 5.5 * 3) / cpu));
  const tiles: Tile[] = [{ from: 0, to: length, cpu }];
  while (tiles.length < size) {
    const at = largestOf(tiles);
    const { from, to, cpu: width } = tiles[at]!;
    const acrossTime = to - from > 1 && (width === 1 || to - from > LONGEST || random() < 0.5);
    if (!acrossTime && width === 1) break;
    const cut = acrossTime ? from + 1 + pick(to - from - 1, random) : 1 + pick(width - 1, random);
    tiles.splice(
      at,
      1,
      acrossTime ? { from, to: cut, cpu: width } : { from, to, cpu: cut },
      acrossTime ? { from: cut, to, cpu: width } : { from, to, cpu: width - cut },
    );
  }
  tiles.sort((a, b) => a.from - b.from || a.to - b.to);
  const extra = tiles.map(() => drawNeeds(0.5, random));
  const tasks = tiles.map((tile, at) => ({
    duration: tile.to - tile.from,
    needs: [tile.cpu, ...extra[at]!.slice(1)],
    dependsOn: tiles.flatMap((other, place) =>
      other.to <= tile.from && random() < 2.5 / size ? [place] : [],
    ),
  }));
  const capacities = AMOUNTS.map((_, resource) =>
    Math.max(1, ...tiles.map(({ from }) => usedAt(tiles, tasks, resource, from))),
  );
  const instance = { tasks: shuffle(tasks, random), slots: size, capacities: [cpu, ...capacities.slice(1)] };
  return { ...instance, bound: length, isOptimum: true };
}

/** A random order in which each task stands behind what it depends on, so that the order does not reveal the schedule. */
function shuffle(tasks: readonly InstanceTask[], random: Random): InstanceTask[] {
  const placeOf = new Map<number, number>();
  const left = new Set(tasks.keys());
  while (left.size > 0) {
    const ready = [...left].filter((at) => tasks[at]!.dependsOn.every((other) => placeOf.has(other)));
    const chosen = ready[pick(ready.length, random)]!;
    placeOf.set(chosen, placeOf.size);
    left.delete(chosen);
  }
  return [...placeOf.keys()].map((at) => ({
    ...tasks[at]!,
    dependsOn: tasks[at]!.dependsOn.map((other) => placeOf.get(other)!),
  }));
}

function largestOf(tiles: readonly Tile[]): number {
  const area = ({ from, to, cpu }: Tile) => (to - from) * cpu;
  return tiles.reduce((best, tile, at) => (area(tile) > area(tiles[best]!) ? at : best), 0);
}

function usedAt(
  tiles: readonly Tile[],
  tasks: readonly InstanceTask[],
  resource: number,
  now: number,
): number {
  return tiles.reduce(
    (sum, { from, to }, at) => (from <= now && now < to ? sum + tasks[at]!.needs[resource]! : sum),
    0,
  );
}

/** A random graph on 2, 4, 8 or 16 identical processors. */
function graph(size: number, index: number, random: Random): Instance {
  const slots = 2 ** (1 + (index % 4));
  const tasks = Array.from({ length: size }, (_, at) => ({
    duration: 1 + pick(LONGEST, random),
    needs: NO_NEEDS,
    dependsOn: at < 3 ? [] : someEarlier(at, 0.5 + 2 * random(), random),
  }));
  return withBound({ tasks, slots, capacities: UNLIMITED });
}

/** Shapes of real workflows: forks that join, pipelines side by side, and levels of unequal width. */
function workflow(size: number, index: number, random: Random): Instance {
  const tasks: InstanceTask[] = [];
  const add = (dependsOn: readonly number[]): number =>
    tasks.push({
      duration: Math.ceil(LONGEST * random() ** 3),
      needs: [1 + pick(4, random), 0, 0, 0],
      dependsOn,
    }) - 1;
  let last: number[] = [];
  while (tasks.length < size) {
    const width = Math.min(size - tasks.length, 2 + pick(12, random));
    if (index % 3 === 1 && last.length > 0) {
      last = last.map((before) => (tasks.length < size ? add([before]) : before));
    } else {
      const fanned = last;
      last = Array.from({ length: width }, () =>
        add(index % 3 === 0 || fanned.length === 0 ? fanned : [fanned[pick(fanned.length, random)]!]),
      );
    }
    if (index % 3 === 0 && tasks.length < size) last = [add(last)];
  }
  return withBound({ tasks, slots: size, capacities: [8, 1000, 1000, 1000] });
}

/** A whole number from 0, below the given one. */
function pick(below: number, random: Random): number {
  return Math.floor(random() * below);
}
