import type { PlanDraft } from '../core/plan.ts';
import type { Scheduler } from '../core/scheduler.ts';

/** The share of a search that runs at once, so that the first starts are planned too: up to about 5 ms. */
const FIRST_SHARE = 0.1;
/** The share of each further slice: up to about 2 ms. */
const SLICE_SHARE = 0.04;
/** Nothing is planned that could gain less than this; a search takes about half of it. */
const MIN_GAIN_MS = 100;
/** The shortest pause between two searches, and the pause after a full one: planning takes at most a few percent. */
const MIN_PAUSE_MS = 50;
/** A draft takes about a twentieth of this for each execution. */
const PAUSE_PER_EXECUTION_MS = 0.2;
const FULL_PAUSE_MS = 1500;

/**
 * Plans the starts of an engine. The first part of a search runs before the turn that starts the first executions, the
 * rest in slices between turns of the event loop. Its results enter the scheduler like any other event.
 */
export class BackgroundPlanner {
  private draft: PlanDraft | undefined;
  private notBefore = 0;

  constructor(
    private readonly scheduler: Scheduler,
    /** Called when an improved plan was adopted between two turns. */
    private readonly adopted: () => void,
  ) {}

  /** Call this before a turn. Returns at once unless something has changed since the last search. */
  consider(now: number): void {
    if (now < this.notBefore || !this.scheduler.wantsPlan || this.isSearching) return;
    this.notBefore = now + MIN_PAUSE_MS;
    const draft = this.scheduler.draftPlan(now, MIN_GAIN_MS);
    if (draft === undefined) return;
    const { search, executions } = draft;
    this.notBefore = now + Math.max(MIN_PAUSE_MS, PAUSE_PER_EXECUTION_MS * executions.length);
    if (search.maxGainMs < MIN_GAIN_MS) return;
    search.step(Math.ceil(FIRST_SHARE * search.maxEvaluations));
    this.scheduler.adoptPlan(draft);
    this.notBefore = now + FULL_PAUSE_MS;
    if (search.isDone) return;
    // An outdated search has a slice under way, which continues with this one.
    if (this.draft === undefined) setImmediate(this.slice).unref();
    this.draft = draft;
  }

  /** Whether a search is under way for what the scheduler has to do now. */
  private get isSearching(): boolean {
    return this.draft !== undefined && this.scheduler.isCurrentDraft(this.draft);
  }

  private readonly slice = (): void => {
    const { draft } = this;
    if (draft === undefined || !this.isSearching) {
      this.draft = undefined;
      return;
    }
    const { search } = draft;
    if (!search.step(Math.ceil(SLICE_SHARE * search.maxEvaluations))) {
      setImmediate(this.slice).unref();
      return;
    }
    this.draft = undefined;
    if (this.scheduler.adoptPlan(draft)) this.adopted();
  };
}
