import { VolleyError } from '../../core/errors.ts';
import { ownIdentity } from '../../store/process-identity.ts';
import type { Feature, Subtask } from '../feature.ts';
import type { TaskFolder } from '../files/task-folder.ts';
import { subtaskOf } from '../lookup.ts';
import { claimSubtask } from '../state/claim.ts';

/** It is bound to this process besides, so that it ends with it. */
const LEASE_MS = 10 * 60_000;
const HEARTBEAT_MS = 60_000;

/** Holds a subtask for an agent of this process while an attempt at it goes on. */
export class ClaimKeeper {
  /** Whether somebody had begun the subtask who is gone: what they did may be there already. */
  isLeftBehind = false;
  private timer: NodeJS.Timeout | undefined;
  private beating: Promise<void> = Promise.resolve();

  constructor(
    private readonly folder: TaskFolder,
    private readonly feature: string,
    private readonly seq: string,
    private readonly agent: string,
    /** Somebody has taken it away: blocked it, or given it to another. */
    private readonly onLost: (error: VolleyError) => void,
  ) {}

  /** Takes the subtask; throws where that is not possible now. */
  async take(): Promise<Feature> {
    const feature = await this.claim((before) => {
      this.isLeftBehind = before.status === 'in_progress' && before.startedAt !== undefined;
    });
    this.timer = setInterval(() => {
      this.beating = this.beating.then(() => this.beat());
    }, HEARTBEAT_MS);
    this.timer.unref();
    return feature;
  }

  /** Renews it no more. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.beating;
  }

  private claim(look?: (before: Subtask) => void): Promise<Feature> {
    const { folder, feature, seq, agent } = this;
    const request = { seq, agent, leaseMs: LEASE_MS, process: ownIdentity() };
    return folder.change(feature, (now, moment) => {
      const before = subtaskOf(now, seq);
      look?.(before);
      // The agent itself may have called it done.
      return before.status === 'completed' ? undefined : claimSubtask(now, request, moment);
    });
  }

  private async beat(): Promise<void> {
    try {
      await this.claim();
    } catch (error) {
      // A lock that is not free now will be at the next beat.
      if (error instanceof VolleyError && error.code === 'SUBTASK_REFUSED') this.onLost(error);
    }
  }
}
