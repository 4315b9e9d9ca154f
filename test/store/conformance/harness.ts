import type { StoreOptions } from '../../../src/store/sqlite-store.ts';
import type { Store } from '../../../src/store/store.ts';

/** How the tests get stores. All that are opened at one place share what is kept there, as processes do. */
export interface StoreHarness {
  /** A place where nothing is yet. */
  newPlace(): string;
  /** Opens a store, which is closed when the test ends; at a new place where none is given. */
  open(place?: string, options?: StoreOptions): Promise<Store>;
  /** Whether all its users are on one machine, which has its name alone. */
  readonly isLocal: boolean;
}
