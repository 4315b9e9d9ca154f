import type { FeedEvent, StoreFeed } from '../../store/feed.ts';

/** Notifications can be lost, so the feed is read now and then anyway. */
const POLL_MS = 1000;
/** The least time between two reads. */
const PAUSE_MS = 10;

/** Called with what the feed brings, in order. */
interface TailListener {
  event(event: FeedEvent): void;
  /** All before this place has been passed. */
  reached(place: string): void;
  /** Entries after those that were passed are lost. The next ones come after this place. */
  lost(place: string): void;
}

/** Follows the feed of a store from its end, while it is started. */
export class FeedTail {
  private place = '';
  private starting: Promise<void> | undefined;
  private stopFollowing: (() => void) | undefined;
  private poll: NodeJS.Timeout | undefined;
  private waking: NodeJS.Timeout | undefined;
  private readAt = 0;
  private last: Promise<void> = Promise.resolve();
  /** A read that has not begun. */
  private next: Promise<void> | undefined;

  constructor(
    private readonly feed: StoreFeed,
    private readonly listener: TailListener,
  ) {}

  /** Resolves once everything that is committed from now on will be passed. */
  start(): Promise<void> {
    if (this.starting === undefined) {
      const starting = this.begin(() => this.starting === starting);
      this.starting = starting;
      starting.catch(() => {
        if (this.starting === starting) this.starting = undefined;
      });
    }
    return this.starting;
  }

  stop(): void {
    this.starting = undefined;
    clearInterval(this.poll);
    clearTimeout(this.waking);
    this.waking = undefined;
    this.stopFollowing?.();
    this.stopFollowing = undefined;
  }

  /** Passes everything that is committed now. Returns the place that it has reached. */
  async catchUp(): Promise<string> {
    this.next ??= this.last.then(() => {
      this.next = undefined;
      return this.read();
    });
    const { next } = this;
    this.last = next.catch(() => undefined);
    await next;
    return this.place;
  }

  private async begin(isWanted: () => boolean): Promise<void> {
    const stop = await this.feed.follow(this.wake);
    const place = await this.feed.end().catch((error) => {
      stop();
      throw error;
    });
    if (!isWanted()) return stop();
    this.stopFollowing = stop;
    this.place = place;
    this.listener.lost(place);
    this.poll = setInterval(this.wake, POLL_MS).unref();
  }

  private readonly wake = (): void => {
    if (this.stopFollowing === undefined || this.waking !== undefined) return;
    const pauseMs = Math.max(0, this.readAt + PAUSE_MS - performance.now());
    this.waking = setTimeout(() => {
      this.waking = undefined;
      // The next one reads what this one could not.
      this.catchUp().catch(() => undefined);
    }, pauseMs).unref();
  };

  private async read(): Promise<void> {
    const { starting } = this;
    for (;;) {
      const page = await this.feed.read(this.place);
      if (this.starting !== starting) return;
      if (page === undefined) {
        const place = await this.feed.end();
        if (this.starting !== starting) return;
        this.place = place;
        this.listener.lost(place);
        break;
      }
      for (const event of page.events) this.listener.event(event);
      this.place = page.next;
      if (page.isLast) break;
    }
    this.listener.reached(this.place);
    this.readAt = performance.now();
  }
}
