import type { ParallelToolCoordinator } from '../coordinator/coordinator.ts';
import { VolleyError } from '../core/errors.ts';
import type { BatchRecord, LeaseHolder } from '../store/records.ts';
import type { Lease, Recovery, Store } from '../store/store.ts';
import { BatchRun, type RunOptions } from './run/batch-run.ts';
import type { BatchListener } from './run/monitor.ts';

/** The batches that this process runs. */
export class BatchRuns {
  readonly listeners = new Set<BatchListener>();
  /** The last run of each batch, until everything of it is written. */
  private readonly runs = new Map<string, BatchRun>();
  /** Names of batches that are about to run, or are being changed. */
  private readonly starting = new Set<string>();
  /** Leases that could not be given back, because the store was out of order: it is tried again before the next start. */
  private readonly unreleased = new Map<string, Lease>();
  /** Why the last run of a batch ended before its time. */
  private readonly problems = new Map<string, unknown>();
  private isClosed = false;

  constructor(
    private readonly coordinator: ParallelToolCoordinator,
    private readonly store: Store,
  ) {}

  /** The run of a batch until all of it is written. */
  current(batch: string): BatchRun | undefined {
    return this.runs.get(batch);
  }

  /** The run of a batch to which tasks can still be added. */
  joinable(batch: string): BatchRun | undefined {
    const run = this.runs.get(batch);
    return run?.hasEnded === false ? run : undefined;
  }

  /** Who runs a batch, where that is not this executor. */
  otherHolder({ name, holder }: BatchRecord): LeaseHolder | undefined {
    const isOwn = this.runs.has(name) || this.starting.has(name) || this.unreleased.has(name);
    return isOwn ? undefined : holder;
  }

  problemOf(batch: string): unknown {
    return this.problems.get(batch);
  }

  /** Takes the lease, sees to what a dead process has left, and submits all open tasks. */
  async start(batch: string, options: RunOptions): Promise<{ run: BatchRun; recovery: Recovery }> {
    if (this.isClosed) throw closedError();
    return this.alone(batch, () => this.startNow(batch, options));
  }

  /** Changes a batch that nobody runs, and keeps others from running it meanwhile. */
  async exclusively<T>(batch: string, work: () => Promise<T>): Promise<T> {
    return this.alone(batch, async () => {
      const lease = await this.store.lease(batch);
      try {
        return await work();
      } finally {
        await this.release(lease);
      }
    });
  }

  /** Stops everything, lets what runs finish, and waits until all is written and every lease is given back. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const run of this.runs.values()) run.stop({ now: false });
    await Promise.all([...this.runs.values()].map(({ done }) => done));
  }

  /** Who is idempotent, by the tools that there are; what is unknown is not. */
  isIdempotent(): (functionName: string) => boolean {
    const idempotent = new Set(
      this.coordinator.tools().flatMap(({ name, idempotent }) => (idempotent ? [name] : [])),
    );
    return (name) => idempotent.has(name);
  }

  private async alone<T>(batch: string, work: () => Promise<T>): Promise<T> {
    if (this.starting.has(batch) || this.joinable(batch) !== undefined) throw runningError(batch);
    this.starting.add(batch);
    try {
      await this.waitForOld(batch);
      return await work();
    } finally {
      this.starting.delete(batch);
    }
  }

  private async waitForOld(batch: string): Promise<void> {
    await this.runs.get(batch)?.done;
    const lease = this.unreleased.get(batch);
    if (lease !== undefined) await this.release(lease);
  }

  private async release(lease: Lease): Promise<void> {
    this.unreleased.set(lease.batch, lease);
    await lease.release();
    this.unreleased.delete(lease.batch);
  }

  private async startNow(batch: string, options: RunOptions): Promise<{ run: BatchRun; recovery: Recovery }> {
    const { coordinator, store, listeners } = this;
    const lease = await store.lease(batch);
    let recovery: Recovery;
    try {
      recovery = await store.recover(this.isIdempotent(), batch);
      await store.batchStarted(batch, JSON.stringify(options), Date.now());
      if (this.isClosed) throw closedError();
    } catch (error) {
      await this.release(lease).catch(() => {});
      throw error;
    }
    this.problems.delete(batch);
    const run = new BatchRun({
      coordinator,
      store,
      lease,
      release: () => this.release(lease),
      options,
      listeners,
    });
    this.runs.set(batch, run);
    void run.done.then(() => this.ended(run));
    await run.pull('all');
    return { run, recovery };
  }

  private ended(run: BatchRun): void {
    if (run.problem !== undefined) this.problems.set(run.batch, run.problem);
    if (this.runs.get(run.batch) === run) this.runs.delete(run.batch);
  }
}

function runningError(batch: string): VolleyError {
  return new VolleyError(
    'BATCH_RUNNING',
    `The batch ${JSON.stringify(batch)} is running already: ask for its status, wait for its end, or stop it.`,
    { batch },
  );
}

function closedError(): VolleyError {
  return new VolleyError(
    'RUNNER_CLOSED',
    'The batch executor was closed and starts nothing more: create a new one.',
  );
}
