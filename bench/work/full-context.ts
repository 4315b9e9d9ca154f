import { PRIORITIES } from './priorities.ts';

/** What every task of ours asks for: all features on. One object for all tasks of a priority, as programs have it. */
export const FULL_CONTEXTS = PRIORITIES.map((priority) => ({
  toolName: 'no-op',
  priority,
  resources: { cpu: 0.5, memoryMb: 10 },
  timeoutMs: 30_000,
  retry: { maxRetries: 3 },
}));
