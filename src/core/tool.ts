import { ClassQueue, type DemandClass } from './demand-class.ts';
import { DurationModel, type UnknownDuration } from './durations.ts';
import type { RateLimit } from './rate.ts';
import { DEFAULT_TERMS, type Terms } from './terms.ts';
import type { UsageModel } from './usage.ts';

/** The scheduler's state of one tool. */
export class ToolState {
  readonly kind = 'tool';
  maxConcurrency = Number.POSITIVE_INFINITY;
  rate: RateLimit | undefined;
  running = 0;
  /** How many running executions declared a conflict with this tool. */
  conflictedBy = 0;
  unsettled = 0;
  /** Whether it must be kept because limits were set for it. */
  isPinned = false;
  /** How many classes declared a conflict with it; it is kept as long as they are. */
  namedBy = 0;
  /** The terms of the last submitted execution; the next ones usually have the same. */
  terms: Terms = DEFAULT_TERMS;
  readonly durations: DurationModel;
  /** What its attempts really used, if that was measured. */
  usage: UsageModel | undefined;
  readonly classes: DemandClass[] = [];
  readonly waiters = new ClassQueue(false);

  constructor(
    readonly name: string,
    unknown?: UnknownDuration,
  ) {
    this.durations = new DurationModel(unknown);
  }
}
