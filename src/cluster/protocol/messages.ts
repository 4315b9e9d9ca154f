/**
 * What coordinator and workers know of each other. A session is one uninterrupted life of a worker: a worker that
 * restarts, or that could not renew its lease in time, comes back under a new session with an empty queue. Results are
 * fenced three times: by the number of the attempt, by the epoch of the coordinator, and by the session of the worker.
 */

/** Increases with every change after which coordinator and workers of different versions do not understand each other. */
export const PROTOCOL_VERSION = 1;

/** What a worker writes into the registry with every heartbeat. */
export interface WorkerNote {
  readonly name: string;
  readonly session: string;
  /** Increases by one with every heartbeat of the session. */
  readonly beat: number;
  /** The highest epoch that it has seen. */
  readonly epoch: number;
  /** The attempts that it runs, that have not stopped yet, or whose outcome is not stored yet, of any session and epoch. */
  readonly held: readonly string[];
  /** Those of them that have waited for room for some time. The coordinator takes them back. */
  readonly waiting: readonly string[];
  /** Takes no new work. It leaves when the coordinator has given up its session, which it does when nothing is open. */
  readonly isDraining: boolean;
  /** Has stopped: it holds nothing and will not come back under this session. */
  readonly isGone: boolean;
}

/** What a worker has noted about itself; nothing if that has another form. */
export function checkedNote(sent: Partial<WorkerNote> | undefined): WorkerNote | undefined {
  const { name, session, beat, epoch, held, waiting, isDraining, isGone } = sent ?? {};
  const isSound =
    [name, session].every((text) => typeof text === 'string') &&
    [beat, epoch].every(Number.isFinite) &&
    [held, waiting].every((keys) => Array.isArray(keys) && keys.every((key) => typeof key === 'string')) &&
    [isDraining, isGone].every((flag) => typeof flag === 'boolean');
  return isSound ? (sent as WorkerNote) : undefined;
}

/** A note as it is in the registry. It stays there until its session is over, so that no queue is left behind. */
export interface RegisteredNote<N extends WorkerNote = WorkerNote> {
  readonly note: N;
  /** How long ago it was written, by the clock of the server. */
  readonly ageMs: number;
}

/** What a worker learns from a heartbeat that was written. */
export interface BeatReply {
  /** The epoch of the newest coordinator; 0 if there was none. */
  readonly epoch: number;
  /** Whether the coordinator has given up this session. */
  readonly isFenced: boolean;
  /** Whether somebody asked it to drain. */
  readonly isDraining: boolean;
  /** Whether a coordinator has a lease. Without one, nobody gives up the session of a worker that drains. */
  readonly hasCoordinator: boolean;
}

/** An outcome that a worker has written and the coordinator has not removed yet. */
export interface StoredOutcome<O> {
  readonly key: string;
  readonly outcome: O;
}

/**
 * What the server has about a session, read in this order: an attempt moves from the queue to the worker, and from there
 * to the outcomes, so it cannot be overlooked on its way.
 */
export interface Inspection<O, N extends WorkerNote = WorkerNote> {
  /** The attempts in the queue that the worker has not accepted. */
  readonly queued: readonly string[];
  readonly note: N | undefined;
  readonly outcomes: readonly StoredOutcome<O>[];
}

/** Times of the protocol. The worker gives up before the coordinator does, because it counts from an earlier moment. */
export interface ProtocolTimes {
  /** Between two heartbeats, and between two looks at the registry. */
  readonly beatMs: number;
  /** How long a worker may be silent. */
  readonly leaseMs: number;
  /** How much of its last writes the server may lose in a crash. */
  readonly forgottenMs: number;
  /** Between two inspections of the queue of a worker that has assignments. */
  readonly inspectMs: number;
}

export const DEFAULT_TIMES: ProtocolTimes = {
  beatMs: 1000,
  leaseMs: 7000,
  forgottenMs: 2000,
  inspectMs: 3000,
};
