import type { Feature, Review, Subtask } from '../files/feature.ts';
import type { RunTerms } from './run-request.ts';

/** What became of work that was handed over for review. */
export type ReviewDecision =
  | { readonly kind: 'approved' }
  | { readonly kind: 'rejected'; readonly why: string }
  /** Someone released, blocked or completed the subtask instead. */
  | { readonly kind: 'withdrawn' }
  /** The run ends, and the work still waits. */
  | { readonly kind: 'open' };

interface ReviewQueueOptions {
  /** The feature as Volley wrote it, so that an agent that edits files decides nothing. */
  read(): Promise<Feature>;
  /** Writes that the work of a subtask waits. */
  request(seq: string, work: Review): Promise<void>;
  readonly terms: Pick<RunTerms, 'maxConcurrent' | 'maxUnreviewed'>;
  /** Changes how many attempts may run at once, including those that wait for review. */
  limit(max: number): void;
  /** Starts no more attempts. */
  stop(): Promise<void>;
  isStopping(): Promise<boolean>;
  /** Merges approved work of an earlier run. */
  land(subtask: Subtask): Promise<void>;
}

interface WaitingWork {
  readonly commit: string;
  decide(decision: ReviewDecision): void;
}

/** Decisions are made in other processes, which write them to the task files. */
const TICK_MS = 500;
/** A run in which only reviews are open ends after this number of ticks. Anything that can start does so sooner. */
const QUIET_TICKS = 3;

/**
 * The verified work of a run that waits for review. A waiting attempt keeps its task of the batch, so that dependents
 * wait, but another agent may start in its place, up to the limit of unreviewed work. If nothing else is left to do, the
 * run ends and the work goes on waiting.
 */
export class ReviewQueue {
  private readonly waiting = new Map<string, WaitingWork>();
  /** The subtasks that this run handed over. Their own attempts merge them. */
  private readonly own = new Set<string>();
  private readonly retrying = new Set<string>();
  private running = 0;
  private quietTicks = 0;
  private timer: NodeJS.Timeout | undefined;
  private ticking: Promise<void> = Promise.resolve();
  private isClosed = false;

  constructor(
    private readonly options: ReviewQueueOptions,
    /** How many subtasks wait for review since earlier runs. */
    private others: number,
  ) {
    this.next();
  }

  /** How many attempts may run at once, including those that wait for review. */
  get maxAttempts(): number {
    const { maxConcurrent, maxUnreviewed } = this.options.terms;
    return Math.max(1, Math.min(maxConcurrent + this.waiting.size, maxUnreviewed - this.others));
  }

  /** Whether no agent may start before something is reviewed. */
  get isFull(): boolean {
    return this.running >= this.options.terms.maxUnreviewed - this.others;
  }

  isWaiting(seq: string): boolean {
    return this.waiting.has(seq);
  }

  /** Counts an attempt while it runs. */
  async during<T>(seq: string, attempt: () => Promise<T>, mayRetry: (error: unknown) => boolean): Promise<T> {
    this.running++;
    this.retrying.delete(seq);
    this.quietTicks = 0;
    try {
      return await attempt();
    } catch (error) {
      if (mayRetry(error)) this.retrying.add(seq);
      throw error;
    } finally {
      this.running--;
      this.quietTicks = 0;
    }
  }

  /** Hands work over, and waits for the decision. */
  async request(seq: string, work: Review, signal: AbortSignal): Promise<ReviewDecision> {
    this.own.add(seq);
    await this.options.request(seq, work);
    return new Promise((resolve) => {
      const decide = (decision: ReviewDecision) => {
        signal.removeEventListener('abort', leave);
        if (this.waiting.delete(seq)) this.options.limit(this.maxAttempts);
        this.quietTicks = 0;
        resolve(decision);
      };
      const leave = () => decide({ kind: 'open' });
      signal.addEventListener('abort', leave);
      this.waiting.set(seq, { commit: work.commit, decide });
      this.options.limit(this.maxAttempts);
      this.quietTicks = 0;
      if (signal.aborted) leave();
    });
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.timer);
    await this.ticking;
  }

  private next(): void {
    this.timer = setTimeout(() => {
      this.ticking = this.tick()
        // The files may be locked; the next tick tries again.
        .catch(() => undefined)
        .then(() => {
          if (!this.isClosed) this.next();
        });
    }, TICK_MS);
  }

  private async tick(): Promise<void> {
    const feature = await this.options.read();
    this.decideAll(feature);
    const { others } = this;
    const foreign = feature.subtasks.filter(({ seq, review }) => review !== undefined && !this.own.has(seq));
    this.others = foreign.length;
    if (this.others !== others) this.options.limit(this.maxAttempts);
    for (const subtask of foreign)
      if (subtask.review?.approvedAt !== undefined) await this.options.land(subtask);
    if (await this.isQuiet()) this.quietTicks++;
    if (this.quietTicks < QUIET_TICKS) return;
    await this.options.stop();
    for (const { decide } of [...this.waiting.values()]) decide({ kind: 'open' });
  }

  private decideAll({ subtasks }: Feature): void {
    for (const { seq, review, rejection } of subtasks) {
      const work = this.waiting.get(seq);
      if (work === undefined) continue;
      if (review?.commit === work.commit) {
        if (review.approvedAt !== undefined) work.decide({ kind: 'approved' });
      } else if (review === undefined && rejection?.commit === work.commit)
        work.decide({ kind: 'rejected', why: rejection.why });
      else work.decide({ kind: 'withdrawn' });
    }
  }

  /** Whether only reviews are open. */
  private async isQuiet(): Promise<boolean> {
    if (this.waiting.size === 0 || this.running > this.waiting.size) return false;
    return this.retrying.size === 0 || (await this.options.isStopping());
  }
}
