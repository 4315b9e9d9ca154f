import { effect } from '@preact/signals';
import { ApiError, get } from '../api/http.ts';
import { LiveStream } from '../api/live.ts';
import type { Batch, LiveEvent } from '../api/wire.ts';
import { dispatch, state } from './store.ts';

const PAGE = 100;
/** How long after a failure something is asked for again. */
const AGAIN_MS = 2000;

interface BatchPage {
  readonly batches: readonly Batch[];
  readonly next_cursor: string | null;
}

/** How long somebody must have stopped typing. */
const SETTLE_MS = 200;

/** Which batches to read. */
export interface BatchSearch {
  readonly search: string;
  readonly phases: readonly string[];
}

/** Keeps the list of batches: reads it, follows the events of all, and reads again what events cannot tell. */
export class ListSync {
  private readonly stream: LiveStream;
  private readonly stop = new AbortController();
  private readonly unwatch: () => void;
  /** How many reads are under way, or to be tried again. */
  private reads = 0;
  /** Events since the read that is under way began: its answer may be older than they are. */
  private meanwhile: LiveEvent[] = [];
  private nextCursor: string | null = null;

  private timer: number | undefined;

  constructor(
    private readonly fail: (error: ApiError | undefined) => void,
    private wanted: BatchSearch,
  ) {
    this.stream = new LiveStream('events', {
      event: (event) => {
        if (event.kind === 'task') return;
        if (this.reads > 0) this.meanwhile.push(event);
        dispatch(event);
      },
      open: (isNew) => {
        if (isNew) void this.read();
      },
      read: () => {
        if (this.reads === 0) void this.read();
      },
    });
    this.unwatch = effect(() => {
      if (state.value.isListStale && this.reads === 0) void this.read();
    });
  }

  close(): void {
    clearTimeout(this.timer);
    this.stop.abort();
    this.unwatch();
    this.stream.close();
  }

  readonly retryNow = (): void => this.stream.retryNow();

  get hasMore(): boolean {
    return this.nextCursor !== null;
  }

  /** Reads others from now on. */
  find(wanted: BatchSearch): void {
    if (JSON.stringify(wanted) === JSON.stringify(this.wanted)) return;
    this.wanted = wanted;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.read(), SETTLE_MS);
  }

  /** The first page, in place of all that was there, or the one after those that were read. */
  async read(cursor?: string | null): Promise<void> {
    if (this.stop.signal.aborted) return;
    if (this.reads === 0) this.meanwhile = [];
    this.reads++;
    const { wanted } = this;
    try {
      const page = await get<BatchPage>(
        'batches',
        { limit: PAGE, cursor: cursor ?? undefined, search: wanted.search, state: wanted.phases },
        this.stop.signal,
      );
      this.reads--;
      // Else somebody looks for others by now, which are being read.
      if (wanted === this.wanted) {
        this.nextCursor = page.next_cursor;
        dispatch({ kind: 'list', batches: page.batches, isWhole: !cursor }, ...this.meanwhile);
      }
      this.fail(undefined);
    } catch (error) {
      if (this.stop.signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      this.fail(error);
      setTimeout(() => {
        this.reads--;
        void this.read(cursor);
      }, AGAIN_MS);
    }
  }

  readMore(): Promise<void> {
    return this.read(this.nextCursor);
  }
}
