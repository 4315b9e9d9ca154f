import type { BatchRecord } from './records.ts';
import type { Store } from './store.ts';

/** No event tells of another process's writing, so it is looked for; only while somebody wants to know. */
const LOOK_MS = 500;
/** Of so many batches, the newest. */
const MAX_BATCHES = 1000;
/** Of so many running tasks of a batch, the first. */
const MAX_RUNNING = 100;

/** Finds out what happens to the batches of a store, in whichever process. */
export class StoreWatch {
  private version: number | undefined;
  /** How each batch stood, as text. */
  private standings: ReadonlyMap<string, string> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> | undefined;

  constructor(
    private readonly store: Store,
    private readonly told: {
      /** Whether anybody wants to know. */
      isWanted(): boolean;
      changed(batch: string, isNew: boolean): void;
      gone(batch: string): void;
    },
  ) {}

  /** Somebody wants to know from now on. Settles when what happened before has been looked at. */
  async wake(): Promise<void> {
    if (this.timer !== undefined) return;
    this.timer = setInterval(() => this.lookAgain(), LOOK_MS).unref();
    // What happened while nobody wanted to know is told to whoever comes back.
    await this.look();
  }

  close(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private lookAgain(): void {
    if (this.told.isWanted()) void this.look();
    else this.close();
  }

  /** Tasks that begin or end a pause before another attempt are counted as running all the time. */
  private async pausesOf({ name, counts, holder }: BatchRecord): Promise<string> {
    if (holder === undefined || counts.running === 0) return '';
    const running = await this.store.tasks(name, { status: ['running'], limit: MAX_RUNNING });
    return JSON.stringify(
      running.flatMap(({ seq, pause }) => (pause === undefined ? [] : [seq, pause.until])),
    );
  }

  /** One look at a time. */
  private look(): Promise<void> {
    this.looking ??= this.lookNow().finally(() => {
      this.looking = undefined;
    });
    return this.looking;
  }

  private async lookNow(): Promise<void> {
    let batches: BatchRecord[];
    const now = new Map<string, string>();
    try {
      const version = await this.store.version();
      if (version === this.version) return;
      batches = await this.store.batchPage(undefined, MAX_BATCHES);
      for (const batch of batches) now.set(batch.name, standingOf(batch) + (await this.pausesOf(batch)));
      // Whoever wants to know next looks again.
      if (this.timer === undefined) return;
      // Only now: if a read fails, the next look must not take this version for known.
      this.version = version;
    } catch {
      // A store that is out of order is told by whoever works with it.
      return;
    }
    const before = this.standings;
    this.standings = now;
    if (before === undefined) return;
    for (const [name, standing] of now) {
      if (before.get(name) !== standing) this.told.changed(name, !before.has(name));
    }
    const isWhole = batches.length < MAX_BATCHES;
    if (isWhole) for (const name of before.keys()) if (!now.has(name)) this.told.gone(name);
  }
}

function standingOf({ number, counts, startedAt, endedAt, holder }: BatchRecord): string {
  return JSON.stringify([number, counts, startedAt, endedAt, holder?.pid, holder?.host]);
}
