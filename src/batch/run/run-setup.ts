import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import type { Lease, Store } from '../../store/store.ts';
import type { BatchEvents } from '../events.ts';

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
  /** Notes the end and gives the lease back, unless that would leave tasks open that shall run: then it says false. */
  readonly end: (leavesOpen: boolean) => Promise<boolean>;
  readonly options: RunOptions;
  readonly events: BatchEvents;
}
