import type { Inspection, ProtocolTimes, RegisteredNote, StoredOutcome, WorkerNote } from './messages.ts';

/** What the coordinator must do next. Everything but `ended`, `worker` and `deposed` may be done late, twice or never. */
export type CoordinatorCommand<O, N extends WorkerNote = WorkerNote> =
  /** Put the attempt into the queue of the session, then call `enqueued`. It may be asked again. */
  | { readonly type: 'enqueue'; readonly session: string; readonly key: string }
  /** Send a request to stop the attempt. */
  | { readonly type: 'cancel'; readonly session: string; readonly key: string }
  /** Send a request to give the attempt back, if it has not begun. It ends with an outcome that says so. */
  | { readonly type: 'recall'; readonly session: string; readonly key: string }
  /** Remove the stored outcomes of attempts that are over. */
  | { readonly type: 'forget'; readonly session: string; readonly keys: readonly string[] }
  /** Read what the server has about the session, then call `inspected`. */
  | { readonly type: 'inspect'; readonly session: string }
  /** Mark the session as given up, collect its outcomes, remove its queue, outcomes and note, then call `cleared`. */
  | { readonly type: 'fence'; readonly session: string }
  /** The attempt is over. Without an outcome it was lost with its worker. */
  | { readonly type: 'ended'; readonly key: string; readonly outcome: O | undefined }
  | { readonly type: 'worker'; readonly change: 'joined' | 'draining' | 'left'; readonly note: N }
  /** A newer coordinator has taken over. All attempts have ended, and nothing more will happen. */
  | { readonly type: 'deposed'; readonly epoch: number };

interface Assignment {
  readonly session: string;
  /** Whether it is known to have been in the queue. */
  isEnqueued: boolean;
  isCancelled: boolean;
  /** The beat of the worker when the attempt was first missing; undefined if it is not. */
  missingSince: number | undefined;
  /** How often it was put into the queue again. */
  repeats: number;
}

/** Joining until the worker has seen this epoch and nothing of earlier work is left on it. */
type SessionState = 'joining' | 'ready' | 'draining' | 'lost';

interface Session<N> {
  note: N;
  state: SessionState;
  heardAt: number;
  inspectedAt: number;
  readonly keys: Set<string>;
}

/** How much more rarely a worker without assignments is inspected. */
const IDLE_FACTOR = 10;
/** A worker that does not accept an attempt that was put into its queue this often is given up. */
const MAX_REPEATS = 20;
/** The most sessions remembered as given up. */
const MAX_FENCED = 10_000;

/**
 * The coordinator's side of the protocol, without clock or network. It knows the sessions of all workers and the attempts
 * assigned to each. Every attempt ends exactly once: with the outcome of the session it was assigned to, or lost, after
 * that session was fenced and its queue removed.
 */
export class CoordinatorProtocol<O, N extends WorkerNote = WorkerNote> {
  protected readonly sessions = new Map<string, Session<N>>();
  protected readonly assignments = new Map<string, Assignment>();
  private readonly fenced = new Set<string>();
  protected commands: CoordinatorCommand<O, N>[] = [];
  private observedAt = Number.NEGATIVE_INFINITY;
  private isReconnected = false;
  private isDeposed = false;
  /** Whether work of an earlier coordinator can no longer run anywhere. */
  private isAlone = false;

  constructor(
    readonly epoch: number,
    protected readonly times: ProtocolTimes,
    private readonly startedAt: number,
  ) {}

  /** Returns what is to be done, in order. Call it after every event. */
  takeCommands(): CoordinatorCommand<O, N>[] {
    const { commands } = this;
    if (commands.length > 0) this.commands = [];
    return commands;
  }

  /** The number of attempts that have not ended. */
  get open(): number {
    return this.assignments.size;
  }

  get workers(): N[] {
    return Array.from(this.sessions.values(), ({ note }) => note);
  }

  /** All sessions, with their state and the time they were last heard. */
  get overview(): { readonly note: N; readonly state: SessionState; readonly heardAt: number }[] {
    return [...this.sessions.values()];
  }

  /** Whether a session may get work. */
  isReady(session: string): boolean {
    return this.sessions.get(session)?.state === 'ready';
  }

  /** Assigns an attempt to a ready session. */
  assign(key: string, session: string): void {
    const found = this.sessions.get(session);
    if (this.isDeposed || found?.state !== 'ready' || this.assignments.has(key)) {
      this.commands.push({ type: 'ended', key, outcome: undefined });
      return;
    }
    found.keys.add(key);
    const fresh = { isEnqueued: false, isCancelled: false, missingSince: undefined, repeats: 0 };
    this.assignments.set(key, { session, ...fresh });
    this.commands.push({ type: 'enqueue', session, key });
  }

  enqueued(key: string, session: string): void {
    const assignment = this.assignments.get(key);
    if (assignment !== undefined) assignment.isEnqueued = true;
    // It came too late, after the queue was removed.
    else if (!this.sessions.has(session)) this.commands.push({ type: 'fence', session });
  }

  /** Asks for the end of an attempt. It still ends only with its worker's answer, or lost. */
  cancel(key: string): void {
    const assignment = this.assignments.get(key);
    if (assignment === undefined) return;
    assignment.isCancelled = true;
    this.commands.push({ type: 'cancel', session: assignment.session, key });
  }

  /** Handles the outcome that a worker sent. */
  received(session: string, key: string, outcome: O): void {
    if (this.isFrom(session, key)) this.end(key, outcome);
  }

  /** Handles what is in the registry. It must be called only after a successful read. */
  observed(notes: readonly RegisteredNote<N>[], newestEpoch: number, now: number): void {
    if (this.isDeposed) return;
    if (newestEpoch > this.epoch) {
      this.depose(newestEpoch);
      return;
    }
    // While the registry could not be read, silence says nothing about the workers. Nor does it after a crash of the
    // server, which may have acknowledged heartbeats and lost them.
    if (this.isReconnected || now - this.observedAt > 3 * this.times.beatMs)
      for (const session of this.sessions.values()) session.heardAt = now;
    this.isReconnected = false;
    this.observedAt = now;
    for (const registered of notes) this.heard(registered, now);
    this.isAlone ||= this.earlierWorkIsOver(now);
    for (const [id, session] of this.sessions) this.look(id, session, now);
  }

  /** Gives up all work, as if another coordinator had taken over. */
  resign(): void {
    if (!this.isDeposed) this.depose(this.epoch);
  }

  /** Handles that the connection was interrupted, before anything that is read over the new one. */
  reconnected(): void {
    this.isReconnected = true;
    for (const session of this.sessions.values()) session.inspectedAt = Number.NEGATIVE_INFINITY;
  }

  /** Handles what the server has about a session. */
  inspected(session: string, { queued, note, outcomes }: Inspection<O, N>): void {
    const found = this.sessions.get(session);
    if (found === undefined || found.state === 'lost') return;
    const stray: string[] = [];
    for (const { key, outcome } of outcomes) {
      if (this.isFrom(session, key)) this.end(key, outcome);
      else stray.push(key);
    }
    if (stray.length > 0) this.commands.push({ type: 'forget', session, keys: stray });
    if (note?.session !== session) return;
    const present = new Set([...queued, ...note.held]);
    for (const key of found.keys) this.judgeMissing(key, present.has(key), note, found);
  }

  /** Handles the end of a session: outcomes that the server still had, and the certainty that nothing else comes. */
  cleared(session: string, outcomes: readonly StoredOutcome<O>[]): void {
    const found = this.sessions.get(session);
    if (found?.state !== 'lost') return;
    for (const { key, outcome } of outcomes) if (this.isFrom(session, key)) this.end(key, outcome);
    for (const key of [...found.keys]) this.end(key, undefined);
    this.sessions.delete(session);
  }

  /** Whether a session may speak for an attempt. */
  protected isFrom(session: string, key: string): boolean {
    return this.assignments.get(key)?.session === session;
  }

  /** Whether nothing but work of this coordinator and this session is left on the worker. */
  protected isClean(note: N): boolean {
    return note.epoch === this.epoch && note.held.every((key) => this.isFrom(note.session, key));
  }

  protected giveUp(id: string, session: Session<N>): void {
    const { note, state } = session;
    session.state = 'lost';
    this.fenced.add(id);
    if (this.fenced.size > MAX_FENCED)
      for (const oldest of this.fenced) {
        this.fenced.delete(oldest);
        break;
      }
    if (state !== 'joining') this.commands.push({ type: 'worker', change: 'left', note });
    this.commands.push({ type: 'fence', session: id });
  }

  /**
   * Every worker has stopped what an earlier coordinator assigned, or its lease has ended, and then it has stopped by
   * itself. A tool that does not stop is not waited for.
   */
  protected earlierWorkIsOver(now: number): boolean {
    if (now > this.startedAt + 2 * this.times.leaseMs) return true;
    for (const { state, note } of this.sessions.values())
      if (state !== 'lost' && !this.isClean(note)) return false;
    return true;
  }

  private heard({ note, ageMs }: RegisteredNote<N>, now: number): void {
    const id = note.session;
    if (this.fenced.has(id)) {
      // The server has forgotten that it removed the session.
      if (!this.sessions.has(id)) this.commands.push({ type: 'fence', session: id });
      return;
    }
    const known = this.sessions.get(id);
    if (known === undefined) {
      const inspectedAt = Number.NEGATIVE_INFINITY;
      // The server may have lost later heartbeats in a crash just now.
      const heardAt = now - Math.max(0, ageMs - this.times.forgottenMs - 2 * this.times.beatMs);
      this.sessions.set(id, { note, state: 'joining', heardAt, inspectedAt, keys: new Set() });
    } else if (note.beat > known.note.beat) {
      known.note = note;
      known.heardAt = now;
      for (const key of note.waiting)
        if (this.isFrom(id, key)) this.commands.push({ type: 'recall', session: id, key });
    }
  }

  private look(id: string, session: Session<N>, now: number): void {
    const { note, state } = session;
    const { leaseMs, inspectMs } = this.times;
    if (state === 'lost') {
      // The first request may have been lost with a connection.
      this.commands.push({ type: 'fence', session: id });
      return;
    }
    if (note.isGone || now - session.heardAt > leaseMs) {
      this.giveUp(id, session);
      return;
    }
    if (note.isDraining && state !== 'draining') {
      session.state = 'draining';
      if (state === 'ready') this.commands.push({ type: 'worker', change: 'draining', note });
    } else if (state === 'joining' && this.isAlone && this.isClean(note)) {
      session.state = 'ready';
      this.commands.push({ type: 'worker', change: 'joined', note });
    }
    if (session.state === 'draining' && session.keys.size === 0 && note.held.length === 0) {
      // It waits for this, so that no attempt on its way is lost.
      this.giveUp(id, session);
      return;
    }
    for (const key of session.keys)
      if (this.assignments.get(key)!.isCancelled) this.commands.push({ type: 'cancel', session: id, key });
    // A worker without work may still have outcomes of attempts that are over.
    const pauseMs = session.keys.size > 0 ? inspectMs : IDLE_FACTOR * inspectMs;
    if (now - session.inspectedAt >= pauseMs) {
      session.inspectedAt = now;
      this.commands.push({ type: 'inspect', session: id });
    }
  }

  /**
   * An attempt that was in the queue and is nowhere now was probably lost by the server. That is never certain: its worker
   * may have accepted it after its last heartbeat, and a server that lost data shows an old one. So it goes into the queue
   * again. A worker that has it, or had it, does not start it twice.
   */
  protected judgeMissing(key: string, isPresent: boolean, note: N, session: Session<N>): void {
    const assignment = this.assignments.get(key)!;
    if (isPresent || !assignment.isEnqueued) {
      assignment.missingSince = undefined;
    } else if (assignment.missingSince === undefined) {
      assignment.missingSince = note.beat;
    } else if (note.beat > assignment.missingSince) {
      assignment.missingSince = undefined;
      assignment.isEnqueued = false;
      if (++assignment.repeats <= MAX_REPEATS)
        this.commands.push({ type: 'enqueue', session: assignment.session, key });
      else if (session.state !== 'lost') this.giveUp(assignment.session, session);
    }
  }

  protected end(key: string, outcome: O | undefined): void {
    const { session } = this.assignments.get(key)!;
    this.assignments.delete(key);
    const found = this.sessions.get(session);
    found?.keys.delete(key);
    this.commands.push({ type: 'ended', key, outcome });
    if (found !== undefined && found.state !== 'lost')
      this.commands.push({ type: 'forget', session, keys: [key] });
  }

  private depose(epoch: number): void {
    this.isDeposed = true;
    for (const key of [...this.assignments.keys()]) {
      this.assignments.delete(key);
      this.commands.push({ type: 'ended', key, outcome: undefined });
    }
    for (const { note, state } of this.sessions.values())
      if (state === 'ready' || state === 'draining')
        this.commands.push({ type: 'worker', change: 'left', note });
    this.sessions.clear();
    this.commands.push({ type: 'deposed', epoch });
  }
}
