import { VolleyError } from '../../core/errors.ts';
import { isVolleyPath } from '../../git/repository.ts';
import { patternMatcher } from '../../tools/pattern/path-patterns.ts';
import { ChangeTracker, type TreeState } from './change-tracker.ts';
import type { Workspace, Workspaces } from './workspace.ts';

/** An attempt that is working in the project. */
interface Worker {
  readonly isOwn: (path: string) => boolean;
  /** All others that worked at the same time, even briefly. */
  readonly concurrent: Set<Worker>;
}

/**
 * All attempts work in the project itself. A changed deliverable of a concurrent attempt is attributed to that attempt;
 * any other change counts for all of them.
 */
export function sharedWorkspaces(folder: string): Workspaces {
  const tracker = new ChangeTracker(folder, isVolleyPath);
  const working = new Set<Worker>();
  return {
    // Nothing needs to be merged.
    leftover: async () => undefined,
    changedInProject: async () => [],
    reopen: async () => undefined,
    land: () => Promise.reject(noBranches()),
    discard: async () => undefined,
    open: async ({ deliverables }, signal) => {
      const worker: Worker = { isOwn: patternMatcher(deliverables), concurrent: new Set(working) };
      for (const other of working) other.concurrent.add(worker);
      working.add(worker);
      try {
        const start = await tracker.inspect();
        signal.throwIfAborted();
        return workspaceOf(folder, tracker, worker, start, () => working.delete(worker));
      } catch (error) {
        working.delete(worker);
        throw error;
      }
    },
  };
}

function noBranches(): VolleyError {
  return new VolleyError('INTERNAL', 'Only worktrees have branches.');
}

function workspaceOf(
  folder: string,
  tracker: ChangeTracker,
  { isOwn, concurrent }: Worker,
  start: TreeState,
  leave: () => void,
): Workspace {
  const isAnothers = (path: string) => !isOwn(path) && [...concurrent].some((other) => other.isOwn(path));
  return {
    folder,
    branch: undefined,
    conflict: undefined,
    changes: async () => {
      const changed = await tracker.changes(start, await tracker.inspect());
      return changed.filter((path) => !isAnothers(path));
    },
    save: () => Promise.reject(noBranches()),
    send: () => Promise.reject(noBranches()),
    receive: () => Promise.reject(noBranches()),
    deliver: async (_, guard) => {
      await guard?.confirm();
      return { ok: true };
    },
    close: async () => {
      leave();
      return undefined;
    },
    discard: async () => leave(),
  };
}
