/** Counts calls in progress, so that nothing is closed under them. */
export class CallCount {
  private count = 0;
  private readonly waiting = new Set<() => void>();

  get isIdle(): boolean {
    return this.count === 0;
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    this.count++;
    try {
      return await work();
    } finally {
      this.count--;
      if (this.count === 0) for (const resolve of this.waiting) resolve();
    }
  }

  /** Until there are none, or for so long. */
  async idle(longestMs: number): Promise<void> {
    if (this.isIdle) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, longestMs);
      this.waiting.add(done);
    });
  }
}
