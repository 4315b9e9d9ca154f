import { ENDED } from '../../batch/counts.ts';
import type { BatchExecutor } from '../../batch/executor/batch-executor.ts';
import type { Store } from '../../store/store.ts';
import { batchBody } from '../wire/batch.ts';
import type { EventBody } from '../wire/event.ts';
import { executionBody } from '../wire/execution.ts';
import { type FrameLog, frameOf } from './frame-log.ts';
import type { RemoteSpeeds } from './remote-speeds.ts';

const MAX_BATCHES = 200;
const MAX_RUNNING = 100;
const MAX_ENDED = 100;
/** Larger than the number of every task. */
const AFTER_LAST = 2 ** 30;

/** The current state of everything, or of one batch. */
export type ReadSnapshot = (batch: string | undefined) => Promise<EventBody<'snapshot'>>;

/** The newest batches; or one batch, with its running tasks and the newest of its ended ones. */
export async function takeSnapshot(
  executor: BatchExecutor,
  store: Store,
  speeds: RemoteSpeeds,
  batch: string | undefined,
): Promise<EventBody<'snapshot'>> {
  if (batch === undefined) return { batches: await readViews(executor, speeds, undefined) };
  const view = await executor.view(batch);
  if (view === undefined) return { batches: [], executions: [] };
  const running = await store.tasks(batch, { status: ['running'], limit: MAX_RUNNING });
  const ended = await store.tasks(batch, { status: ENDED, beforeSeq: AFTER_LAST, limit: MAX_ENDED });
  return {
    batches: [batchBody(await speeds.addNow(view))],
    executions: [...running, ...ended].map((record) => ({
      ...executionBody(record, executor),
      // Clients that may read error messages ask for them.
      message: null,
    })),
  };
}

/** How the newest batches stand, or one batch. */
export async function readViews(
  executor: BatchExecutor,
  speeds: RemoteSpeeds,
  batch: string | undefined,
): Promise<EventBody<'batch'>[]> {
  if (batch === undefined)
    return (await executor.views(undefined, MAX_BATCHES)).map((view) => batchBody(speeds.add(view)));
  const view = await executor.view(batch);
  return view === undefined ? [] : [batchBody(await speeds.addNow(view))];
}

export interface SnapshotFrame {
  /** Later events may not be in it. */
  readonly number: number;
  /** Shared by all streams that get it. */
  readonly bytes: Promise<Buffer>;
}

/** How long a snapshot is given to others. */
const FRESH_MS = 1000;
const MAX_KEPT = 64;

/** Snapshots for many clients that come at once. A slightly old one and the events since then say the same. */
export class SnapshotCache {
  private readonly kept = new Map<string | undefined, SnapshotFrame & { readonly takenAt: number }>();

  constructor(
    private readonly log: FrameLog,
    private readonly take: ReadSnapshot,
  ) {}

  get(batch: string | undefined): SnapshotFrame {
    const now = performance.now();
    const known = this.kept.get(batch);
    if (known !== undefined && now - known.takenAt < FRESH_MS && this.log.reachesBackTo(known.number))
      return known;
    const number = this.log.last;
    const id = this.log.idOf(number);
    const bytes = this.take(batch).then((body) => Buffer.from(frameOf('snapshot', body, id)));
    const snapshot = { number, bytes, takenAt: now };
    if (known === undefined && this.kept.size >= MAX_KEPT) this.kept.clear();
    this.kept.set(batch, snapshot);
    // One that failed is for those who wait for it.
    bytes.catch(() => this.kept.get(batch) === snapshot && this.kept.delete(batch));
    return snapshot;
  }

  clear(): void {
    this.kept.clear();
  }
}
