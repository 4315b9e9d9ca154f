import { signal } from '@preact/signals';
import { addressOf } from './http.ts';
import { check, session } from './session.ts';
import type { LiveEvent } from './wire.ts';

export type Connection =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  /** There is nothing to follow, as far as is known; a look is taken now and then. */
  | { readonly state: 'absent' }
  | { readonly state: 'lost'; readonly since: number; readonly why: string };

/** How the stream of the view that is open stands. */
export const connection = signal<Connection>({ state: 'connecting' });

const KINDS = ['snapshot', 'task', 'added', 'batch', 'cleared', 'gap', 'end'] as const;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

export interface LiveHandlers {
  readonly event: (event: LiveEvent) => void;
  /** The stream is open. `isNew`: not a continuation of the one before, so that events may lie between. */
  readonly open: (isNew: boolean) => void;
}

/**
 * A stream of events that comes back. The browser itself reconnects, with the id of the last event, after most faults;
 * where it gives up, a new stream is made.
 */
export class LiveStream {
  private source: EventSource | undefined;
  private timer = 0;
  private waitMs = FIRST_WAIT_MS;
  private isNew = true;
  private isClosed = false;
  private endReason = '';
  private isAbsent = false;

  constructor(
    private readonly path: string,
    private readonly handlers: LiveHandlers,
  ) {
    connection.value = { state: 'connecting' };
    window.addEventListener('online', this.retryNow);
    this.connect();
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    window.removeEventListener('online', this.retryNow);
    this.source?.close();
  }

  readonly retryNow = (): void => {
    if (this.isClosed || connection.value.state === 'live') return;
    clearTimeout(this.timer);
    this.source?.close();
    this.connect();
  };

  /** The server says that what is followed is not there: that is no fault of the connection. */
  notThere(): void {
    if (this.isClosed || connection.value.state === 'live') return;
    this.isAbsent = true;
    connection.value = { state: 'absent' };
  }

  private connect(): void {
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
    const before = connection.value;
    const since = before.state === 'lost' ? before.since : Date.now();
    if (!this.isAbsent) connection.value = { state: 'lost', since, why: this.why() };
    if (source.readyState !== EventSource.CLOSED) return;
    this.timer = window.setTimeout(() => void this.comeBack(), this.waitMs);
    this.waitMs = Math.min(LONGEST_WAIT_MS, this.waitMs * 2);
  }

  /** The server refused the stream: perhaps we are signed out, perhaps it is only busy. */
  private async comeBack(): Promise<void> {
    await check();
    if (!this.isClosed && session.value.state === 'in') this.connect();
  }

  private why(): string {
    if (this.endReason === 'shutdown') return 'The server was stopped.';
    return navigator.onLine ? 'The server does not answer.' : 'This device is offline.';
  }
}
