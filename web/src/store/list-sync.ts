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

/** Keeps the list of batches: reads it, follows the events of all, and reads again what events cannot tell. */
export class ListSync {
  private readonly stream: LiveStream;
  private readonly stop = new AbortController();
  private readonly unwatch: () => void;
  private isReading = false;
  /** Events since the read that is under way began: its answer may be older than they are. */
  private meanwhile: LiveEvent[] = [];
  private nextCursor: string | null = null;

  constructor(private readonly fail: (error: ApiError | undefined) => void) {
    this.stream = new LiveStream('events', {
      event: (event) => {
        if (event.kind === 'task') return;
        if (this.isReading) this.meanwhile.push(event);
        dispatch(event);
      },
      open: (isNew) => {
        if (isNew) void this.read();
      },
      read: () => {
        if (!this.isReading) void this.read();
      },
    });
    this.unwatch = effect(() => {
      if (state.value.isListStale && !this.isReading) void this.read();
    });
  }

  close(): void {
    this.stop.abort();
    this.unwatch();
    this.stream.close();
  }

  readonly retryNow = (): void => this.stream.retryNow();

  get hasMore(): boolean {
    return this.nextCursor !== null;
  }

  /** The first page, in place of all that was there, or the one after those that were read. */
  async read(cursor?: string | null): Promise<void> {
    if (this.stop.signal.aborted) return;
    if (!this.isReading) this.meanwhile = [];
    this.isReading = true;
    try {
      const page = await get<BatchPage>(
        'batches',
        { limit: PAGE, cursor: cursor ?? undefined },
        this.stop.signal,
      );
      this.nextCursor = page.next_cursor;
      dispatch({ kind: 'list', batches: page.batches, isWhole: !cursor }, ...this.meanwhile);
      this.isReading = false;
      this.fail(undefined);
    } catch (error) {
      if (this.stop.signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      this.fail(error);
      setTimeout(() => void this.read(cursor), AGAIN_MS);
    }
  }

  readMore(): Promise<void> {
    return this.read(this.nextCursor);
  }
}
