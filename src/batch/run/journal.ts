import type { TaskEnd } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';

/**
 * What one run writes of its tasks. The first write that fails ends the run: what cannot be written down must not be
 * done, and everything that was written stays true.
 */
export class RunJournal {
  private failure: unknown;
  private hasFailed = false;

  constructor(
    private readonly store: Store,
    readonly batch: string,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /** Whether nothing can be written any more. */
  get isClosed(): boolean {
    return this.hasFailed;
  }

  started(seq: number): Promise<void> {
    return this.write(() => this.store.started(this.batch, seq, Date.now()));
  }

  ended(seq: number, end: TaskEnd): Promise<void> {
    return this.write(() => this.store.ended(this.batch, seq, end, Date.now()));
  }

  /** Opens a task again that was begun and shall be begun anew by a later run. */
  async putBack(seq: number, id: string): Promise<void> {
    const written = this.ended(seq, { status: 'cancelled', message: 'The batch was stopped.' });
    const opened = this.write(async () => {
      await this.store.reopen(this.batch, [id]);
    });
    await Promise.all([written, opened]);
  }

  /** Writes nothing more. */
  close(error: unknown): void {
    if (this.hasFailed) return;
    this.hasFailed = true;
    this.failure = error;
  }

  private async write(work: () => Promise<void>): Promise<void> {
    if (this.hasFailed) throw this.failure;
    try {
      await work();
    } catch (error) {
      if (!this.hasFailed) {
        this.close(error);
        this.onFailure(error);
      }
      throw error;
    }
  }
}
