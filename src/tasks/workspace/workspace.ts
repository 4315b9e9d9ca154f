import type { Subtask } from '../files/feature.ts';

/** What became of bringing the work of a subtask into the project. */
export type Delivery =
  | { readonly ok: true }
  | {
      readonly ok: false;
      /** What stands in the way, and what to do about it, in words. */
      readonly text: string;
      /** Paths that both sides changed. */
      readonly conflicts: readonly string[];
    };

/** Where work is merged with what the project has, apart from both. */
export interface MergedPlace {
  readonly folder: string;
  /** Has one of the two alone in it instead, or both again. */
  show(side: 'work' | 'project' | 'both'): Promise<void>;
}

/** What is asked before work is brought into the project. */
export interface DeliveryGuard {
  readonly signal: AbortSignal;
  /** Throws where the work is not wanted any more. */
  confirm(): Promise<void>;
  /**
   * How the work is looked at where it is merged with what the project got since it was begun: that gives what is missing,
   * in words. Undefined where it would tell nothing new.
   */
  recheck(): ((place: MergedPlace) => Promise<readonly string[]>) | undefined;
}

/** Where one attempt at a subtask works. */
export interface Workspace {
  /** The folder that paths count from; agents start in it, and the work is verified in it. */
  readonly folder: string;
  /** The branch that holds the work, if it has one of its own. */
  readonly branch: string | undefined;
  /** What changed since it was opened, by content, not by time: relative paths with `/`, sorted. */
  changes(): Promise<readonly string[]>;
  /** Brings the work into the project, one after another. Throws what the guard throws. */
  deliver(message: string, guard?: DeliveryGuard): Promise<Delivery>;
  /**
   * The attempt is over. Removes what was made for it, unless work would be lost: that is kept, and the place of it is
   * the answer.
   */
  close(): Promise<string | undefined>;
}

/** Work that is in the project, though nobody has completed its subtask: a crash came between. */
export interface Leftover {
  /** What it changed in the project. */
  readonly paths: readonly string[];
  /** Removes the place in which it was done. */
  remove(): Promise<void>;
}

/** Makes places to work in. */
export interface Workspaces {
  /** What a crash left of this subtask after it had been brought into the project. */
  leftover(subtask: Subtask): Promise<Leftover | undefined>;
  /** One for an attempt at this subtask. One that a crash left over is dealt with: kept if it holds work, never reused. */
  open(subtask: Subtask, signal: AbortSignal): Promise<Workspace>;
  /**
   * What was changed in the project itself meanwhile, where nobody should work, as far as it can be told. It may have been
   * an agent that left its place, or the user.
   */
  changedInProject(): Promise<readonly string[]>;
}
