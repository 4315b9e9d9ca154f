import { effect } from '@preact/signals';
import { ApiError, batchPath, get } from '../api/http.ts';
import { LiveStream } from '../api/live.ts';
import type { Batch, BatchAttempt, Execution, LiveEvent } from '../api/wire.ts';
import type { Message, OpenBatch } from './state.ts';
import { dispatch, state } from './store.ts';

const PAGE = 1000;
/** How long after a failure something is asked for again. */
const AGAIN_MS = 2000;
/** While another process runs the batch, it is read anew at most so often. */
const ELSEWHERE_MS = 2000;

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
  private wantsAttempts = false;
  private queue: Promise<void> = Promise.resolve();

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
      },
      open: (isNew) => {
        if (isNew) this.later(() => this.readAll());
      },
    });
    this.unwatch = effect(() => this.readMissing(state.value.open));
  }

  close(): void {
    this.stop.abort();
    clearTimeout(this.allTimer);
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
      isElsewhere ? ELSEWHERE_MS : 0,
    );
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

  private async readAttempts(): Promise<void> {
    let cursor: string | undefined;
    do {
      const page: AttemptPage = await this.get(`${batchPath(this.name)}/attempts`, { limit: PAGE, cursor });
      this.tell({ kind: 'attempts', name: this.name, attempts: page.attempts });
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
  }

  private readPage(cursor: string | undefined): Promise<ExecutionPage> {
    return this.get('executions', { batch: this.name, limit: PAGE, cursor });
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
    this.queue = this.queue.then(async () => {
      if (this.stop.signal.aborted) return;
      this.meanwhile = [];
      try {
        await read();
        this.fail(undefined);
      } catch (error) {
        if (this.stop.signal.aborted) return;
        if (!(error instanceof ApiError)) throw error;
        this.fail(error);
        // What is not there comes with the stream, if it comes; all else may be had by asking again.
        if (error.status === 404) this.stream.notThere();
        else setTimeout(() => this.later(read), AGAIN_MS);
      } finally {
        this.meanwhile = undefined;
      }
    });
  }
}
