import { randomBytes } from 'node:crypto';
import type { McpBackend } from './tool.ts';

/** The names that {@link newRunName} chooses. Nobody chooses such a name for a batch to keep. */
const RUN_NAME = /^run-[\da-f]{12}$/;
/** How often one process looks for old runs. */
const INTERVAL_MS = 3_600_000;

/** When each backend was last looked at. */
const lookedAt = new WeakMap<McpBackend, number>();

/** A name for a batch that nobody named. */
export function newRunName(): string {
  return `run-${randomBytes(6).toString('hex')}`;
}

/**
 * Deletes batches that nobody named and that have not run for a while, with their results. Running ones are kept. Looks
 * at most once an hour.
 */
export async function forgetOldRuns(backend: McpBackend, now: number): Promise<void> {
  const { store, executor, keepRunsMs } = backend;
  if (now - (lookedAt.get(backend) ?? Number.NEGATIVE_INFINITY) < INTERVAL_MS) return;
  lookedAt.set(backend, now);
  for (const { name, createdAt, startedAt, endedAt, holder } of await store.batches()) {
    const usedAt = Math.max(createdAt, startedAt ?? 0, endedAt ?? 0);
    if (!RUN_NAME.test(name) || holder !== undefined || now - usedAt < keepRunsMs) continue;
    // It refuses if somebody has just started it.
    await executor.handle({ action: 'clear', batch: name });
  }
}
