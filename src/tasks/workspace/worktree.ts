import { existsSync, lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { listText } from '../../core/words.ts';
import type { Subtask } from '../files/feature.ts';
import { patternMatcher } from '../plan/deliverables.ts';
import { ChangeTracker, type TreeState } from './change-tracker.ts';
import type { DeniedPaths } from './denied-paths.ts';
import { type Git, splitNul } from './git.ts';
import { failure, type MergeQueue } from './merge-queue.ts';
import {
  BRANCHES,
  commitOf,
  isVolleyPath,
  type Repository,
  toProjectPath,
  VOLLEY_PATHS,
} from './repository.ts';
import { isInNodeModules } from './snapshot.ts';
import type { Delivery, DeliveryGuard, Workspace } from './workspace.ts';
import { isMerged, removeWorktree, type WorktreePlace } from './worktree-folders.ts';

const MESSAGE_LENGTH = 10_000;

/** What decides whether work may be brought into the project. */
interface DeliveryTerms {
  readonly subtask: Subtask;
  readonly denied: Pick<DeniedPaths, 'among'>;
  readonly intake: MergeQueue;
  /** Makes a new folder ready for the checks of the subtask. */
  prepare(folder: string, signal: AbortSignal): Promise<void>;
}

/** A worktree in which an attempt at a subtask works. */
export class Worktree implements Workspace {
  private readonly git: Git;
  /** What of it is not in the project: everything since. */
  private delivered: TreeState;
  private closed: Promise<string | undefined> | undefined;

  private constructor(
    private readonly repository: Repository,
    private readonly place: WorktreePlace,
    readonly folder: string,
    private readonly terms: DeliveryTerms,
    private readonly lookout: ChangeTracker,
    private readonly start: TreeState,
  ) {
    this.git = repository.git.at(place.root, place.gitFolder);
    this.delivered = start;
  }

  static async start(
    repository: Repository,
    place: WorktreePlace,
    folder: string,
    terms: DeliveryTerms,
  ): Promise<Worktree> {
    const { prefix, branch } = repository;
    const lookout = new ChangeTracker(
      place.root,
      (path) => isVolleyPath(toProjectPath(prefix, path)),
      // Others of ours come and go, and what they delivered moves the project's.
      (ref) => ref === branch || ref.startsWith(BRANCHES),
    );
    return new Worktree(repository, place, folder, terms, lookout, await lookout.inspect());
  }

  get branch(): string {
    return this.place.branch;
  }

  async changes(): Promise<readonly string[]> {
    const link = this.mendLink() ? [] : ['.git'];
    const changed = await this.lookout.changes(this.start, await this.lookout.inspect());
    const committed = await this.committed();
    return [...new Set([...link, ...changed, ...committed].map((path) => this.fromProject(path)))].sort();
  }

  async deliver(text: string, guard?: DeliveryGuard): Promise<Delivery> {
    const message = text.replace(/[^\P{Cc}\n]/gu, ' ').slice(0, MESSAGE_LENGTH);
    const now = await this.lookout.inspect();
    const problem = await this.repository.exclusive(async () => {
      const work = await this.workSince(this.start, now, await this.staged(now));
      return (await this.problemOf(work)) ?? (await this.commit(work, message));
    });
    if (problem !== undefined) return this.kept(failure(problem), 'commit what it lacks there, then ');
    const { intake, prepare } = this.terms;
    const commit = await commitOf(this.git, 'HEAD');
    const delivery = await intake.take({ commit, message, prepare }, guard);
    if (delivery.ok) this.delivered = now;
    return this.kept(delivery);
  }

  close(): Promise<string | undefined> {
    this.closed ??= this.repository.exclusive(async () => {
      const { root, branch } = this.place;
      if (await this.holdsWork()) return root;
      await removeWorktree(this.repository.git, root, branch);
      return undefined;
    });
    return this.closed;
  }

  /** Whether the file that leads to the repository is as it was. Another would have git read other settings. */
  private mendLink(): boolean {
    const path = join(this.place.root, '.git');
    const text = `gitdir: ${this.place.gitFolder}\n`;
    const isFile = lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
    if (isFile && readFileSync(path, 'utf8') === text) return true;
    rmSync(path, { recursive: true, force: true });
    writeFileSync(path, text);
    return false;
  }

  /** What the agent committed by itself; even if it took it back later, it would be merged. */
  private async committed(): Promise<string[]> {
    const range = [`${this.place.base}..HEAD`, '--not', this.repository.branch];
    const paths = await this.git.paths(['log', '--format=', '--name-only', '--no-renames', '-z', ...range]);
    return paths.filter((path) => !isVolleyPath(this.fromProject(path)));
  }

  /**
   * What the agent has committed or staged. If it changed that back afterwards, it is as it was at the start, and yet
   * would be merged otherwise than it was verified. What git was told to have no file of stays as it is.
   */
  private async staged({ snapshot }: TreeState): Promise<string[]> {
    const how = ['-z', '--name-only', '--no-renames', '--ignore-submodules=all'];
    const paths = await this.git.paths(['diff-index', '--cached', ...how, this.place.base]);
    const unlike = new Set(await this.git.paths(['diff-files', ...how]));
    const isKnown = (path: string) =>
      snapshot.files.has(path) || (unlike.has(path) && !isInNodeModules(path));
    return paths.filter((path) => isKnown(path) && !isVolleyPath(this.fromProject(path)));
  }

  private async workSince(before: TreeState, now: TreeState, besides: readonly string[] = []): Promise<Work> {
    const changed = await this.lookout.changes(before, now);
    const paths = [...new Set([...changed.filter((path) => !path.startsWith('.git/')), ...besides])];
    const isPresent = (path: string) => now.snapshot.files.has(path);
    return { present: paths.filter(isPresent), gone: paths.filter((path) => !isPresent(path)) };
  }

  /** Why this cannot be carried to the project. */
  private async problemOf({ present, gone }: Work): Promise<string | undefined> {
    const submodules = await submodulesOf(this.git);
    const isSubmodule = (path: string) => submodules.some((one) => path.startsWith(`${one}/`));
    const foreign = [...present, ...gone].filter(isSubmodule);
    if (foreign.length > 0) return `${listText(foreign.slice(0, 3), foreign.length)} is of a submodule`;
    const { subtask } = this.terms;
    const isDeliverable = patternMatcher(subtask.deliverables);
    const ignored = new Set(await ignoredAmong(this.git, present));
    const lost = [...ignored].map((path) => this.fromProject(path)).filter(isDeliverable);
    if (lost.length > 0) return `git ignores ${listText(lost.slice(0, 3), lost.length)}`;
    // What its agent touched was looked at before the checks, and these run what it wrote.
    const merged = [...present, ...gone].filter((path) => !ignored.has(path));
    const denied = this.terms.denied.among(merged.map((path) => this.fromProject(path)));
    if (denied.length > 0)
      return `${listText(denied.slice(0, 3), denied.length)} was touched while the work was checked, which may not be`;
    return undefined;
  }

  private async commit(work: Work, message: string): Promise<string | undefined> {
    const { base, branch, gitFolder } = this.place;
    try {
      // The agent is gone, and whatever git of it was cut short.
      for (const lock of ['index.lock', 'HEAD.lock']) await rm(join(gitFolder, lock), { force: true });
      const ref = `refs/heads/${branch}`;
      const hasBranch = await this.git.succeeds(['rev-parse', '--verify', '-q', ref]);
      if (hasBranch && !(await this.git.succeeds(['merge-base', '--is-ancestor', ref, 'HEAD'])))
        return `the branch has commits that were left behind, perhaps by a rebase that was never finished`;
      await commitWork(this.git, work, { prefix: this.repository.prefix, base }, message);
      // The agent may have left the branch.
      await this.git.ask(['update-ref', ref, 'HEAD']);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  private kept(delivery: Delivery, before = ''): Delivery {
    if (delivery.ok) return delivery;
    const { root, branch } = this.place;
    const text = `The work was not merged: ${delivery.text}. It is kept in ${root}, on the branch ${branch}: ${before}merge that by hand (git merge ${branch}), then complete the subtask.`;
    return { ...delivery, text };
  }

  private async holdsWork(): Promise<boolean> {
    // What was in it is gone already; what was committed is not.
    if (!existsSync(this.place.root)) return !(await this.isMerged());
    const { present, gone } = await this.workSince(this.delivered, await this.lookout.inspect());
    const ignored = new Set(await ignoredAmong(this.git, present));
    if (gone.length > 0 || present.some((path) => !ignored.has(path))) return true;
    const isHeadMerged = this.git.succeeds(['merge-base', '--is-ancestor', 'HEAD', this.repository.branch]);
    return !((await isHeadMerged) && (await this.isMerged()));
  }

  private isMerged(): Promise<boolean> {
    return isMerged(this.repository, `refs/heads/${this.branch}`);
  }

  private fromProject(path: string): string {
    return toProjectPath(this.repository.prefix, path);
  }
}

/** What an attempt changed in its worktree, by paths from the root of it. */
export interface Work {
  readonly present: readonly string[];
  readonly gone: readonly string[];
}

/** Commits what an attempt changed, and nothing of what the set-up made. What git ignores is left out. */
export async function commitWork(
  git: Git,
  { present, gone }: Work,
  place: { readonly prefix: string; readonly base: string },
  message: string,
): Promise<void> {
  const ignored = new Set(await ignoredAmong(git, present));
  const kept = present.filter((path) => !ignored.has(path));
  if (gone.length > 0) await git.ask(['update-index', '--force-remove', '-z', '--stdin'], listOf(gone));
  if (kept.length > 0) await git.ask(['update-index', '--add', '--replace', '-z', '--stdin'], listOf(kept));
  // An agent that commits by itself may have taken these along.
  const own = VOLLEY_PATHS.map((path) => `:(top,literal)${place.prefix}${path}`);
  await git.ask(['reset', '-q', place.base, '--', ...own]);
  if (await git.succeeds(['diff', '--cached', '--quiet', '--no-ext-diff'])) return;
  await git.ask(['commit', '-q', '--no-verify', '--cleanup=whitespace', '-F', '-'], message);
}

/** Those that git ignores; never those that it has already. */
export async function ignoredAmong(git: Git, paths: readonly string[]): Promise<string[]> {
  if (paths.length === 0) return [];
  const { stdout } = await git.run(['check-ignore', '-z', '--stdin'], listOf(paths));
  return splitNul(stdout);
}

/** Folders that are other repositories to this one. */
export async function submodulesOf(git: Git): Promise<string[]> {
  const entries = await git.paths(['ls-files', '-z', '--stage']);
  return entries
    .filter((entry) => entry.startsWith('160000 '))
    .map((entry) => entry.slice(entry.indexOf('\t') + 1));
}

function listOf(paths: readonly string[]): string {
  return paths.map((path) => `${path}\0`).join('');
}
