import fc from 'fast-check';

/**
 * Property tests draw the same examples each time: a suite that passed once passes again, on whatever machine.
 * `VOLLEY_TEST_SEED=$RANDOM npm test` looks at others.
 */
fc.configureGlobal({ seed: Number(process.env['VOLLEY_TEST_SEED'] ?? 20_261_116) });
