import { patternMatcher } from '../plan/deliverables.ts';
import { ChangeTracker, type TreeState } from './change-tracker.ts';
import { isVolleyPath } from './repository.ts';
import type { Workspace, Workspaces } from './workspace.ts';

/** One that works in the project at this time. */
interface Worker {
  readonly isOwn: (path: string) => boolean;
  /** All that worked at the same time, if only for a while. */
  readonly beside: Set<Worker>;
}

/**
 * All work in the project itself. Of what changed meanwhile, deliverables of one that works at the same time are that
 * one's; whose the rest is cannot be told, so it counts for all of them.
 */
export function sharedWorkspaces(folder: string): Workspaces {
  const lookout = new ChangeTracker(folder, isVolleyPath);
  const working = new Set<Worker>();
  return {
    // What is done in the project needs not be brought there.
    leftover: async () => undefined,
    changedInProject: async () => [],
    open: async ({ deliverables }, signal) => {
      const worker: Worker = { isOwn: patternMatcher(deliverables), beside: new Set(working) };
      for (const other of working) other.beside.add(worker);
      working.add(worker);
      try {
        const start = await lookout.inspect();
        signal.throwIfAborted();
        return workspaceOf(folder, lookout, worker, start, () => working.delete(worker));
      } catch (error) {
        working.delete(worker);
        throw error;
      }
    },
  };
}

function workspaceOf(
  folder: string,
  lookout: ChangeTracker,
  { isOwn, beside }: Worker,
  start: TreeState,
  leave: () => void,
): Workspace {
  const isAnothers = (path: string) => !isOwn(path) && [...beside].some((other) => other.isOwn(path));
  return {
    folder,
    branch: undefined,
    changes: async () => {
      const changed = await lookout.changes(start, await lookout.inspect());
      return changed.filter((path) => !isAnothers(path));
    },
    deliver: async (_, guard) => {
      await guard?.confirm();
      return { ok: true };
    },
    close: async () => {
      leave();
      return undefined;
    },
  };
}
