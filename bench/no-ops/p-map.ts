import pMap from 'p-map';
import { noOp } from '../work/no-op.ts';
import type { NoOpContestant } from './input.ts';

/** It has no handle for each task; the one promise of the whole is awaited. */
export const contestant: NoOpContestant = {
  name: 'p-map',
  async run({ items, concurrency }) {
    await pMap(items, noOp, { concurrency });
  },
};
