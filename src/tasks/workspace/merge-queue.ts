import { rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { VolleyError } from '../../core/errors.ts';
import { listText, reasonText } from '../../core/words.ts';
import { type Git, gitFailureText } from '../../git/git.ts';
import {
  branchOf,
  commitOf,
  mergedHead,
  type Repository,
  shortName,
  toProjectPath,
} from '../../git/repository.ts';
import { removeWorktreeFolder } from '../../git/worktree-place.ts';
import type { DeliveryGuard, DeliveryOutcome } from './workspace.ts';
import { isMerged } from './worktree-folders.ts';

/** How often a merged result is checked before giving up because the project keeps changing. */
const MAX_CHECKS = 5;

/** Work to merge into the project. */
interface MergeRequest {
  readonly commit: string;
  /** The attempt's own branch. */
  readonly branch: string;
  readonly message: string;
  /** Prepares a new folder for checks. */
  prepare(folder: string, signal: AbortSignal): Promise<void>;
}

/** Work merged with the project in a separate worktree. */
interface Candidate {
  /** The project's commit. */
  readonly target: string;
  readonly commit: string;
  readonly check: NonNullable<ReturnType<DeliveryGuard['recheck']>>;
}

/**
 * Merges verified work into the project. If the project changed since the work began, the two are first merged and checked
 * in a separate worktree, and the project then gets exactly the commit that was checked.
 */
export class MergeQueue {
  private turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly repository: Repository,
    /** The path of the separate worktree. */
    private readonly root: string,
    /** The tip of the branch, if only this queue moves it. */
    private tip?: string,
  ) {}

  /** Removes leftovers of a crash. */
  reset(): Promise<void> {
    return this.repository.exclusive(() => removeWorktreeFolder(this.repository.git, this.root));
  }

  /** One at a time, since anything merged in between would have to be checked again. */
  take(request: MergeRequest, guard: DeliveryGuard | undefined): Promise<DeliveryOutcome> {
    const result = this.turn.then(() => this.process(request, guard));
    this.turn = result.catch(() => {});
    return result;
  }

  private async process(request: MergeRequest, guard: DeliveryGuard | undefined): Promise<DeliveryOutcome> {
    for (let checks = 1; checks <= MAX_CHECKS; checks++) {
      const candidate = await this.repository.exclusive(() => this.mergeOrPrepare(request, guard));
      if ('ok' in candidate) return candidate;
      try {
        const problem = await this.problemOf(request, candidate, guard!);
        if (problem !== undefined) return { ...failure(problem), repairable: request.commit };
        const delivery = await this.repository.exclusive(() => this.moveTo(request, candidate, guard!));
        if (delivery !== undefined) return delivery;
      } finally {
        // A failed cleanup is no reason to refuse the merge.
        await this.reset().catch(() => undefined);
      }
    }
    const { branchName } = this.repository;
    return failure(`${branchName} changed during each of ${MAX_CHECKS} checks of the merged result`);
  }

  private async mergeOrPrepare(
    request: MergeRequest,
    guard: DeliveryGuard | undefined,
  ): Promise<DeliveryOutcome | Candidate> {
    const { commit, message } = request;
    const { repository } = this;
    await guard?.confirm();
    if (await isMerged(repository, commit)) return { ok: true };
    const obstacle = await this.obstacle();
    if (obstacle !== undefined) return failure(obstacle);
    const target = await repository.head();
    // Then it was verified together with everything the project has.
    const isKnown = await repository.git.isAncestor(target, commit);
    const check = isKnown && guard?.isNewTogether !== true ? undefined : guard?.recheck();
    if (check === undefined && repository.isApart) return this.squashMerged(request, target, isKnown);
    if (check === undefined) return mergeWork(repository, commit, message);
    guard?.signal.throwIfAborted();
    try {
      const merged = await this.merge(target, commit, message);
      return merged.ok ? { target, commit: merged.commit, check } : merged;
    } catch (error) {
      return failure(
        `it could not be merged with ${repository.branchName} for checking: ${reasonText(error)}`,
      );
    }
  }

  /** Why nothing can be merged now. */
  private async obstacle(): Promise<string | undefined> {
    const { repository, tip } = this;
    if (!repository.isApart) return obstacleToMerging(repository);
    const { branchName } = repository;
    const place = await repository.checkedOutAt();
    if (place !== '') return `${branchName} is checked out in ${place}`;
    return (await repository.head()) === tip ? undefined : `${branchName} was moved by someone else`;
  }

  private async squashMerged(
    request: MergeRequest,
    target: string,
    isKnown: boolean,
  ): Promise<DeliveryOutcome> {
    if (isKnown) return this.squash(request, target, request.commit);
    const merged = await this.merge(target, request.commit, request.message);
    if (!merged.ok) return merged;
    const delivery = await this.squash(request, target, merged.commit);
    await removeWorktreeFolder(this.repository.git, this.root);
    return delivery;
  }

  /**
   * Adds the content of a commit to the branch as one commit. The attempt's own branch moves there, too, so that it counts
   * as merged.
   */
  private async squash(
    { branch: own, commit, message }: MergeRequest,
    target: string,
    content: string,
  ): Promise<DeliveryOutcome> {
    const { git, branch } = this.repository;
    const tree = (await git.ask(['rev-parse', '--verify', '-q', `${content}^{tree}`])).trim();
    const added = (
      await git.ask(['commit-tree', tree, '-p', target, '-F', '-'], `${message.trim()}\n`)
    ).trim();
    const lines = [`update ${branch} ${added} ${target}`, `update refs/heads/${own} ${added} ${commit}`];
    const moved = await git.run(['update-ref', '--stdin'], `${lines.join('\n')}\n`);
    if (moved.exitCode !== 0) return failure(`git could not add it: ${gitFailureText(moved)}`);
    this.tip = added;
    return { ok: true };
  }

  /** Merges in the separate worktree. */
  private async merge(target: string, commit: string, message: string) {
    const { repository, root } = this;
    const { git } = repository;
    await removeWorktreeFolder(git, root);
    await git.ask(['worktree', 'add', '-q', '-f', '--detach', root, target]);
    const tree = git.in(root);
    const merged = await mergeInto(tree, repository, commit, message);
    if (merged.ok) return { ...merged, commit: await commitOf(tree, 'HEAD') };
    await removeWorktreeFolder(git, root);
    return merged;
  }

  private async problemOf(
    { prepare, commit: work }: MergeRequest,
    { check, target: project, commit: both }: Candidate,
    { signal }: DeliveryGuard,
  ): Promise<string | undefined> {
    const { git, branchName, prefix } = this.repository;
    const folder = resolve(this.root, prefix);
    const commits = { work, project, both };
    const show = async (side: keyof typeof commits) => {
      await git.in(this.root).ask(['checkout', '-q', '-f', '--detach', commits[side]]);
    };
    const missing = await prepare(folder, signal).then(
      () => check({ folder, show }),
      (error: unknown) => {
        if (error instanceof VolleyError && error.code === 'WORKTREE_FAILED') return [error.message];
        throw error;
      },
    );
    if (missing.length === 0) return undefined;
    return `it passes its checks alone, but not merged with the current ${branchName}: ${missing.join('; ')}`;
  }

  /** Undefined if the project changed meanwhile. */
  private async moveTo(
    request: MergeRequest,
    { target, commit }: Candidate,
    guard: DeliveryGuard,
  ): Promise<DeliveryOutcome | undefined> {
    const { repository } = this;
    const obstacle = await this.obstacle();
    if (obstacle !== undefined) return failure(obstacle);
    if ((await repository.head()) !== target) return undefined;
    await guard.confirm();
    return repository.isApart ? this.squash(request, target, commit) : fastForward(repository, commit);
  }
}

const MAX_LISTED = 10;
const PLAINLY = ['-q', '--no-squash', '--no-verify'];

/** Why nothing can be merged into the project now. */
async function obstacleToMerging({ git, branch, branchName }: Repository): Promise<string | undefined> {
  const current = await branchOf(git);
  if (current !== branch) {
    const now = current === undefined ? 'no branch' : shortName(current);
    return `the project is now on ${now} instead of ${branchName}`;
  }
  if ((await mergedHead(git)) !== undefined)
    return 'another merge is in progress in the project (commit it, or abort it with git merge --abort)';
  return undefined;
}

/** Merges a commit into the project's branch. On failure the project stays as it is. */
async function mergeWork(repository: Repository, commit: string, message: string): Promise<DeliveryOutcome> {
  // After a crash, distinguishes this merge from one the user began, which must not be aborted.
  await writeFile(repository.mergeMark, commit);
  const delivery = await mergeInto(repository.git, repository, commit, message);
  await rm(repository.mergeMark, { force: true });
  return delivery;
}

/** Merges a commit into the checked-out branch of a working tree. */
async function mergeInto(
  tree: Git,
  { branchName, prefix }: Repository,
  commit: string,
  message: string,
): Promise<DeliveryOutcome> {
  const how = [...PLAINLY, '--no-ff', '--commit', '--no-edit'];
  const merged = await tree.run(['merge', ...how, '-m', message, commit]);
  if (merged.exitCode === 0) return { ok: true };
  const isOpen = (await mergedHead(tree)) === commit;
  const conflicts = isOpen ? await tree.paths(['diff', '--name-only', '--diff-filter=U', '-z']) : [];
  if (isOpen) await tree.ask(['merge', '--abort']);
  if (conflicts.length === 0)
    return failure(`git could not merge it into ${branchName}: ${gitFailureText(merged)}`);
  const paths = [...new Set(conflicts.map((path) => toProjectPath(prefix, path)))].sort();
  const shown = listText(paths.slice(0, MAX_LISTED), paths.length);
  return { ...failure(`it conflicts with ${branchName} in ${shown}`, paths), repairable: commit };
}

/** Fast-forwards the project's branch. */
async function fastForward({ git, branchName }: Repository, commit: string): Promise<DeliveryOutcome> {
  const moved = await git.run(['merge', ...PLAINLY, '--ff-only', commit]);
  if (moved.exitCode === 0) return { ok: true };
  return failure(`git could not merge it into ${branchName}: ${gitFailureText(moved)}`);
}

export function failure(
  text: string,
  conflicts: readonly string[] = [],
): Extract<DeliveryOutcome, { ok: false }> {
  return { ok: false, text, conflicts };
}
