/** Tells how long transactions take, to whoever wants to know. */
export class CommitTimes {
  private readonly listeners = new Set<(ms: number) => void>();
  private begunAt = 0;

  add(listener: (ms: number) => void): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  begun(): void {
    if (this.listeners.size > 0) this.begunAt = performance.now();
  }

  committed(): void {
    if (this.listeners.size === 0) return;
    const ms = performance.now() - this.begunAt;
    for (const listener of this.listeners) listener(ms);
  }
}
