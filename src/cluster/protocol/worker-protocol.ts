import type { BeatReply, ProtocolTimes, WorkerNote } from './messages.ts';

/** What a worker must do next. */
export type WorkerCommand =
  /** Stop the attempt. `finished` follows when nothing of it is left. */
  | { readonly type: 'stop'; readonly key: string; readonly why: 'cancelled' | 'fenced' }
  /** Take jobs from the queue of the new session only. */
  | { readonly type: 'rejoin'; readonly session: string };

/** What becomes of an attempt that the queue delivers. It is taken out of the queue in any case. */
export type Delivery<O> =
  | { readonly type: 'start' }
  /** It runs already, and is reported when it ends. */
  | { readonly type: 'join' }
  /** It has ended: report the outcome again. */
  | { readonly type: 'answer'; readonly outcome: O }
  | { readonly type: 'refuse'; readonly why: 'stale-epoch' | 'cancelled' | 'ended' };

/**
 * The most ended and cancelled attempts remembered, against jobs that are delivered again. That happens within two
 * inspections, or on purpose while the assignment is valid. A worker would have to end 20,000 attempts a second to
 * forget one in that time; it was measured to end about 7,000.
 */
const MAX_REMEMBERED = 400_000;
/** The most outcomes kept; they may be large. */
const MAX_OUTCOMES = 256;

/** The worker's side of the protocol, without clock, network or source of random numbers. */
export class WorkerProtocol<O> {
  epoch = 0;
  private beat = 0;
  isDraining = false;
  /** Has left: it accepts nothing any more. */
  isGone = false;
  private hasCoordinator = true;
  /** The attempts that are not over, up to the storing of their outcomes, with the session that they belong to. */
  protected readonly held = new Map<string, string>();
  private readonly ended = new Set<string>();
  private readonly outcomes = new Map<string, O>();
  private readonly cancelled = new Set<string>();
  private commands: WorkerCommand[] = [];
  /** Infinite until the first heartbeat of the session: nobody knows it before. */
  private leaseEndsAt = Number.POSITIVE_INFINITY;

  constructor(
    readonly name: string,
    /** The session; changes when the lease was lost. */
    public session: string,
    protected readonly times: ProtocolTimes,
  ) {}

  takeCommands(): WorkerCommand[] {
    const { commands } = this;
    if (commands.length > 0) this.commands = [];
    return commands;
  }

  /** The number of attempts that are not over. */
  get open(): number {
    return this.held.size;
  }

  /** The note for the next heartbeat, with the attempts that wait for room. Only one heartbeat may be under way. */
  nextNote(waiting: readonly string[], now: number): WorkerNote {
    // Its answer may never come, but the coordinator may have seen it.
    this.leaseEndsAt = Math.min(this.leaseEndsAt, now + this.times.leaseMs);
    if (!this.hasCoordinator) this.leaveIfDrained();
    const { name, session, epoch, isDraining, isGone } = this;
    const held = [...this.held.keys()];
    return { name, session, beat: ++this.beat, epoch, held, waiting, isDraining, isGone };
  }

  /**
   * Handles the answer to a heartbeat. The lease counts from the moment it was sent. A worker that drains leaves when its
   * session was given up, and not before: an attempt may be on its way to it.
   */
  renewed(
    session: string,
    { epoch, isFenced, isDraining, hasCoordinator }: BeatReply,
    sentAt: number,
    newSession: string,
  ): void {
    if (session !== this.session) return;
    if (isDraining) this.isDraining = true;
    this.hasCoordinator = hasCoordinator;
    if (isFenced) {
      if (!this.leaveIfDrained()) this.rejoin(newSession);
    } else {
      this.leaseEndsAt = sentAt + this.times.leaseMs;
    }
    this.saw(epoch);
  }

  /** Must be called often, and first of all after the process was stopped for a while. */
  tick(now: number, newSession: string): void {
    // A worker that drains needs no answer to leave if its session is over, or if nobody has heard of it.
    if ((now > this.leaseEndsAt || this.beat === 0) && this.leaveIfDrained()) return;
    if (now > this.leaseEndsAt) this.rejoin(newSession);
  }

  /** Decides about an attempt from the queue of a session. */
  delivered(session: string, key: string, epoch: number): Delivery<O> {
    if (session !== this.session || this.isGone || this.isStale(epoch))
      return { type: 'refuse', why: 'stale-epoch' };
    this.saw(epoch);
    if (this.held.has(key)) return { type: 'join' };
    const outcome = this.outcomes.get(key);
    if (outcome !== undefined) return { type: 'answer', outcome };
    if (this.hasEnded(key)) return { type: 'refuse', why: 'ended' };
    if (this.cancelled.has(key)) return { type: 'refuse', why: 'cancelled' };
    this.held.set(key, session);
    return { type: 'start' };
  }

  /** Records the end of an attempt. Returns whether to store its outcome, and then to call `reported`. */
  finished(key: string, outcome: O): boolean {
    if (this.held.get(key) !== this.session) {
      this.held.delete(key);
      return false;
    }
    remember(this.ended, key, MAX_REMEMBERED);
    this.outcomes.set(key, outcome);
    if (this.outcomes.size > MAX_OUTCOMES)
      for (const oldest of this.outcomes.keys()) {
        this.outcomes.delete(oldest);
        break;
      }
    return true;
  }

  /** The outcome is stored. */
  reported(session: string, key: string): void {
    if (this.held.get(key) === session) this.held.delete(key);
  }

  cancel(session: string, key: string): void {
    if (session !== this.session) return;
    if (this.held.has(key)) this.commands.push({ type: 'stop', key, why: 'cancelled' });
    else remember(this.cancelled, key, MAX_REMEMBERED);
  }

  protected leaveIfDrained(): boolean {
    if (this.isDraining && this.held.size === 0) this.isGone = true;
    return this.isGone;
  }

  protected isStale(epoch: number): boolean {
    return epoch < this.epoch;
  }

  protected hasEnded(key: string): boolean {
    return this.ended.has(key);
  }

  /** Gives up all work. The coordinator may have assigned it to others. */
  protected rejoin(session: string): void {
    this.session = session;
    this.beat = 0;
    this.leaseEndsAt = Number.POSITIVE_INFINITY;
    this.stopAll();
    this.commands.push({ type: 'rejoin', session });
  }

  private saw(epoch: number): void {
    if (epoch <= this.epoch) return;
    this.epoch = epoch;
    this.stopAll();
  }

  /** Outcomes of what is open now must not count any more. */
  private stopAll(): void {
    for (const key of this.held.keys()) {
      if (this.ended.has(key)) {
        this.held.delete(key);
        continue;
      }
      this.held.set(key, '');
      this.commands.push({ type: 'stop', key, why: 'fenced' });
    }
    this.ended.clear();
    this.outcomes.clear();
    this.cancelled.clear();
  }
}

function remember(set: Set<string>, key: string, limit: number): void {
  set.add(key);
  if (set.size <= limit) return;
  for (const oldest of set) {
    set.delete(oldest);
    return;
  }
}
