import fc from 'fast-check';
import { amount } from './depth.ts';

/**
 * Property tests draw the same examples each time: a suite that passed once passes again, on whatever machine.
 * `VOLLEY_TEST_SEED=$RANDOM npm test` looks at others.
 */
fc.configureGlobal({
  seed: Number(process.env['VOLLEY_TEST_SEED'] ?? 20_261_116),
  numRuns: amount({ quick: 40, deep: 100 }),
});
