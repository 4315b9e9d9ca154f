import { type GitFolders, gitFoldersOf } from '../config/git-folders.ts';
import { SENT } from './bundle.ts';
import { Git } from './git.ts';
import type { GitTampering } from './git-guard.ts';
import { readGitState } from './git-state.ts';
import { BRANCHES } from './repository.ts';

/** Where the commits of moved branches and tags are kept. */
const RESCUED = 'refs/volley/rescued/';
const SHORT_HASH = 12;

/**
 * Watches the branches and tags of a repository whose worktrees are given to agents. They share all refs, but only their
 * own branches are theirs. A removed ref is made again. One that was moved elsewhere than forward stays, since the user
 * may have moved it, but its commit is kept.
 */
export class RefGuard {
  private refs: ReadonlyMap<string, string>;
  private readonly git: Git;

  private constructor(
    project: string,
    private readonly folders: GitFolders,
  ) {
    this.git = new Git(project);
    this.refs = readGitState(folders).refs;
  }

  /** Undefined if there is no repository. */
  static of(project: string): RefGuard | undefined {
    const folders = gitFoldersOf(project);
    return folders && new RefGuard(project, folders);
  }

  async restore(): Promise<GitTampering> {
    const { refs } = readGitState(this.folders);
    const paths: string[] = [];
    const problems: string[] = [];
    const known = new Map(refs);
    for (const [name, from] of this.refs) {
      const to = refs.get(name);
      if (to === from || name.startsWith(BRANCHES) || name.startsWith(SENT)) continue;
      const isTag = name.startsWith('refs/tags/');
      if (to !== undefined && !isTag && (await this.git.isAncestor(from, to).catch(() => false))) continue;
      paths.push(`.git/${name}`);
      if (to === undefined) {
        if (await this.update(name, from)) known.set(name, from);
        else problems.push(`${name} was removed and could not be made again; it was at ${from}`);
      } else {
        const rescued = `${RESCUED}${name.slice('refs/'.length)}`;
        const where = (await this.update(rescued, from)) ? `kept as ${rescued}` : from;
        problems.push(
          `${name} was moved to ${to.slice(0, SHORT_HASH)}; its commit is ${where}. To undo this: git update-ref ${name} ${from}`,
        );
      }
    }
    this.refs = known;
    return { paths, problems, changedAt: undefined };
  }

  private update(name: string, commit: string): Promise<boolean> {
    return this.git.succeeds(['update-ref', '--no-deref', name, commit]).catch(() => false);
  }
}
