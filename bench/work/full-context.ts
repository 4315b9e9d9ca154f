import { noOp } from './no-op.ts';
import { PRIORITIES } from './priorities.ts';

/** What every task of ours asks for: all features on. One object for all tasks of a priority, as programs have it. */
export const FULL_CONTEXTS = PRIORITIES.map((priority) => ({
  toolName: 'no-op',
  priority,
  resources: { cpu: 0.5, memoryMb: 10 },
  timeoutMs: 30_000,
  retry: { maxRetries: 3 },
}));

/**
 * The same with their work, for groups. Written out, because objects made by spreading have a shape of their own each,
 * which slows down whoever reads them.
 */
export const FULL_ITEMS = FULL_CONTEXTS.map(({ toolName, priority, resources, timeoutMs, retry }) => {
  return { toolName, priority, resources, timeoutMs, retry, run: noOp };
});
