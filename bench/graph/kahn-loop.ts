import { noOp } from '../work/no-op.ts';
import type { GraphContestant } from './random-graph.ts';

/** The limit: Kahn's algorithm over typed arrays, written for this one purpose. It awaits the no-op of each node. */
export const contestant: GraphContestant = {
  name: 'hand-written Kahn loop',
  async run({ ids, offsets, dependencies }) {
    const count = ids.length;
    const waitsFor = new Int32Array(count);
    const dependentOffsets = new Int32Array(count + 1);
    for (const dependency of dependencies) dependentOffsets[dependency + 1]!++;
    for (let node = 0; node < count; node++) dependentOffsets[node + 1]! += dependentOffsets[node]!;
    const nextFree = dependentOffsets.slice();
    const dependents = new Int32Array(dependencies.length);
    const ready = new Int32Array(count);
    let tail = 0;
    for (let node = 0; node < count; node++) {
      waitsFor[node] = offsets[node + 1]! - offsets[node]!;
      if (waitsFor[node] === 0) ready[tail++] = node;
      for (let at = offsets[node]!; at < offsets[node + 1]!; at++)
        dependents[nextFree[dependencies[at]!]!++] = node;
    }
    for (let head = 0; head < tail; head++) {
      const node = ready[head]!;
      await noOp();
      for (let at = dependentOffsets[node]!; at < dependentOffsets[node + 1]!; at++) {
        const dependent = dependents[at]!;
        if (--waitsFor[dependent]! === 0) ready[tail++] = dependent;
      }
    }
    if (tail !== count) throw new Error('Some nodes were not reached.');
  },
};
