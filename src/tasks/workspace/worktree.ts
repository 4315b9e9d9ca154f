import { existsSync } from 'node:fs';
import { listText } from '../../core/words.ts';
import type { Subtask } from '../feature.ts';
import { pathMatcher } from '../permissions/path-matcher.ts';
import { commitWork, ignoredAmong, submodulesOf, type Work } from './commit.ts';
import type { Git } from './git.ts';
import { Lookout, type Sight } from './look.ts';
import { failure, mergeWork } from './merge.ts';
import { isOwnPath } from './own-paths.ts';
import { isMerged, type Place, removePlace } from './place.ts';
import { fromProject } from './project-path.ts';
import { BRANCHES, commitOf, type Repository } from './repository.ts';
import type { Delivery, Workspace } from './workspace.ts';

const MESSAGE_LENGTH = 10_000;

/** A worktree in which an attempt at a subtask works. */
export class Worktree implements Workspace {
  private readonly git: Git;
  /** What of it is not in the project: everything since. */
  private delivered: Sight;
  private closed: Promise<string | undefined> | undefined;

  private constructor(
    private readonly repository: Repository,
    private readonly place: Place,
    readonly folder: string,
    private readonly subtask: Subtask,
    private readonly lookout: Lookout,
    private readonly start: Sight,
  ) {
    this.git = repository.git.in(place.root);
    this.delivered = start;
  }

  static async start(
    repository: Repository,
    place: Place,
    folder: string,
    subtask: Subtask,
  ): Promise<Worktree> {
    const { prefix, branch } = repository;
    const lookout = new Lookout(
      place.root,
      (path) => isOwnPath(fromProject(prefix, path)),
      // Others of ours come and go, and what they delivered moves the project's.
      (ref) => ref === branch || ref.startsWith(BRANCHES),
    );
    return new Worktree(repository, place, folder, subtask, lookout, await lookout.look());
  }

  get branch(): string {
    return this.place.branch;
  }

  async changes(): Promise<readonly string[]> {
    const changed = await this.lookout.changes(this.start, await this.lookout.look());
    const committed = await this.committed();
    return [...new Set([...changed, ...committed].map((path) => this.fromProject(path)))].sort();
  }

  deliver(text: string): Promise<Delivery> {
    const message = text.replace(/[^\P{Cc}\n]/gu, ' ').slice(0, MESSAGE_LENGTH);
    return this.repository.alone(async () => {
      const now = await this.lookout.look();
      const work = await this.workSince(this.start, now);
      const problem = (await this.problemOf(work)) ?? (await this.commit(work, message));
      if (problem !== undefined) return this.kept(failure(problem));
      const delivery = await mergeWork(this.repository, await commitOf(this.git, 'HEAD'), message);
      if (delivery.ok) this.delivered = now;
      return this.kept(delivery);
    });
  }

  close(): Promise<string | undefined> {
    this.closed ??= this.repository.alone(async () => {
      const { root, branch } = this.place;
      if (await this.holdsWork()) return root;
      await removePlace(this.repository.git, root, branch);
      return undefined;
    });
    return this.closed;
  }

  /** What the agent committed by itself; even if it took it back later, it would be merged. */
  private async committed(): Promise<string[]> {
    const range = [`${this.place.base}..HEAD`, '--not', this.repository.branch];
    const paths = await this.git.paths(['log', '--format=', '--name-only', '--no-renames', '-z', ...range]);
    return paths.filter((path) => !isOwnPath(this.fromProject(path)));
  }

  private async workSince(before: Sight, now: Sight): Promise<Work> {
    const changed = await this.lookout.changes(before, now);
    const paths = changed.filter((path) => !path.startsWith('.git/'));
    const isPresent = (path: string) => now.snapshot.files.has(path);
    return { present: paths.filter(isPresent), gone: paths.filter((path) => !isPresent(path)) };
  }

  /** Why git cannot carry this to the project. */
  private async problemOf({ present, gone }: Work): Promise<string | undefined> {
    const submodules = await submodulesOf(this.git);
    const isSubmodule = (path: string) => submodules.some((one) => path.startsWith(`${one}/`));
    const foreign = [...present, ...gone].filter(isSubmodule);
    if (foreign.length > 0) return `${listText(foreign.slice(0, 3), foreign.length)} is of a submodule`;
    const isDeliverable = pathMatcher(this.subtask.deliverables);
    const ignored = (await ignoredAmong(this.git, present)).map((path) => this.fromProject(path));
    const lost = ignored.filter(isDeliverable);
    if (lost.length > 0) return `git ignores ${listText(lost.slice(0, 3), lost.length)}`;
    return undefined;
  }

  private async commit(work: Work, message: string): Promise<string | undefined> {
    const { base, branch } = this.place;
    try {
      await commitWork(this.git, work, { prefix: this.repository.prefix, base }, message);
      // The agent may have left the branch.
      await this.git.ask(['update-ref', `refs/heads/${branch}`, 'HEAD']);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  private kept(delivery: Delivery): Delivery {
    if (delivery.ok) return delivery;
    const { root, branch } = this.place;
    const text = `The work was not merged: ${delivery.text}. It is kept in ${root}, on the branch ${branch}: merge that by hand (git merge ${branch}), then complete the subtask.`;
    return { ...delivery, text };
  }

  private async holdsWork(): Promise<boolean> {
    // What was in it is gone already; what was committed is not.
    if (!existsSync(this.place.root)) return !(await this.isMerged());
    const { present, gone } = await this.workSince(this.delivered, await this.lookout.look());
    const ignored = new Set(await ignoredAmong(this.git, present));
    if (gone.length > 0 || present.some((path) => !ignored.has(path))) return true;
    const isHeadMerged = this.git.succeeds(['merge-base', '--is-ancestor', 'HEAD', this.repository.branch]);
    return !((await isHeadMerged) && (await this.isMerged()));
  }

  private isMerged(): Promise<boolean> {
    return isMerged(this.repository, `refs/heads/${this.branch}`);
  }

  private fromProject(path: string): string {
    return fromProject(this.repository.prefix, path);
  }
}
