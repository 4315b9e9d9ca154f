import { ParallelExecutionEngine } from '../../dist/index.js';

/** An engine whose only tight limit is the concurrency, as with the peers; the others are counted all the same. */
export function engineWith(maxConcurrency: number): ParallelExecutionEngine {
  return new ParallelExecutionEngine({
    maxConcurrency,
    limits: { cpu: 1e6, memoryMb: 1e9, ioOperations: 1e6, networkOperations: 1e6 },
  });
}
