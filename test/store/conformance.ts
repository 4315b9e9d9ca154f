import { describe } from 'vitest';
import { attemptTests } from './conformance/attempts.ts';
import { cacheTests } from './conformance/cache.ts';
import { completionTests } from './conformance/completions.ts';
import { countTests } from './conformance/counts.ts';
import type { StoreHarness } from './conformance/harness.ts';
import { itemTests } from './conformance/items.ts';
import { leaseTests } from './conformance/leases.ts';
import { outputTests } from './conformance/output.ts';
import { readTests } from './conformance/reads.ts';
import { recoveryTests } from './conformance/recovery.ts';
import { requestTests } from './conformance/requests.ts';
import { resultTests } from './conformance/results.ts';
import { taskTests } from './conformance/tasks.ts';
import { transactionTests } from './conformance/transactions.ts';

export const PARTS = [
  taskTests,
  transactionTests,
  readTests,
  resultTests,
  completionTests,
  attemptTests,
  countTests,
  itemTests,
  leaseTests,
  requestTests,
  recoveryTests,
  cacheTests,
  outputTests,
];

/** The parts in which locks, transactions and the answers of a server matter most. */
export const SHORT_PARTS = [transactionTests, completionTests, leaseTests, requestTests, recoveryTests];

/** What every `Store` does, however it keeps things. A new implementation calls this and nothing else. */
export function storeConformance(name: string, harness: StoreHarness, parts = PARTS): void {
  describe(name, () => {
    for (const part of parts) part(harness);
  });
}
