import { type GitFolders, gitFoldersOf } from '../../config/git-folders.ts';
import { Coalesced } from '../../engine/coalesced.ts';
import { Git } from '../../git/git.ts';
import { type GitState, readGitState } from '../../git/git-state.ts';
import { changesBetween, type FolderSnapshot, snapshotFolder } from './snapshot.ts';

/** A working tree at one moment: its files, and the refs of its repository. */
export interface TreeState {
  readonly snapshot: FolderSnapshot;
  readonly git: GitState | undefined;
}

/** Inspects a working tree repeatedly. Requests during an inspection share the next one, which sees earlier changes. */
export class ChangeTracker {
  private readonly git: GitFolders | undefined;
  private last: FolderSnapshot | undefined;
  private readonly inspection = new Coalesced(() => this.inspectNow());

  constructor(
    private readonly root: string,
    private readonly isIgnored: (path: string) => boolean,
    /** Whether to compare the branches and tags of the repository, too. */
    withRefs = true,
  ) {
    this.git = withRefs ? gitFoldersOf(root) : undefined;
  }

  inspect(): Promise<TreeState> {
    return this.inspection.request();
  }

  /** Sorted paths relative to the tree; refs begin with `.git/`. */
  async changes(before: TreeState, after: TreeState): Promise<string[]> {
    const changed = changesBetween(before.snapshot, after.snapshot);
    if (before.git === undefined || after.git === undefined) return changed;
    for (const [name, from] of before.git.refs) {
      const to = after.git.refs.get(name);
      // Anyone may move the checked-out branch, and make new refs.
      if (to === from || name === before.git.branch || name === after.git.branch) continue;
      if (!(await this.isForward(name, from, to))) changed.push(`.git/${name}`);
    }
    return changed.sort();
  }

  /** Whether a branch only gained commits: people keep working in their other worktrees. */
  private async isForward(name: string, from: string, to: string | undefined): Promise<boolean> {
    if (to === undefined || name.startsWith('refs/tags/')) return false;
    return new Git(this.root).isAncestor(from, to).catch(() => false);
  }

  private async inspectNow(): Promise<TreeState> {
    const git = this.git === undefined ? undefined : readGitState(this.git);
    const snapshot = await snapshotFolder(this.root, this.isIgnored, this.last);
    this.last = snapshot;
    return { snapshot, git };
  }
}
