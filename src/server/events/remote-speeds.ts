import type { BatchExecutor } from '../../batch/executor/batch-executor.ts';
import type { BatchView } from '../../batch/view.ts';

type Speed = Pick<BatchView, 'ratePerSecond' | 'timeLeft' | 'pauses'>;

/** An answer is given to others for so long, and known is what was answered so long ago. */
const FRESH_MS = 2000;
const KNOWN_MS = 10_000;
const MAX_KEPT = 1000;
/** Each is a request in the store, which the other process answers there. */
const MAX_ASKED = 4;
/** A process that does not answer may be suspended. */
const WAIT_MS = 1000;

/** How fast batches are that other processes run, and what they wait for: only those processes know. */
export class RemoteSpeeds {
  private readonly known = new Map<string, { readonly speed: Speed | undefined; readonly at: number }>();
  private readonly asking = new Map<string, Promise<void>>();

  constructor(
    private readonly executor: Pick<BatchExecutor, 'speed'>,
    /** Called when more is known of a batch than before. */
    private readonly changed: (batch: string) => void,
  ) {}

  /** The view with what is known. */
  add<V extends BatchView>(view: V): V {
    if (view.state !== 'elsewhere') return view;
    const known = this.known.get(view.name);
    const isKnown = known !== undefined && performance.now() - known.at < KNOWN_MS;
    return isKnown ? { ...view, ...known.speed } : view;
  }

  /** The same, and asks the process for news. */
  addAndAsk(view: BatchView): BatchView {
    if (view.state === 'elsewhere') void this.ask(view.name);
    return this.add(view);
  }

  /** The view with what the process answers now, or has just answered, unless it takes too long. */
  async addNow(view: BatchView): Promise<BatchView> {
    if (view.state === 'elsewhere') await this.ask(view.name);
    return this.add(view);
  }

  private async ask(batch: string): Promise<void> {
    const known = this.known.get(batch);
    if (known !== undefined && performance.now() - known.at < FRESH_MS) return;
    const asking = this.asking.get(batch);
    if (asking !== undefined || this.asking.size >= MAX_ASKED) return asking;
    const answer = this.executor
      .speed(batch, WAIT_MS)
      .catch(() => undefined)
      .then((speed) => {
        this.asking.delete(batch);
        if (this.known.size >= MAX_KEPT) this.known.clear();
        this.known.set(batch, { speed, at: performance.now() });
        if (JSON.stringify(speed) !== JSON.stringify(known?.speed)) this.changed(batch);
      });
    this.asking.set(batch, answer);
    return answer;
  }
}
