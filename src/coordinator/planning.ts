import { VolleyError } from '../core/errors.ts';
import { reasonText } from '../core/words.ts';

/** What can end a list while its calls are still being looked at: the caller, its time limit, or the coordinator. */
export class Planning {
  private readonly controller = new AbortController();
  private readonly beganAt = performance.now();
  private readonly timer: NodeJS.Timeout | undefined;
  private readonly unlinks: (() => void)[] = [];

  constructor(
    signals: readonly AbortSignal[],
    private readonly timeoutMs: number | undefined,
  ) {
    for (const signal of signals) this.link(signal);
    if (timeoutMs !== undefined && Number.isFinite(timeoutMs)) {
      const late = new VolleyError('EXECUTION_DEADLINE', `The list took longer than its ${timeoutMs} ms.`);
      this.timer = setTimeout(() => this.stop(late), timeoutMs);
    }
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** What is left of the time of the list. */
  get leftMs(): number | undefined {
    if (this.timeoutMs === undefined) return undefined;
    return Math.max(1, this.timeoutMs - (performance.now() - this.beganAt));
  }

  stop(reason: VolleyError): void {
    this.controller.abort(reason);
  }

  end(): void {
    clearTimeout(this.timer);
    for (const unlink of this.unlinks) unlink();
  }

  private link(signal: AbortSignal): void {
    const cancel = () => this.stop(new VolleyError('EXECUTION_CANCELLED', reasonText(signal.reason)));
    if (signal.aborted) {
      cancel();
      return;
    }
    signal.addEventListener('abort', cancel, { once: true });
    this.unlinks.push(() => signal.removeEventListener('abort', cancel));
  }
}
