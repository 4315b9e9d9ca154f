/** Callbacks that each want to be called once, when something has happened. */
export class Wakeups {
  private waiting: (() => void)[] = [];

  get size(): number {
    return this.waiting.length;
  }

  add(callback: () => void): void {
    this.waiting.push(callback);
  }

  delete(callback: () => void): void {
    const at = this.waiting.indexOf(callback);
    if (at >= 0) this.waiting.splice(at, 1);
  }

  fire(): void {
    if (this.waiting.length === 0) return;
    const woken = this.waiting;
    this.waiting = [];
    for (const callback of woken) callback();
  }
}
