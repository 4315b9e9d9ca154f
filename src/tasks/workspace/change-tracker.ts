import { type Dirent, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type GitFolders, gitFoldersOf } from '../../config/git-folders.ts';
import { Git } from './git.ts';
import { changesBetween, type FolderSnapshot, snapshotFolder } from './snapshot.ts';

/** All that counts of a tree at one moment. */
export interface TreeState {
  readonly snapshot: FolderSnapshot;
  readonly git: GitState | undefined;
}

/** Looks at a tree again and again. Those who ask while it looks share the next one, which sees what they did before. */
export class ChangeTracker {
  private readonly git: GitFolders | undefined;
  private last: FolderSnapshot | undefined;
  private running: Promise<TreeState> | undefined;
  private next: Promise<TreeState> | undefined;

  constructor(
    private readonly root: string,
    private readonly isPassedOver: (path: string) => boolean,
    /** Of branches that may move in any way. */
    private readonly isOwnRef: (name: string) => boolean = () => false,
  ) {
    this.git = gitFoldersOf(root);
  }

  inspect(): Promise<TreeState> {
    if (this.running === undefined) return this.start();
    this.next ??= this.running.then(
      () => this.start(),
      () => this.start(),
    );
    return this.next;
  }

  /** Paths relative to the tree, sorted; what is git's begins with `.git/`. */
  async changes(before: TreeState, after: TreeState): Promise<string[]> {
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

  private start(): Promise<TreeState> {
    this.next = undefined;
    this.running = this.lookNow().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private async lookNow(): Promise<TreeState> {
    const git = this.git === undefined ? undefined : readGitState(this.git);
    const snapshot = await snapshotFolder(this.root, this.isPassedOver, this.last);
    this.last = snapshot;
    return { snapshot, git };
  }
}

/** What the branches and tags of a repository point to, at one moment. */
export interface GitState {
  /** By full name: branches and tags, and where they point. */
  readonly refs: ReadonlyMap<string, string>;
  /** The branch of this working tree. */
  readonly branch: string | undefined;
}

const REFS = ['refs/heads', 'refs/tags'];
const MAX_ENTRIES = 20_000;

export function readGitState({ own, common }: GitFolders): GitState {
  const refs = new Map<string, string>();
  for (const line of textOf(join(common, 'packed-refs'))?.split('\n') ?? []) {
    const [hash, name] = line.split(' ');
    if (name !== undefined && REFS.some((one) => name.startsWith(`${one}/`))) refs.set(name, hash!);
  }
  for (const name of REFS.flatMap((one) => pathsBelow(common, one))) {
    const text = textOf(join(common, name));
    if (text !== undefined) refs.set(name, text.trim());
  }
  const branch = /^ref: (.+)$/m.exec(textOf(join(own, 'HEAD')) ?? '')?.[1];
  return { refs, branch };
}

/** A branch or tag that points elsewhere now, or nowhere. */
export interface MovedRef {
  readonly name: string;
  readonly from: string;
  readonly to: string | undefined;
}

/** What was moved besides the branch that is checked out. New ones may be made by anybody. */
export function movedRefs(before: GitState, after: GitState): MovedRef[] {
  const moved: MovedRef[] = [];
  for (const [name, from] of before.refs) {
    const to = after.refs.get(name);
    if (to !== from && name !== before.branch && name !== after.branch) moved.push({ name, from, to });
  }
  return moved;
}

function pathsBelow(root: string, folder: string): string[] {
  const found: string[] = [];
  const folders = [folder];
  for (let next = folders.pop(); next !== undefined && found.length < MAX_ENTRIES; next = folders.pop()) {
    for (const entry of entriesOf(join(root, next))) {
      (entry.isDirectory() ? folders : found).push(`${next}/${entry.name}`);
    }
  }
  return found;
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
}
