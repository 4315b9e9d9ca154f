import type { BatchRecord } from './records.ts';
import type { Store } from './store.ts';

/** Writes by other processes are not announced, so the store is polled. */
const POLL_MS = 500;
/** Only the newest batches are compared. */
const MAX_BATCHES = 1000;
/** Only the first running tasks of a batch are compared. */
const MAX_RUNNING = 100;

/** Called for each batch that changed. */
export interface StoreListener {
  changed(batch: string, isNew: boolean): void;
  gone(batch: string): void;
}

/** Finds changes to batches, whichever process made them, while there are listeners. */
export class StoreWatch {
  private readonly listeners = new Set<StoreListener>();
  private users = 0;
  private version: number | undefined;
  /** A fingerprint of each batch. */
  private states: ReadonlyMap<string, string> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> | undefined;

  constructor(private readonly store: Store) {}

  /** Calls the listener for each change while the watch runs and, when it restarts, for changes since it stopped. */
  listen(listener: StoreListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Polls the store until the returned function is called. */
  start(): () => void {
    if (this.users++ === 0) {
      this.look();
      this.timer = setInterval(() => this.look(), POLL_MS).unref();
    }
    let isOn = true;
    return () => {
      if (isOn && --this.users === 0) clearInterval(this.timer);
      isOn = false;
    };
  }

  /** Settles after the first poll: from then on, changes are found. */
  async ready(): Promise<void> {
    await this.looking;
  }

  /** One poll at a time. */
  private look(): void {
    this.looking ??= this.lookNow().finally(() => {
      this.looking = undefined;
    });
  }

  private async lookNow(): Promise<void> {
    let batches: BatchRecord[];
    const now = new Map<string, string>();
    try {
      const version = await this.store.version();
      if (version === this.version) return;
      batches = await this.store.batchPage(undefined, MAX_BATCHES);
      for (const batch of batches) now.set(batch.name, stateOf(batch) + (await this.pausesOf(batch)));
      // The next user polls again.
      if (this.users === 0) return;
      // Only now: if a read fails, the next poll must not skip this version.
      this.version = version;
    } catch {
      // Whatever uses a broken store reports it.
      return;
    }
    const before = this.states;
    this.states = now;
    if (before === undefined) return;
    for (const [name, state] of now)
      if (before.get(name) !== state)
        for (const listener of this.listeners) listener.changed(name, !before.has(name));
    if (batches.length === MAX_BATCHES) return;
    for (const name of before.keys())
      if (!now.has(name)) for (const listener of this.listeners) listener.gone(name);
  }

  /** Tasks in a retry pause count as running. */
  private async pausesOf({ name, counts, holder }: BatchRecord): Promise<string> {
    if (holder === undefined || counts.running === 0) return '';
    const running = await this.store.tasks(name, { status: ['running'], limit: MAX_RUNNING });
    return JSON.stringify(
      running.flatMap(({ seq, pause }) => (pause === undefined ? [] : [seq, pause.until])),
    );
  }
}

function stateOf({ number, counts, startedAt, endedAt, holder }: BatchRecord): string {
  return JSON.stringify([number, counts, startedAt, endedAt, holder?.pid, holder?.host]);
}
