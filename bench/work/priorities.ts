import { seededRandom } from './random.ts';

/** The priorities of Volley, the most urgent first. Contestants that take numbers are given the index. */
export const PRIORITIES = ['critical', 'high', 'normal', 'low', 'background'] as const;

/** A random level, 0 to 4, for each task; the same for all contestants. */
export function randomLevels(count: number): Uint8Array {
  const random = seededRandom(7);
  return Uint8Array.from({ length: count }, () => Math.floor(random() * PRIORITIES.length));
}
