import type { TaskEvent } from '../../batch/events.ts';

type Progress = Extract<TaskEvent, { type: 'progress' }>;

/** Lets each execution tell of its progress at most once in a span; in between only the newest is kept. */
export class ProgressRate {
  private readonly waiting = new Map<string, Progress>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly spanMs: number,
    private readonly pass: (event: Progress) => void,
  ) {}

  add(event: Progress): void {
    this.waiting.set(keyOf(event), event);
    this.timer ??= setTimeout(() => this.passAll(), this.spanMs).unref();
  }

  /** Something else happened to the execution: how far it was is of no interest any more. */
  forget(event: TaskEvent): void {
    if (this.waiting.size > 0) this.waiting.delete(keyOf(event));
  }

  close(): void {
    clearTimeout(this.timer);
    this.waiting.clear();
  }

  private passAll(): void {
    this.timer = undefined;
    const events = [...this.waiting.values()];
    this.waiting.clear();
    for (const event of events) this.pass(event);
  }
}

function keyOf({ batch, seq }: TaskEvent): string {
  return `${seq} ${batch}`;
}
