/**
 * `npm test` is quick: where a test has a table of cases or draws examples, it takes some of them. `npm run test:deep`
 * takes all, and runs the files that end in `.deep.test.ts`.
 */
export const isDeep = process.env['VOLLEY_TESTS'] === 'deep';

/** How many examples to draw, rounds to run, or tasks to make. */
export function amount({ quick, deep }: { readonly quick: number; readonly deep: number }): number {
  return isDeep ? deep : quick;
}

/** All cases, or `quick` of them, spread evenly from the first to the last. */
export function casesOf<T>(cases: readonly T[], quick: number): readonly T[] {
  if (isDeep || cases.length <= quick) return cases;
  return Array.from({ length: quick }, (_, i) => cases[Math.round((i * (cases.length - 1)) / (quick - 1))]!);
}
