import { resolve } from 'node:path';
import { VolleyError } from '../../core/errors.ts';
import { reasonText } from '../../core/words.ts';
import { failure, forwardTo, mergeInto, mergeWork, obstacleToMerging } from './merge.ts';
import { isMerged, removeTree } from './place.ts';
import { commitOf, type Repository } from './repository.ts';
import type { Delivery, DeliveryGuard } from './workspace.ts';

/** Each time the project had got something else when the checks had ended. */
const MAX_CHECKS = 5;

/** Work that is to be brought into the project. */
export interface Offer {
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
export class Intake {
  private turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly repository: Repository,
    /** Where the worktree for that is made. */
    private readonly root: string,
  ) {}

  /** Removes what a crash has left. */
  reset(): Promise<void> {
    return this.repository.alone(() => removeTree(this.repository.git, this.root));
  }

  /** One after another: whatever came in between would have to be looked at again. */
  take(offer: Offer, guard: DeliveryGuard | undefined): Promise<Delivery> {
    const result = this.turn.then(() => this.bringIn(offer, guard));
    this.turn = result.catch(() => {});
    return result;
  }

  private async bringIn(offer: Offer, guard: DeliveryGuard | undefined): Promise<Delivery> {
    for (let checks = 1; checks <= MAX_CHECKS; checks++) {
      const whole = await this.repository.alone(() => this.mergeOrMakeWhole(offer, guard));
      if ('ok' in whole) return whole;
      try {
        const problem = await this.problemOf(offer, whole, guard!);
        if (problem !== undefined) return failure(problem);
        const delivery = await this.repository.alone(() => this.moveTo(whole, guard!));
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
    { commit, message }: Offer,
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
    await removeTree(git, root);
    await git.ask(['worktree', 'add', '-q', '-f', '--detach', root, target]);
    const tree = git.in(root);
    const merged = await mergeInto(tree, repository, commit, message);
    if (merged.ok) return { ...merged, commit: await commitOf(tree, 'HEAD') };
    await removeTree(git, root);
    return merged;
  }

  private async problemOf(
    { prepare, commit: work }: Offer,
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
