import type { Rejection, Review, Subtask } from '../files/feature.ts';

/** The outcome of merging a subtask's work into the project. */
export type DeliveryOutcome = { readonly ok: true } | UndeliveredWork;

export interface UndeliveredWork {
  readonly ok: false;
  /** What prevents it, and what to do about it. */
  readonly text: string;
  /** Paths that both sides changed. */
  readonly conflicts: readonly string[];
  /** The commit of work that another attempt could bring together with the project. */
  readonly repairable?: string | undefined;
}

/** Work that was committed, and the commit that it began with. */
export interface SavedWork {
  readonly ok: true;
  readonly commit: string;
  readonly base: string;
}

/** Work of an earlier attempt, merged into a new worktree of the current project. */
export interface Conflict {
  /** Files with conflict markers. Empty if git could merge both. */
  readonly paths: readonly string[];
  /** What the project, and what the earlier attempt, changed in these files, as bounded diffs. */
  readonly ofProject: string;
  readonly ofWork: string;
}

/** A separate worktree in which work is merged with the project. */
export interface MergedPlace {
  readonly folder: string;
  /** Checks out one side alone, or both merged. */
  show(side: 'work' | 'project' | 'both'): Promise<void>;
}

/** Conditions for merging work into the project. */
export interface DeliveryGuard {
  readonly signal: AbortSignal;
  /** Throws if the work is no longer wanted. */
  confirm(): Promise<void>;
  /** Whether the merged result is checked even if the work began with all that the project has. */
  readonly isNewTogether?: boolean;
  /** A check of the merged result that returns what fails. Undefined if it would show nothing new. */
  recheck(): ((place: MergedPlace) => Promise<readonly string[]>) | undefined;
}

/** The files of a workspace as a commit, for an agent on another machine. */
export interface SentWork {
  readonly commit: string;
  /** Whether there is a bundle, because the other machine lacks something. */
  readonly isBundled: boolean;
}

/** The working folder of one attempt. */
export interface Workspace {
  /** Agents start here, and work is verified here. Paths are relative to it. */
  readonly folder: string;
  /** The attempt's own branch, if it has one. */
  readonly branch: string | undefined;
  /** Set if it began with work that does not fit the project. */
  readonly conflict: Conflict | undefined;
  /** Sorted paths whose content changed since it was opened. */
  changes(): Promise<readonly string[]>;
  /**
   * Writes its files as a commit into the bundle `file`, without what the `known` commits have. Only for workspaces that
   * have a branch.
   */
  send(file: string, known: readonly string[]): Promise<SentWork>;
  /** Replaces its files by those of a commit on top of the one that was sent, from a bundle that is not trusted. */
  receive(file: string, commit: string, sent: SentWork): Promise<void>;
  /** Commits all work on the attempt's own branch. Only for workspaces that have one. */
  save(message: string): Promise<SavedWork | UndeliveredWork>;
  /**
   * Merges the work into the project, one attempt at a time: all of it, or only what an earlier {@link save} committed.
   * Throws what the guard throws.
   */
  deliver(message: string, guard?: DeliveryGuard, commit?: string): Promise<DeliveryOutcome>;
  /** Removes the workspace. If that would lose work, keeps it and returns its path. */
  close(): Promise<string | undefined>;
  /** Removes the workspace with its work, which is elsewhere by now. */
  discard(): Promise<void>;
}

/** Work that was merged before a crash kept its subtask from being completed. */
export interface Leftover {
  /** The paths it changed in the project. */
  readonly paths: readonly string[];
  /** Removes its worktree. */
  remove(): Promise<void>;
}

/** Creates workspaces for attempts. */
export interface Workspaces {
  /** Work on this subtask that was merged before a crash. */
  leftover(subtask: Subtask): Promise<Leftover | undefined>;
  /**
   * Opens a workspace for an attempt, with a commit of an earlier one merged into it if there is one. A workspace left by
   * a crash is kept if it has work, and never reused.
   */
  open(subtask: Subtask, signal: AbortSignal, work?: string): Promise<Workspace>;
  /** Opens the workspace of an earlier attempt again. Undefined if it is not as it was left. */
  reopen(
    subtask: Subtask,
    work: Pick<Rejection, 'branch' | 'base' | 'commit'>,
  ): Promise<Workspace | undefined>;
  /** Merges saved work of an earlier attempt, and removes its workspace unless that holds more. */
  land(
    subtask: Subtask,
    work: Pick<Review, 'branch' | 'commit'>,
    message: string,
    guard: DeliveryGuard,
  ): Promise<DeliveryOutcome>;
  /** Removes the workspace of an earlier attempt with its work, which is elsewhere by now. */
  discard(subtask: Subtask, branch: string): Promise<void>;
  /** Changes in the project itself while agents worked elsewhere: by an agent that left its workspace, or by the user. */
  changedInProject(): Promise<readonly string[]>;
}
