import { signal } from '@preact/signals';
import { addressOf } from './http.ts';
import { serverNow } from './server-time.ts';
import { check, session } from './session.ts';
import { StreamPlace } from './stream-place.ts';
import type { LiveEvent } from './wire.ts';

export type Connection =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  /** There is nothing to follow, as far as is known; a look is taken now and then. */
  | { readonly state: 'absent' }
  /** There is no stream to be had, of the browser or of the server; everything is read now and then. */
  | { readonly state: 'crowded'; readonly by: 'browser' | 'server' }
  | { readonly state: 'lost'; readonly since: number; readonly why: string };

/** How the stream of the view that is open stands. */
export const connection = signal<Connection>({ state: 'connecting' });

const KINDS = ['snapshot', 'task', 'added', 'batch', 'cleared', 'gap', 'end'] as const;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;
/** How long a tab that nobody sees keeps its stream. */
const HIDDEN_MS = 5000;
/** How often everything is read where there is no stream to be had. */
const CROWDED_MS = 10_000;

export interface LiveHandlers {
  readonly event: (event: LiveEvent) => void;
  /** The stream is open. `isNew`: not a continuation of the one before, so that events may lie between. */
  readonly open: (isNew: boolean) => void;
  /** There is no stream, but a server that answers: read how things stand. */
  readonly read: () => void;
}

/**
 * A stream of events that comes back. The browser itself reconnects, with the id of the last event, after most faults;
 * where it gives up, a new stream is made. Windows share a few connections (see {@link StreamPlace}), and those that nobody
 * sees have none.
 */
export class LiveStream {
  private source: EventSource | undefined;
  private readonly place = new StreamPlace();
  /** Rises whenever what is under way is given up. */
  private turn = 0;
  private timer = 0;
  private waitMs = FIRST_WAIT_MS;
  private isNew = true;
  private isClosed = false;
  private endReason = '';
  private isAbsent = false;
  private hiddenTimer = 0;
  private isResting = document.hidden;

  constructor(
    private readonly path: string,
    private readonly handlers: LiveHandlers,
  ) {
    connection.value = { state: 'connecting' };
    window.addEventListener('online', this.retryNow);
    document.addEventListener('visibilitychange', this.restOrWake);
    if (!this.isResting) void this.connect();
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.hiddenTimer);
    window.removeEventListener('online', this.retryNow);
    document.removeEventListener('visibilitychange', this.restOrWake);
    this.disconnect();
    this.place.leave();
  }

  readonly retryNow = (): void => {
    if (this.isClosed || this.isResting || connection.value.state === 'live') return;
    void this.connect();
  };

  private readonly restOrWake = (): void => {
    clearTimeout(this.hiddenTimer);
    if (document.hidden) this.hiddenTimer = window.setTimeout(this.rest, HIDDEN_MS);
    else if (this.isResting) {
      this.isResting = false;
      void this.connect();
    }
  };

  private readonly rest = (): void => {
    this.isResting = true;
    this.disconnect();
    this.place.leave();
    connection.value = { state: 'connecting' };
  };

  private disconnect(): void {
    this.turn++;
    clearTimeout(this.timer);
    this.source?.close();
    this.source = undefined;
  }

  /** The server says that what is followed is not there: that is no fault of the connection. */
  notThere(): void {
    if (this.isClosed || connection.value.state === 'live') return;
    this.isAbsent = true;
    connection.value = { state: 'absent' };
  }

  private readonly readNowAndThen = (): void => {
    connection.value = { state: 'crowded', by: 'browser' };
    this.handlers.read();
    this.timer = window.setTimeout(this.readNowAndThen, CROWDED_MS);
  };

  private async connect(): Promise<void> {
    this.disconnect();
    const { turn } = this;
    const hasPlace = await this.place.take(this.readNowAndThen);
    if (!hasPlace || turn !== this.turn) return;
    clearTimeout(this.timer);
    this.isNew = true;
    const source = new EventSource(addressOf(this.path));
    this.source = source;
    source.onopen = () => {
      connection.value = { state: 'live' };
      this.waitMs = FIRST_WAIT_MS;
      this.endReason = '';
      this.isAbsent = false;
      this.handlers.open(this.isNew);
      this.isNew = false;
    };
    source.onerror = () => this.lost(source);
    for (const kind of KINDS) {
      source.addEventListener(kind, (message: MessageEvent<string>) => {
        const event = { kind, data: JSON.parse(message.data) } as LiveEvent;
        if (event.kind === 'end') this.endReason = event.data.reason;
        this.handlers.event(event);
      });
    }
  }

  private lost(source: EventSource): void {
    if (this.isClosed || this.source !== source) return;
    if (source.readyState === EventSource.CLOSED) {
      this.timer = window.setTimeout(() => void this.comeBack(source), this.waitMs);
      this.waitMs = Math.min(LONGEST_WAIT_MS, this.waitMs * 2);
    } else this.tellLost();
  }

  /** The server refused the stream: perhaps we are signed out, it has too many, or what is followed is gone. */
  private async comeBack(source: EventSource): Promise<void> {
    const isThere = await check();
    if (this.source !== source || session.value.state !== 'in') return;
    if (!isThere) this.tellLost();
    else {
      if (!this.isAbsent) connection.value = { state: 'crowded', by: 'server' };
      this.handlers.read();
    }
    void this.connect();
  }

  private tellLost(): void {
    const before = connection.value;
    const since = before.state === 'lost' ? before.since : serverNow();
    if (!this.isAbsent) connection.value = { state: 'lost', since, why: this.why() };
  }

  private why(): string {
    if (this.endReason === 'shutdown') return 'The server was stopped.';
    return navigator.onLine ? 'The server does not answer.' : 'This device is offline.';
  }
}
