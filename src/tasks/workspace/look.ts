import { type GitFolders, gitFoldersOf } from '../../config/git-folders.ts';
import { Git } from './git.ts';
import { type GitState, gitStateOf, type MovedRef, movedRefs } from './git-state.ts';
import { changesBetween, type Snapshot, takeSnapshot } from './snapshot.ts';

/** All that counts of a tree at one moment. */
export interface Sight {
  readonly snapshot: Snapshot;
  readonly git: GitState | undefined;
}

/** Looks at a tree again and again. Those who ask while it looks share the next one, which sees what they did before. */
export class Lookout {
  private readonly git: GitFolders | undefined;
  private last: Snapshot | undefined;
  private running: Promise<Sight> | undefined;
  private next: Promise<Sight> | undefined;

  constructor(
    private readonly root: string,
    private readonly isPassedOver: (path: string) => boolean,
    /** Of branches that may move in any way. */
    private readonly isOwnRef: (name: string) => boolean = () => false,
  ) {
    this.git = gitFoldersOf(root);
  }

  look(): Promise<Sight> {
    if (this.running === undefined) return this.start();
    this.next ??= this.running.then(
      () => this.start(),
      () => this.start(),
    );
    return this.next;
  }

  /** Paths relative to the tree, sorted; what is git's begins with `.git/`. */
  async changes(before: Sight, after: Sight): Promise<string[]> {
    const changed = changesBetween(before.snapshot, after.snapshot);
    if (before.git === undefined || after.git === undefined) return changed;
    const ofGit: string[] = [];
    for (const moved of movedRefs(before.git, after.git)) {
      if (!this.isOwnRef(moved.name) && !(await this.isForward(moved))) ofGit.push(moved.name);
    }
    return [...ofGit.map((path) => `.git/${path}`), ...changed].sort();
  }

  /** Whether only commits were added: people go on working in their other worktrees. */
  private async isForward({ name, from, to }: MovedRef): Promise<boolean> {
    if (to === undefined || name.startsWith('refs/tags/')) return false;
    const args = ['merge-base', '--is-ancestor', from, to];
    return new Git(this.root).succeeds(args).catch(() => false);
  }

  private start(): Promise<Sight> {
    this.next = undefined;
    this.running = this.lookNow().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private async lookNow(): Promise<Sight> {
    const git = this.git === undefined ? undefined : gitStateOf(this.git);
    const snapshot = await takeSnapshot(this.root, this.isPassedOver, this.last);
    this.last = snapshot;
    return { snapshot, git };
  }
}
