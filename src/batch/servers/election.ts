import type { LeadershipState } from '../../store/shared-servers.ts';

/** Times of the election. */
export interface ElectionTimes {
  /** Between two beats of a server. */
  readonly beatMs: number;
  /** How long a leader may be silent. */
  readonly leaseMs: number;
}

export const ELECTION_TIMES: ElectionTimes = { beatMs: 500, leaseMs: 5000 };

/**
 * Decides which of the servers that share a store leads, from what one of them reads, without clock or network. No clocks
 * are compared: the leader counts from the moment before its beat was sent, and the others from the moment after they saw
 * it, so the leader gives up first. While a server cannot read the store, silence says nothing about the leader.
 */
export class Election {
  /** Whether this server leads. */
  leads = false;
  /** The epoch in which it led last. */
  epoch = 0;
  private leadsUntil = Number.NEGATIVE_INFINITY;
  private readAt = Number.NEGATIVE_INFINITY;
  /** The last sign of life of the leader. */
  private last: { readonly epoch: number; readonly beat: number; at: number } | undefined;

  constructor(private readonly times: ElectionTimes) {}

  /** Handles a state, which was asked for at `sentAt`. */
  observed(
    state: LeadershipState,
    isReady: boolean,
    sentAt: number,
    now: number,
  ): 'claim' | 'resign' | undefined {
    const { epoch, beat } = state;
    if (this.last?.epoch !== epoch || this.last.beat !== beat) this.last = { epoch, beat, at: now };
    else if (now - this.readAt > 3 * this.times.beatMs) this.last.at = now;
    this.readAt = now;
    if (state.isOwn) {
      this.leadsUntil = sentAt + this.times.leaseMs;
      this.leads = now < this.leadsUntil;
      if (isReady || !state.othersAreReady) return undefined;
      this.leads = false;
      return 'resign';
    }
    this.leads = false;
    if (!isReady && state.othersAreReady) return undefined;
    return state.isVacant || now - this.last.at >= this.times.leaseMs ? 'claim' : undefined;
  }

  /** Handles a claim that succeeded. */
  claimed(epoch: number, sentAt: number, now: number): void {
    this.epoch = epoch;
    this.leadsUntil = sentAt + this.times.leaseMs;
    this.leads = now < this.leadsUntil;
  }

  /** Must be called often: the lead ends without an answer of the store. */
  tick(now: number): void {
    if (now >= this.leadsUntil) this.leads = false;
  }
}
