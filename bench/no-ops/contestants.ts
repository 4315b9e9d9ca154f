import type { NoOpContestant } from './input.ts';

/** Loaded one by one: the process of a contestant holds no other. */
export const CONTESTANTS: Readonly<Record<string, () => Promise<{ readonly contestant: NoOpContestant }>>> = {
  'bare promise loop': () => import('./bare-loop.ts'),
  'p-map': () => import('./p-map.ts'),
  'volley submitAll': () => import('./volley-group.ts'),
  volley: () => import('./volley.ts'),
  'fastq promises': () => import('./fastq.ts'),
  'async.priorityQueue': () => import('./async-priority-queue.ts'),
  'p-limit': () => import('./p-limit.ts'),
  'p-queue': () => import('./p-queue.ts'),
  'Effect timeouts': () => import('./effect-timeouts.ts'),
  'p-queue timeouts': () => import('./p-queue-timeouts.ts'),
  'p-queue priorities': () => import('./p-queue-priorities.ts'),
};
