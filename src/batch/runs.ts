import type { ParallelToolCoordinator } from '../coordinator/coordinator.ts';
import { VolleyError } from '../core/errors.ts';
import type { BatchRecord, LeaseHolder } from '../store/records.ts';
import type { Lease, Recovery, Store } from '../store/store.ts';
import { BatchEvents } from './events.ts';
import type { BatchRun } from './run/batch-run.ts';
import type { BatchListener } from './run/monitor.ts';
import type { RunOptions } from './run/run-setup.ts';
import { tellRecovered } from './tell-changes.ts';

/** How long servers that bring tools may take to tell of them, before their tasks count as not idempotent. */
const LONGEST_DISCOVERY_MS = 10_000;
/** So many tasks that a dead process has left are looked at for the servers that they need. */
const MAX_LOOKED_AT = 1000;

/** The batches that this process runs. */
export class BatchRuns {
  readonly listeners = new Set<BatchListener>();
  readonly events = new BatchEvents();
  /** The last run of each batch, until everything of it is written. */
  private readonly runs = new Map<string, BatchRun>();
  /** Batches that are about to run, or are being changed: each settles when it runs, or that has come to nothing. */
  private readonly starting = new Map<string, Promise<void>>();
  /** Leases that could not be given back, because the store was out of order: it is tried again before the next start. */
  private readonly unreleased = new Map<string, Lease>();
  /** Why the last run of a batch ended before its time. */
  private readonly problems = new Map<string, unknown>();
  private isClosed = false;

  constructor(
    private readonly coordinator: () => Promise<ParallelToolCoordinator>,
    private readonly store: Store,
  ) {}

  /** The run of a batch until all of it is written. */
  current(batch: string): BatchRun | undefined {
    return this.runs.get(batch);
  }

  /** The same, and of a batch that is just being started its run as soon as there is one. */
  async currentOrNext(batch: string): Promise<BatchRun | undefined> {
    await this.starting.get(batch);
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
    return this.alone(batch, (settle) => this.startNow(batch, options, settle));
  }

  /** Changes a batch that this executor does not run. What a dead process has left of it is seen to before. */
  async whileIdle<T>(batch: string, work: () => Promise<T>): Promise<T> {
    return this.alone(batch, async () => {
      if ((await this.store.batch(batch))!.counts.running > 0) await this.recover(batch);
      return work();
    });
  }

  /** Settles tasks of processes that died, of all batches that nobody runs or of one that this store has leased. */
  async recover(batch?: string): Promise<Recovery> {
    const recovery = await this.store.recover(await this.isIdempotent(batch), batch);
    tellRecovered(this.events, recovery);
    return recovery;
  }

  /** Stops everything, lets what runs finish for so long, and waits until all is written and every lease is given back. */
  async close(graceMs?: number): Promise<void> {
    this.isClosed = true;
    const runs = [...this.runs.values()];
    for (const run of runs) run.stop({ now: false });
    const endNow = () => {
      for (const run of runs) run.stop({ now: true });
    };
    const timer = graceMs === undefined ? undefined : setTimeout(endNow, graceMs);
    await Promise.all(runs.map(({ done }) => done));
    clearTimeout(timer);
  }

  /** Who is idempotent of those that a dead process may have left, by the tools that there are; what is unknown is not. */
  private async isIdempotent(batch?: string): Promise<(functionName: string) => boolean> {
    const coordinator = await this.coordinator();
    await coordinator.desk.discover(await this.runningFunctions(batch), LONGEST_DISCOVERY_MS);
    const tools = coordinator.tools();
    const idempotent = new Set(tools.flatMap(({ name, idempotent }) => (idempotent ? [name] : [])));
    return (name) => idempotent.has(name);
  }

  /** The functions of tasks that are, or were, in the midst of it. */
  private async runningFunctions(only: string | undefined): Promise<Set<string>> {
    const functions = new Set<string>();
    for (const { name, counts } of await this.store.batches()) {
      if (counts.running === 0 || (only !== undefined && name !== only)) continue;
      const running = await this.store.tasks(name, { status: ['running'], limit: MAX_LOOKED_AT });
      for (const task of running) functions.add(task.function);
    }
    return functions;
  }

  private async alone<T>(batch: string, work: (settle: () => void) => Promise<T>): Promise<T> {
    if (this.starting.has(batch) || this.joinable(batch) !== undefined) throw runningError(batch);
    let settle = () => {};
    const settled = new Promise<void>((resolve) => {
      settle = resolve;
    });
    this.starting.set(batch, settled);
    try {
      await this.waitForOld(batch);
      return await work(settle);
    } finally {
      this.starting.delete(batch);
      settle();
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

  private async end(lease: Lease, leavesOpen: boolean): Promise<boolean> {
    this.unreleased.set(lease.batch, lease);
    const isOver = await lease.end(Date.now(), leavesOpen);
    this.unreleased.delete(lease.batch);
    return isOver;
  }

  private async startNow(
    batch: string,
    options: RunOptions,
    settle: () => void,
  ): Promise<{ run: BatchRun; recovery: Recovery }> {
    const { store, listeners, events } = this;
    // All that is needed to run something; whoever only looks at batches does without.
    const [coordinator, { BatchRun }, { serveRequests }] = await Promise.all([
      this.coordinator(),
      import('./run/batch-run.ts'),
      import('./run/serve-requests.ts'),
    ]);
    const lease = await store.lease(batch);
    let recovery: Recovery;
    try {
      recovery = await store.recover(await this.isIdempotent(batch), batch);
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
      end: (leavesOpen) => this.end(lease, leavesOpen),
      options,
      listeners,
      events,
    });
    this.runs.set(batch, run);
    settle();
    tellRecovered(events, recovery);
    if (events.isHeard) events.tell({ type: 'batch-started', batch, at: Date.now() });
    serveRequests(run, store);
    void run.done.then(() => this.ended(run));
    await run.pull('all');
    return { run, recovery };
  }

  private ended(run: BatchRun): void {
    if (run.problem !== undefined) this.problems.set(run.batch, run.problem);
    if (this.runs.get(run.batch) === run) this.runs.delete(run.batch);
    if (this.events.isHeard) this.events.tell({ type: 'batch-ended', batch: run.batch, at: Date.now() });
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
