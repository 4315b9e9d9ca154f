import type { Contestant } from '../harness/scenario.ts';
import { randomLevels } from '../work/priorities.ts';
import { seededRandom } from '../work/random.ts';

/** A graph in which each node depends on random earlier ones, in the two forms that contestants start from. */
export interface RandomGraph {
  readonly concurrency: number;
  readonly ids: readonly string[];
  readonly dependsOn: readonly (readonly string[])[];
  /** The priority of each node. */
  readonly levels: Uint8Array;
  /** For the loop over typed arrays: the dependencies of a node as indexes, from its offset to that of the next. */
  readonly offsets: Int32Array;
  readonly dependencies: Int32Array;
}

export type GraphContestant = Contestant<RandomGraph>;

export function randomGraph(count: number, perNode: number, concurrency: number): RandomGraph {
  const random = seededRandom(count);
  const ids = Array.from({ length: count }, (_, index) => `node-${index}`);
  const offsets = new Int32Array(count + 1);
  const dependencies: number[] = [];
  const dependsOn: string[][] = [];
  for (let node = 0; node < count; node++) {
    const chosen = new Set<number>();
    while (chosen.size < Math.min(perNode, node)) chosen.add(Math.floor(random() * node));
    dependencies.push(...chosen);
    dependsOn.push([...chosen].map((index) => ids[index]!));
    offsets[node + 1] = dependencies.length;
  }
  return {
    concurrency,
    ids,
    dependsOn,
    levels: randomLevels(count),
    offsets,
    dependencies: Int32Array.from(dependencies),
  };
}
