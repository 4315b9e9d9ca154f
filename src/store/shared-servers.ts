import type { HolderRequest } from './store.ts';

/** What a server tells the others. */
export interface ServerDetails {
  /** Where it can be reached. */
  readonly address: string;
}

/** A server of the store. */
export interface StoredServer extends ServerDetails {
  readonly host: string;
  readonly pid: number;
  /** Whether it can reach the workers, if it uses any. */
  readonly isReady: boolean;
  /** Whether it runs the batches. */
  readonly isLeader: boolean;
  /** Unix time in milliseconds. */
  readonly since: number;
  readonly silentMs: number;
}

/** Who leads the servers of a store, as one of them sees it. */
export interface LeadershipState {
  /** Grows with each leader. */
  readonly epoch: number;
  /** Grows each time the leader says that it is there. */
  readonly beat: number;
  /** Whether the caller leads. */
  readonly isOwn: boolean;
  /** Whether nobody leads, or a process that is seen to be gone. */
  readonly isVacant: boolean;
  /** Whether another server could lead now. */
  readonly othersAreReady: boolean;
}

/**
 * The servers that share a store. One of them leads: it runs the batches that are started through any of them. Leading
 * only says who should take a batch. Who may write to it is decided by its lease.
 */
export interface SharedServers {
  /** The same for all servers of the store, and for no others. */
  storeId(): Promise<string>;
  /** Makes this process one of the servers. What it runs is continued by others if it dies. */
  join(details: ServerDetails): Promise<void>;
  /**
   * Says that this server is there, renews its leadership of an epoch, and reads the state. Servers that were heard of within
   * `aliveMs` count. Repeated at most once, at once.
   */
  beat(epoch: number, details: ServerDetails, isReady: boolean, aliveMs: number): Promise<LeadershipState>;
  /** Takes the lead if nothing has changed since that state. Returns the new epoch. */
  claim(state: LeadershipState): Promise<number | undefined>;
  /** Gives up the lead, if it has it. */
  resign(): Promise<void>;
  /** Is no server any more. */
  leave(): Promise<void>;
  /** All servers, oldest first. */
  list(): Promise<StoredServer[]>;
  /** The batches of servers that nobody runs. Hopeless are those whose process died again and again without a task ending. */
  orphans(): Promise<{ readonly batch: string; readonly isHopeless: boolean }[]>;
  /** Whether a server that is there continues the batch if nobody runs it. */
  willContinue(batch: string): Promise<boolean>;
  /** Servers no longer continue the batch. */
  leaveAlone(batch: string): Promise<void>;
  /** Sends a request, as JSON, to whoever leads. It is answered like those to a holder. */
  ask(body: string): Promise<number>;
  /** The unanswered requests, oldest first. */
  asked(): Promise<HolderRequest[]>;
}
