import type { ParallelToolCoordinator } from '../../coordinator/coordinator.ts';
import { VolleyError } from '../../core/errors.ts';
import { shellQuote } from '../../core/shell-quote.ts';
import type { BatchRecord, LeaseHolder, StoredSpending } from '../../store/records.ts';
import type { Lease, Recovery, Store } from '../../store/store.ts';
import type { BatchRun, RunOptions, RunSizes } from './batch-run.ts';
import { BatchEvents, publishRecovery } from './events.ts';

/** How long to wait for tool servers to list their tools. After that their tasks count as not idempotent. */
const MAX_DISCOVERY_MS = 10_000;
/** How many tasks of a dead process are searched for tool servers. */
const MAX_INSPECTED = 1000;

/** The batches that this process runs. */
export class BatchRuns {
  readonly events = new BatchEvents();
  /** The last run of each batch, until all its results are stored. */
  private readonly runs = new Map<string, BatchRun>();
  /** Batches that are being started or changed. Each promise resolves when that has succeeded or failed. */
  private readonly starting = new Map<string, Promise<void>>();
  /** Leases that could not be released because the store failed. The next start retries. */
  private readonly unreleased = new Map<string, Lease>();
  /** Why the last run of a batch ended early. */
  private readonly problems = new Map<string, unknown>();
  private isClosed = false;
  /** Whether other servers continue what this one does not finish. */
  private handsOver = false;

  constructor(
    private readonly coordinator: () => Promise<ParallelToolCoordinator>,
    private readonly store: Store,
    private readonly sizes?: RunSizes,
  ) {}

  /** Returns the run of a batch until all its results are stored. */
  current(batch: string): BatchRun | undefined {
    return this.runs.get(batch);
  }

  /** Like {@link current}, but waits for a batch that is being started. */
  async currentOrNext(batch: string): Promise<BatchRun | undefined> {
    await this.starting.get(batch);
    return this.runs.get(batch);
  }

  /** Returns the run of a batch if tasks can still be added to it. */
  joinable(batch: string): BatchRun | undefined {
    const run = this.runs.get(batch);
    return run?.hasEnded === false ? run : undefined;
  }

  /** Returns the process that runs a batch, unless this executor does. */
  otherHolder({ name, holder }: BatchRecord): LeaseHolder | undefined {
    const isOwn = this.runs.has(name) || this.starting.has(name) || this.unreleased.has(name);
    return isOwn ? undefined : holder;
  }

  problemOf(batch: string): unknown {
    return this.problems.get(batch);
  }

  /**
   * Acquires the lease, recovers the tasks of a dead process, and submits all open tasks. A run that `staysHere` is not
   * abandoned to other servers.
   */
  async start(
    batch: string,
    options: RunOptions,
    staysHere = true,
  ): Promise<{ run: BatchRun; recovery: Recovery }> {
    if (this.isClosed) throw closedError();
    return this.alone(batch, (settle) => this.startNow(batch, options, settle, staysHere));
  }

  /** Goes on with a batch whose process has died, with the options of its start. */
  async takeOver(batch: string): Promise<{ run: BatchRun; recovery: Recovery }> {
    if (this.isClosed) throw closedError();
    return this.alone(batch, (settle) => this.startNow(batch, undefined, settle, false));
  }

  /** Other servers continue what this one does not finish from now on. */
  handOver(): void {
    this.handsOver = true;
  }

  /**
   * Ends runs at once that other servers can go on with, and releases their batches. Nothing that they do counts any more.
   */
  async abandonAll(reason: VolleyError): Promise<void> {
    const runs = [...this.runs.values()].filter(({ staysHere, isAbandoned }) => !staysHere && !isAbandoned);
    for (const run of runs) run.abandon(reason);
    await Promise.all(runs.map((run) => run.release().catch(() => {})));
  }

  /** Changes a batch that this executor does not run, after recovering the tasks of a dead process. */
  async whileIdle<T>(batch: string, work: () => Promise<T>): Promise<T> {
    return this.alone(batch, async () => {
      if ((await this.store.batch(batch))!.counts.running > 0) await this.recover(batch);
      return work();
    });
  }

  /** Recovers the tasks of dead processes, in all batches that are not running or in one that this store has leased. */
  async recover(batch?: string): Promise<Recovery> {
    const recovery = await this.store.recover(await this.isIdempotent(batch), batch);
    publishRecovery(this.events, recovery);
    return recovery;
  }

  /** Stops all runs, cancels running tasks after `graceMs`, and waits until all is stored and every lease is released. */
  async close(graceMs?: number): Promise<void> {
    this.isClosed = true;
    const runs = [...this.runs.values()];
    for (const run of runs) run.stop({ now: false, closes: true });
    const endNow = () => {
      for (const run of runs) run.stop({ now: true, closes: true });
    };
    const timer = graceMs === undefined ? undefined : setTimeout(endNow, graceMs);
    await Promise.all(runs.map(({ done }) => done));
    clearTimeout(timer);
  }

  /** Returns a test for idempotent functions, for the tasks of a dead process. Unknown functions are not idempotent. */
  private async isIdempotent(batch?: string): Promise<(functionName: string) => boolean> {
    const coordinator = await this.coordinator();
    await coordinator.planner.discover(await this.runningFunctions(batch), MAX_DISCOVERY_MS);
    const tools = coordinator.tools();
    const idempotent = new Set(tools.flatMap(({ name, idempotent }) => (idempotent ? [name] : [])));
    return (name) => idempotent.has(name);
  }

  /** The functions of tasks with the status running. */
  private async runningFunctions(only: string | undefined): Promise<Set<string>> {
    const functions = new Set<string>();
    for (const { name, counts } of await this.store.batches()) {
      if (counts.running === 0 || (only !== undefined && name !== only)) continue;
      const running = await this.store.tasks(name, { status: ['running'], limit: MAX_INSPECTED });
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

  private async end(run: BatchRun, lease: Lease, leavesOpen: boolean): Promise<boolean> {
    this.unreleased.set(lease.batch, lease);
    let isOver = true;
    if (leavesOpen && this.isContinued(run)) await lease.release();
    else isOver = await lease.end(Date.now(), leavesOpen);
    this.unreleased.delete(lease.batch);
    return isOver;
  }

  /** Whether another server is to go on with what a run leaves open, because nobody has stopped it. */
  private isContinued({ isAbandoned, wasStopped }: BatchRun): boolean {
    return this.store.servers !== undefined && (isAbandoned || (this.handsOver && !wasStopped));
  }

  /** Without options it continues the run of a process that died. */
  private async startNow(
    batch: string,
    given: RunOptions | undefined,
    settle: () => void,
    staysHere: boolean,
  ): Promise<{ run: BatchRun; recovery: Recovery }> {
    const { store, events } = this;
    // Loaded only here: programs that only read batches do not need it.
    const [coordinator, { BatchRun }, { serveRequests }] = await Promise.all([
      this.coordinator(),
      import('./batch-run.ts'),
      import('./holder-requests.ts'),
    ]);
    const lease = await store.lease(batch, { continues: given === undefined });
    let recovery: Recovery;
    let spent: StoredSpending | undefined;
    let options: RunOptions;
    try {
      recovery = await store.recover(await this.isIdempotent(batch), batch);
      const record = await store.batch(batch);
      spent = record?.spending;
      options = given ?? optionsOf(record, Date.now());
      if (given !== undefined) await store.batchStarted(batch, JSON.stringify(options), Date.now());
      if (this.isClosed) throw closedError();
    } catch (error) {
      await this.release(lease).catch(() => {});
      throw error;
    }
    this.problems.delete(batch);
    const run: BatchRun = new BatchRun({
      coordinator,
      store,
      lease,
      end: (leavesOpen) => this.end(run, lease, leavesOpen),
      options,
      staysHere,
      spent,
      events,
      sizes: this.sizes,
    });
    this.runs.set(batch, run);
    settle();
    publishRecovery(events, recovery);
    if (events.hasListeners) events.publish({ type: 'batch-started', batch, at: Date.now() });
    serveRequests(run, store);
    void run.done.then(() => this.ended(run));
    await run.pull('all');
    return { run, recovery };
  }

  private ended(run: BatchRun): void {
    if (run.problem !== undefined) this.problems.set(run.batch, run.problem);
    if (this.runs.get(run.batch) === run) this.runs.delete(run.batch);
    if (this.events.hasListeners)
      this.events.publish({ type: 'batch-ended', batch: run.batch, at: Date.now() });
  }
}

/** The options of the last start. A time limit of the batch counts from there. */
function optionsOf(record: BatchRecord | undefined, now: number): RunOptions {
  const { startedAt = now, options } = record ?? {};
  const stored = JSON.parse(options ?? '{}') as Partial<RunOptions>;
  const { timeoutMs } = stored;
  return {
    maxConcurrency: 'auto',
    failFast: false,
    cache: true,
    force: false,
    ...stored,
    timeoutMs: timeoutMs === undefined ? undefined : Math.max(1, timeoutMs - Math.max(0, now - startedAt)),
  };
}

function runningError(batch: string): VolleyError {
  return new VolleyError(
    'BATCH_RUNNING',
    `The batch ${JSON.stringify(batch)} is already running. Follow it with volley watch --batch ${shellQuote(batch)}, wait for it to end, or stop it.`,
    { batch },
  );
}

function closedError(): VolleyError {
  return new VolleyError('RUNNER_CLOSED', 'The batch executor is closed. Create a new one.');
}
