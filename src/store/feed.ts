/** What happened to a task, in the form of a live event. */
export interface FeedTask {
  readonly event?: undefined;
  readonly id: string;
  readonly seq: number;
  /** If it is an item: the id of its group. */
  readonly group?: string | undefined;
  readonly type: string;
  readonly attempt: number;
  readonly at: number;
  readonly [field: string]: unknown;
}

/** What happened to a batch or to one of its tasks. */
export type FeedBody =
  | FeedTask
  | { readonly event: 'added'; readonly from_seq: number; readonly to_seq: number; readonly at: number }
  /** Tasks were removed, or many changed: read the batch again. */
  | { readonly event: 'cleared'; readonly at: number }
  /** How the batch stands may have changed. `run`: a process began or ended its run of it. */
  | { readonly event: 'changed' | 'run' };

/** An entry of a feed. */
export interface FeedEvent {
  readonly batch: string;
  readonly body: FeedBody;
  /** The place right after it, for whoever reads on from there. */
  readonly place: string;
}

/** Entries that follow each other. */
export interface FeedPage {
  readonly events: readonly FeedEvent[];
  /** Where to read on. */
  readonly next: string;
  /** Whether there was nothing more when it was read. */
  readonly isLast: boolean;
}

/**
 * What became durable in a store that several processes share, in the order in which each batch went through it. An entry
 * is written in the transaction of the change that it describes, while somebody follows the feed or did a short time ago. A place is
 * opaque text; it means the same to every process, and everything that is not before it comes after it, however late its
 * transaction was committed.
 */
export interface StoreFeed {
  /**
   * Has entries written from now on, until the returned function is called and for some minutes after that. `onNews` is
   * called when there may be new entries; calls can be lost.
   */
  follow(onNews: () => void): Promise<() => void>;
  /** The end of the feed, as committed now. */
  end(): Promise<string>;
  /**
   * The entries after a place, up to the place `until` or to the end, of one batch or of all. Undefined if some of them are
   * not kept any more, or the place is not one of this feed.
   */
  read(
    after: string,
    options?: { readonly until?: string; readonly batch?: string },
  ): Promise<FeedPage | undefined>;
  /** Adds an entry about a task that this process runs, which changes no state, if the feed is followed. */
  report(batch: string, body: FeedTask): Promise<void>;
}
