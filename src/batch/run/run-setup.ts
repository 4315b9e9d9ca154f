import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import type { Lease, Store } from '../../store/store.ts';
import type { BatchEvents } from '../events.ts';
import type { BatchListener } from './monitor.ts';

/** How a batch is run. */
export interface RunOptions {
  readonly maxConcurrency: number | 'auto';
  /** For all of it, from its start. */
  readonly timeoutMs: number | undefined;
  readonly failFast: boolean;
}

export interface RunSetup {
  readonly coordinator: ParallelToolCoordinator;
  readonly store: Store;
  readonly lease: Lease;
  /** Gives the lease back. */
  readonly release: () => Promise<void>;
  readonly options: RunOptions;
  readonly listeners: ReadonlySet<BatchListener>;
  readonly events: BatchEvents;
}
