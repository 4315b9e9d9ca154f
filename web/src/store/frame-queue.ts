/** How long messages wait where no frames are drawn, as in a hidden tab. */
const HIDDEN_MS = 500;

/** Collects messages and hands them on once in a frame, however many there are. */
export class FrameQueue<T> {
  private waiting: T[] = [];
  private frame = 0;
  private timer = 0;

  constructor(private readonly deliver: (messages: readonly T[]) => void) {}

  push(...messages: readonly T[]): void {
    for (const message of messages) this.waiting.push(message);
    if (this.timer !== 0 || this.waiting.length === 0) return;
    this.frame = requestAnimationFrame(this.flush);
    this.timer = window.setTimeout(this.flush, HIDDEN_MS);
  }

  private readonly flush = (): void => {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    this.timer = 0;
    const messages = this.waiting;
    this.waiting = [];
    this.deliver(messages);
  };
}
