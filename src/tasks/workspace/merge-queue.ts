import { rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { VolleyError } from '../../core/errors.ts';
import { listText, reasonText } from '../../core/words.ts';
import { type Git, gitFailureText } from './git.ts';
import { branchOf, commitOf, mergedHead, type Repository, shortName, toProjectPath } from './repository.ts';
import type { Delivery, DeliveryGuard } from './workspace.ts';
import { isMerged, removeWorktreeFolder } from './worktree-folders.ts';

/** Each time the project had got something else when the checks had ended. */
const MAX_CHECKS = 5;

/** Work that is to be brought into the project. */
export interface MergeRequest {
  readonly commit: string;
  readonly message: string;
  /** Makes a new folder ready for checks. */
  prepare(folder: string, signal: AbortSignal): Promise<void>;
}

/** Work together with what the project has, in a worktree that nobody else knows. */
interface Whole {
  /** What the project had. */
  readonly target: string;
  readonly commit: string;
  readonly check: NonNullable<ReturnType<DeliveryGuard['recheck']>>;
}

/**
 * Where verified work enters the project. What the project got since the work was begun may not fit it, though each is
 * right by itself: then the two are merged apart from the project and looked at, and the project gets what was looked at.
 */
export class MergeQueue {
  private turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly repository: Repository,
    /** Where the worktree for that is made. */
    private readonly root: string,
  ) {}

  /** Removes what a crash has left. */
  reset(): Promise<void> {
    return this.repository.exclusive(() => removeWorktreeFolder(this.repository.git, this.root));
  }

  /** One after another: whatever came in between would have to be looked at again. */
  take(offer: MergeRequest, guard: DeliveryGuard | undefined): Promise<Delivery> {
    const result = this.turn.then(() => this.bringIn(offer, guard));
    this.turn = result.catch(() => {});
    return result;
  }

  private async bringIn(offer: MergeRequest, guard: DeliveryGuard | undefined): Promise<Delivery> {
    for (let checks = 1; checks <= MAX_CHECKS; checks++) {
      const whole = await this.repository.exclusive(() => this.mergeOrMakeWhole(offer, guard));
      if ('ok' in whole) return whole;
      try {
        const problem = await this.problemOf(offer, whole, guard!);
        if (problem !== undefined) return failure(problem);
        const delivery = await this.repository.exclusive(() => this.moveTo(whole, guard!));
        if (delivery !== undefined) return delivery;
      } finally {
        // What cannot be removed is no reason to refuse what fits.
        await this.reset().catch(() => undefined);
      }
    }
    const { branchName } = this.repository;
    return failure(`${branchName} was changed each of the ${MAX_CHECKS} times that it was checked with it`);
  }

  private async mergeOrMakeWhole(
    { commit, message }: MergeRequest,
    guard: DeliveryGuard | undefined,
  ): Promise<Delivery | Whole> {
    const { repository } = this;
    await guard?.confirm();
    if (await isMerged(repository, commit)) return { ok: true };
    const obstacle = await obstacleToMerging(repository);
    if (obstacle !== undefined) return failure(obstacle);
    const target = await repository.head();
    // Then it was looked at with all that the project has.
    const isKnown = await repository.git.succeeds(['merge-base', '--is-ancestor', target, commit]);
    const check = isKnown ? undefined : guard?.recheck();
    if (check === undefined) return mergeWork(repository, commit, message);
    guard?.signal.throwIfAborted();
    try {
      const merged = await this.merge(target, commit, message);
      return merged.ok ? { target, commit: merged.commit, check } : merged;
    } catch (error) {
      return failure(`it could not be checked together with ${repository.branchName}: ${reasonText(error)}`);
    }
  }

  /** In the worktree that is for it. */
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
    { check, target: project, commit: both }: Whole,
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
    return `it is right by itself, but not together with what ${branchName} has by now: ${missing.join('; ')}`;
  }

  /** Undefined where the project has got something else meanwhile. */
  private async moveTo({ target, commit }: Whole, guard: DeliveryGuard): Promise<Delivery | undefined> {
    const { repository } = this;
    const obstacle = await obstacleToMerging(repository);
    if (obstacle !== undefined) return failure(obstacle);
    if ((await repository.head()) !== target) return undefined;
    await guard.confirm();
    return forwardTo(repository, commit);
  }
}

const MAX_LISTED = 10;
const PLAINLY = ['-q', '--no-squash', '--no-verify'];

/** Why nothing can be merged into the project as it stands. */
export async function obstacleToMerging({
  git,
  branch,
  branchName,
}: Repository): Promise<string | undefined> {
  const current = await branchOf(git);
  if (current !== branch) {
    const now = current === undefined ? 'no branch' : shortName(current);
    return `the project is on ${now} now, not on ${branchName} as at the start`;
  }
  if ((await mergedHead(git)) !== undefined)
    return 'another merge is under way in the project: commit it, or give it up (git merge --abort)';
  return undefined;
}

/** Merges a commit into the branch of the project. Where that cannot be done, the project stays as it is. */
export async function mergeWork(repository: Repository, commit: string, message: string): Promise<Delivery> {
  // After a crash it tells this merge from one that the user has begun, which is not ours to give up.
  await writeFile(repository.mergeMark, commit);
  const delivery = await mergeInto(repository.git, repository, commit, message);
  await rm(repository.mergeMark, { force: true });
  return delivery;
}

/** Merges a commit into what a working tree of the repository has checked out. */
export async function mergeInto(
  tree: Git,
  { branchName, prefix }: Repository,
  commit: string,
  message: string,
): Promise<Delivery> {
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
  return failure(`it is in conflict with what ${branchName} has by now in ${shown}`, paths);
}

/** Moves the branch of the project on to a commit that follows it. */
export async function forwardTo({ git, branchName }: Repository, commit: string): Promise<Delivery> {
  const moved = await git.run(['merge', ...PLAINLY, '--ff-only', commit]);
  if (moved.exitCode === 0) return { ok: true };
  return failure(`git could not merge it into ${branchName}: ${gitFailureText(moved)}`);
}

export function failure(text: string, conflicts: readonly string[] = []): Delivery {
  return { ok: false, text, conflicts };
}
