import type { Batch, BatchAttempt, Execution, LiveEvent } from '../api/wire.ts';
import type { Row } from '../model/row.ts';

/** The executions of the batch that is looked at. */
export interface OpenBatch {
  readonly name: string;
  /** In the order of `seq`. */
  readonly rows: readonly Row[];
  /** The place of each id in `rows`; a new object only when rows come or go. */
  readonly places: ReadonlyMap<string, number>;
  readonly isLoaded: boolean;
  /** What cannot be known from events and must be read from the server. */
  readonly missing: 'none' | 'tail' | 'all';
}

export interface State {
  readonly batches: ReadonlyMap<string, Batch>;
  readonly isListLoaded: boolean;
  /** The list of batches must be read anew. */
  readonly isListStale: boolean;
  readonly open: OpenBatch | undefined;
}

/** All that can happen to the state. */
export type Message =
  | LiveEvent
  | { readonly kind: 'list'; readonly batches: readonly Batch[]; readonly isWhole: boolean }
  | { readonly kind: 'open'; readonly name: string }
  | { readonly kind: 'close' }
  /** Rows that were read. `isWhole`: there are no others. */
  | {
      readonly kind: 'rows';
      readonly name: string;
      readonly rows: readonly Execution[];
      readonly isWhole: boolean;
    }
  | { readonly kind: 'attempts'; readonly name: string; readonly attempts: readonly BatchAttempt[] }
  | { readonly kind: 'loaded'; readonly name: string }
  /** What was missing is being read. */
  | { readonly kind: 'reading' };

export const EMPTY: State = { batches: new Map(), isListLoaded: false, isListStale: false, open: undefined };
