/** Cancels on the signals of callers. One listener for each signal, however many executions it is for. */
export class SignalLinks<T> {
  private readonly linked = new WeakMap<AbortSignal, Set<T>>();

  constructor(private readonly cancel: (item: T, reason: unknown) => void) {}

  /** Returns what takes the link away again. A signal that is aborted already cancels at once. */
  link(item: T, signal: AbortSignal): (() => void) | undefined {
    if (signal.aborted) {
      this.cancel(item, signal.reason);
      return undefined;
    }
    const items = this.itemsOf(signal);
    items.add(item);
    return () => {
      if (!items.delete(item) || items.size > 0) return;
      signal.removeEventListener('abort', this.aborted);
      this.linked.delete(signal);
    };
  }

  private itemsOf(signal: AbortSignal): Set<T> {
    let items = this.linked.get(signal);
    if (items === undefined) {
      items = new Set();
      this.linked.set(signal, items);
      signal.addEventListener('abort', this.aborted, { once: true });
    }
    return items;
  }

  private readonly aborted = ({ target }: Event): void => {
    const signal = target as AbortSignal;
    for (const item of this.linked.get(signal) ?? []) this.cancel(item, signal.reason);
  };
}
