/** Cancels on the signals of callers. One listener for each signal, however many executions it is for. */
export class SignalLinks<T> {
  private readonly linked = new WeakMap<AbortSignal, Set<T>>();

  constructor(private readonly cancel: (items: readonly T[], reason: unknown) => void) {}

  /** Returns what takes the link away again. Of a signal that is aborted already, tell `aborted`. */
  link(item: T, signal: AbortSignal): () => void {
    const items = this.itemsOf(signal);
    items.add(item);
    return () => {
      if (!items.delete(item) || items.size > 0) return;
      signal.removeEventListener('abort', this.heard);
      this.linked.delete(signal);
    };
  }

  /** Cancels all of its executions together, or one would be skipped because of another on which it depends. */
  aborted(signal: AbortSignal): void {
    const items = this.linked.get(signal);
    if (items !== undefined) this.cancel([...items], signal.reason);
  }

  private itemsOf(signal: AbortSignal): Set<T> {
    let items = this.linked.get(signal);
    if (items === undefined) {
      items = new Set();
      this.linked.set(signal, items);
      signal.addEventListener('abort', this.heard, { once: true });
    }
    return items;
  }

  private readonly heard = ({ target }: Event): void => this.aborted(target as AbortSignal);
}
