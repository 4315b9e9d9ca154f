import { effect } from '@preact/signals';
import { ApiError, batchPath, get } from '../api/http.ts';
import { LiveStream } from '../api/live.ts';
import type { Batch, BatchAttempt, Execution, LiveEvent, Status } from '../api/wire.ts';
import type { Message, OpenBatch } from './state.ts';
import { dispatch, state } from './store.ts';

const PAGE = 1000;
/** How long after a failure something is asked for again. */
const AGAIN_MS = 2000;
/** While another process runs the batch, it is read anew at most so often. */
const ELSEWHERE_MS = 2000;
/** What was said of failures is read at most so often. */
const FAILURES_MS = 500;
/** And never for more than this share of the time, however much there is to read. */
const LARGEST_SHARE = 1 / 5;

interface ExecutionPage {
  readonly executions: readonly Execution[];
  readonly next_cursor: string | null;
}

interface AttemptPage {
  readonly attempts: readonly BatchAttempt[];
  readonly next_cursor: string | null;
}

/**
 * Keeps the executions of one batch: reads them, follows its events, and reads again what events cannot tell. Events
 * that come while something is read are applied once more behind it, for the answer may be older than they are.
 */
export class BatchSync {
  private readonly stream: LiveStream;
  private readonly stop = new AbortController();
  private readonly unwatch: () => void;
  /** Events of executions since the read that is under way began. */
  private meanwhile: LiveEvent[] | undefined;
  /** Where the last page began: new tasks come behind it. */
  private lastCursor: string | undefined;
  private hasRead = false;
  /** Whether the stream has told how the batch stands: what is read then may be older. */
  private hasHeard = false;
  /** Until everything is read anew. */
  private allTimer: number | undefined;
  /** Until the failed ones are. */
  private failuresTimer: number | undefined;
  /** How long the last read took. */
  private tookMs = 0;
  private wantsAttempts = false;
  private queue: Promise<void> = Promise.resolve();
  /** How many reads are waiting for their turn, under way, or to be tried again. */
  private pending = 0;

  constructor(
    private readonly name: string,
    private readonly fail: (error: ApiError | undefined) => void,
  ) {
    dispatch({ kind: 'open', name });
    this.later(() => this.readBatch());
    this.stream = new LiveStream(`${batchPath(name)}/events`, {
      event: (event) => {
        if (event.kind === 'task') this.meanwhile?.push(event);
        if (event.kind === 'batch' || event.kind === 'snapshot') this.hasHeard = true;
        dispatch(event);
        if (event.kind === 'task' && event.data.type === 'failed') this.readFailuresSoon();
      },
      open: (isNew) => {
        if (isNew) this.later(() => this.readAll());
      },
      read: () => {
        if (this.pending > 0) return;
        this.hasHeard = false;
        this.later(() => this.readBatch());
        this.later(() => this.readAll());
      },
    });
    this.unwatch = effect(() => this.readMissing(state.value.open));
  }

  close(): void {
    this.stop.abort();
    clearTimeout(this.allTimer);
    clearTimeout(this.failuresTimer);
    this.unwatch();
    this.stream.close();
    dispatch({ kind: 'close' });
  }

  readonly retryNow = (): void => this.stream.retryNow();

  /** The tries of all executions, from now on. */
  readAttemptsToo(): void {
    if (this.wantsAttempts) return;
    this.wantsAttempts = true;
    if (this.hasRead) this.later(() => this.readAttempts());
  }

  private readMissing(open: OpenBatch | undefined): void {
    if (open === undefined || open.name !== this.name || open.missing === 'none') return;
    const { missing } = open;
    dispatch({ kind: 'reading' });
    if (missing === 'all') this.readAllSoon();
    else this.later(() => this.readTail());
  }

  private readAllSoon(): void {
    if (this.allTimer !== undefined) return;
    const isElsewhere = state.value.batches.get(this.name)?.state === 'elsewhere';
    this.allTimer = window.setTimeout(
      () => {
        this.allTimer = undefined;
        this.later(() => this.readAll());
      },
      isElsewhere ? this.pauseMs(ELSEWHERE_MS) : 0,
    );
  }

  /** Events carry no texts of errors, and those are what one looks for. */
  private readFailuresSoon(): void {
    this.failuresTimer ??= window.setTimeout(() => {
      this.failuresTimer = undefined;
      this.later(() => this.readFailures());
    }, this.pauseMs(FAILURES_MS));
  }

  private pauseMs(least: number): number {
    return Math.max(least, this.tookMs / LARGEST_SHARE);
  }

  private async readBatch(): Promise<void> {
    const data = await this.get<Batch>(batchPath(this.name));
    if (!this.hasHeard) this.tell({ kind: 'batch', data });
  }

  /** The first time each page is shown as it comes; later all replace all, for some may be gone. */
  private async readAll(): Promise<void> {
    const all: Execution[] = [];
    const isFirst = !this.hasRead;
    let cursor: string | undefined;
    do {
      const page = await this.readPage(cursor);
      this.lastCursor = cursor;
      cursor = page.next_cursor ?? undefined;
      if (isFirst) this.tellRows(page.executions, false);
      else all.push(...page.executions);
    } while (cursor !== undefined);
    if (!isFirst) this.tellRows(all, true);
    this.hasRead = true;
    this.tell({ kind: 'loaded', name: this.name });
    if (this.wantsAttempts) await this.readAttempts();
  }

  private async readTail(): Promise<void> {
    let cursor = this.lastCursor;
    for (;;) {
      const page = await this.readPage(cursor);
      this.tellRows(page.executions, false);
      this.lastCursor = cursor;
      if (page.next_cursor === null) return;
      cursor = page.next_cursor;
    }
  }

  private async readFailures(): Promise<void> {
    let cursor: string | undefined;
    do {
      const page = await this.readPage(cursor, 'failed');
      this.tellRows(page.executions, false);
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
  }

  private async readAttempts(): Promise<void> {
    let cursor: string | undefined;
    do {
      const page: AttemptPage = await this.get(`${batchPath(this.name)}/attempts`, { limit: PAGE, cursor });
      this.tell({ kind: 'attempts', name: this.name, attempts: page.attempts });
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
  }

  private readPage(cursor: string | undefined, status?: Status): Promise<ExecutionPage> {
    return this.get('executions', { batch: this.name, limit: PAGE, cursor, status });
  }

  private get<T>(path: string, query?: Record<string, string | number | undefined>): Promise<T> {
    return get<T>(path, query, this.stop.signal);
  }

  private tellRows(rows: readonly Execution[], isWhole: boolean): void {
    this.tell({ kind: 'rows', name: this.name, rows, isWhole });
  }

  private tell(message: Message): void {
    dispatch(message, ...(this.meanwhile ?? []));
  }

  /** One after the other: what is asked for twice meanwhile is read twice, never mixed. */
  private later(read: () => Promise<void>): void {
    this.pending++;
    this.queue = this.queue.then(async () => {
      if (this.stop.signal.aborted) return;
      this.meanwhile = [];
      const began = performance.now();
      try {
        await read();
        this.tookMs = performance.now() - began;
        this.pending--;
        this.fail(undefined);
      } catch (error) {
        if (this.stop.signal.aborted) return;
        if (!(error instanceof ApiError)) throw error;
        this.fail(error);
        // What is not there comes with the stream, if it comes; all else may be had by asking again.
        if (error.status === 404) {
          this.pending--;
          this.stream.notThere();
        } else setTimeout(() => this.queueAgain(read), AGAIN_MS);
      } finally {
        this.meanwhile = undefined;
      }
    });
  }

  private queueAgain(read: () => Promise<void>): void {
    this.pending--;
    this.later(read);
  }
}
