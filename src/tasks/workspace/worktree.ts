import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DeniedPaths } from '../../agents/denied-paths.ts';
import { VolleyError } from '../../core/errors.ts';
import { listText } from '../../core/words.ts';
import { admitBundle, writeBundle } from '../../git/bundle.ts';
import { lstatIfAny } from '../../git/folder-entries.ts';
import { type Git, splitNul, submodulePaths } from '../../git/git.ts';
import {
  commitOf,
  isVolleyPath,
  type Repository,
  toProjectPath,
  VOLLEY_PATHS,
} from '../../git/repository.ts';
import { removeWorktree, restoreLink, type WorktreePlace } from '../../git/worktree-place.ts';
import { patternMatcher } from '../../tools/pattern/path-patterns.ts';
import type { Subtask } from '../files/feature.ts';
import { ChangeTracker, type TreeState } from './change-tracker.ts';
import { failure, type MergeQueue } from './merge-queue.ts';
import type {
  Conflict,
  DeliveryGuard,
  DeliveryOutcome,
  SavedWork,
  SentWork,
  UndeliveredWork,
  Workspace,
} from './workspace.ts';
import { isMerged } from './worktree-folders.ts';

const MESSAGE_LENGTH = 10_000;
/** Of a conflict, for the prompt. */
const MAX_DIFF_LENGTH = 6000;
const MAX_DIFFED = 20;

/** What decides whether work may be merged. */
interface DeliveryTerms {
  readonly subtask: Subtask;
  readonly denied: Pick<DeniedPaths, 'among'>;
  readonly queue: MergeQueue;
  /** Prepares a new folder for the subtask's checks. */
  prepare(folder: string, signal: AbortSignal): Promise<void>;
}

/** The worktree of one attempt. */
export class Worktree implements Workspace {
  private readonly git: Git;
  /** Changes since this state are not in the project. */
  private delivered: TreeState;
  /** Everything up to this state is committed. */
  private saved: TreeState;
  private closed: Promise<string | undefined> | undefined;
  conflict: Conflict | undefined;

  private constructor(
    private readonly repository: Repository,
    private readonly place: WorktreePlace,
    readonly folder: string,
    private readonly terms: DeliveryTerms,
    private readonly tracker: ChangeTracker,
    private readonly start: TreeState,
  ) {
    this.git = repository.git.at(place.root, place.gitFolder);
    this.delivered = start;
    this.saved = start;
  }

  static async start(
    repository: Repository,
    place: WorktreePlace,
    folder: string,
    terms: DeliveryTerms,
  ): Promise<Worktree> {
    const { prefix } = repository;
    const tracker = new ChangeTracker(
      place.root,
      (path) => isVolleyPath(toProjectPath(prefix, path)),
      // Worktrees share all refs, so a change cannot be attributed to one of them.
      false,
    );
    return new Worktree(repository, place, folder, terms, tracker, await tracker.inspect());
  }

  get branch(): string {
    return this.place.branch;
  }

  async changes(): Promise<readonly string[]> {
    const link = restoreLink(this.place) ? [] : ['.git'];
    const changed = await this.tracker.changes(this.start, await this.tracker.inspect());
    const inGit = [...(await this.committed()), ...(await this.staged())];
    return [...new Set([...link, ...changed, ...inGit].map((path) => this.fromProject(path)))].sort();
  }

  async send(file: string, known: readonly string[]): Promise<SentWork> {
    const { git } = this;
    const now = await this.tracker.inspect();
    const commit = await this.repository.exclusive(async () => {
      await stageWork(git, await this.workSince(this.start, now, await this.staged()));
      const tree = (await git.ask(['write-tree'])).trim();
      const head = await commitOf(git, 'HEAD');
      if ((await git.resolve('HEAD^{tree}')) === tree) return head;
      return (await git.ask(['commit-tree', tree, '-p', head, '-m', 'Work of earlier attempts'])).trim();
    });
    return { commit, isBundled: await writeBundle(git, file, commit, known) };
  }

  async receive(file: string, commit: string, { commit: base }: SentWork): Promise<void> {
    const { git, repository } = this;
    const place = `${file}.objects`;
    const changes = await admitBundle(git, file, { commit, base, place });
    const foreign = changes.filter(({ path }) => isVolleyPath(this.fromProject(path)));
    if (foreign.length > 0)
      throw new VolleyError(
        'AGENT_WORK_REFUSED',
        `The worker changed Volley's own files: ${foreign[0]!.path}.`,
      );
    // The index has the files of the base. What only the setup command has changed stays.
    await repository.exclusive(() => git.ask(['read-tree', '--reset', '-u', base, commit]));
  }

  async save(message: string): Promise<SavedWork | UndeliveredWork> {
    const now = await this.tracker.inspect();
    const problem = await this.repository.exclusive(async () => {
      const work = await this.workSince(this.start, now, await this.staged());
      return (await this.problemOf(work)) ?? (await this.commit(work, plainMessage(message)));
    });
    if (problem !== undefined) return this.kept(failure(problem), 'commit the missing changes there, then ');
    this.saved = now;
    return { ok: true, commit: await commitOf(this.git, 'HEAD'), base: this.place.base };
  }

  async deliver(message: string, guard?: DeliveryGuard, reviewed?: string): Promise<DeliveryOutcome> {
    const saved = reviewed === undefined ? await this.save(message) : { ok: true as const, commit: reviewed };
    if (!saved.ok) return saved;
    const { queue, prepare } = this.terms;
    const { branch } = this;
    const request = { commit: saved.commit, branch, message: plainMessage(message), prepare };
    const delivery = await queue.take(request, guard);
    if (delivery.ok) this.delivered = this.saved;
    return delivery.ok ? delivery : this.kept(delivery);
  }

  /** Merges earlier work into the files, with conflict markers where git cannot. Nothing is committed or staged. */
  mergeIn(work: string): Promise<void> {
    return this.repository.exclusive(async () => {
      const { git } = this;
      const base = (await git.ask(['merge-base', this.place.base, work])).trim();
      await git.run(['merge', '-q', '--no-commit', '--no-ff', '--no-verify', '--no-squash', work]);
      const paths = await git.paths(['diff', '--name-only', '--diff-filter=U', '-z']);
      await git.run(['merge', '--quit']);
      await git.ask(['reset', '-q']);
      const diff = async (to: string) => {
        if (paths.length === 0) return '';
        const text = await git.ask([
          'diff',
          '--no-color',
          '--no-ext-diff',
          base,
          to,
          '--',
          ...paths.slice(0, MAX_DIFFED),
        ]);
        return text.length > MAX_DIFF_LENGTH ? `${text.slice(0, MAX_DIFF_LENGTH)}\n…` : text;
      };
      this.conflict = {
        paths: paths.map((path) => this.fromProject(path)).sort(),
        ofProject: await diff(this.place.base),
        ofWork: await diff(work),
      };
    });
  }

  discard(): Promise<void> {
    const { root, branch } = this.place;
    return this.repository.exclusive(() => removeWorktree(this.repository.git, root, branch));
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

  /** What the agent committed itself. It would be merged even if the agent reverted it later. */
  private async committed(): Promise<string[]> {
    const range = [`${this.place.base}..HEAD`, '--not', this.repository.branch];
    const paths = await this.git.paths(['log', '--format=', '--name-only', '--no-renames', '-z', ...range]);
    return paths.filter((path) => !isVolleyPath(this.fromProject(path)));
  }

  /**
   * What the agent committed or staged. If it then restored the file, the file looks unchanged, but the merge would
   * differ from what was verified.
   */
  private async staged(): Promise<string[]> {
    const how = ['-z', '--name-only', '--no-renames', '--ignore-submodules=all'];
    const paths = await this.git.paths(['diff-index', '--cached', ...how, this.place.base]);
    return paths.filter((path) => !isVolleyPath(this.fromProject(path)));
  }

  private async workSince(before: TreeState, now: TreeState, besides: readonly string[] = []): Promise<Work> {
    const changed = await this.tracker.changes(before, now);
    const paths = [...new Set([...changed.filter((path) => !path.startsWith('.git/')), ...besides])];
    // Not all folders are in a snapshot: caches in `node_modules` are not.
    const isThere = (path: string) => lstatIfAny(join(this.place.root, path))?.isDirectory() === false;
    const staged = new Set(besides);
    const isPresent = (path: string) => now.snapshot.files.has(path) || (staged.has(path) && isThere(path));
    return { present: paths.filter(isPresent), gone: paths.filter((path) => !isPresent(path)) };
  }

  /** Why this cannot be merged into the project. */
  private async problemOf({ present, gone }: Work): Promise<string | undefined> {
    const submodules = submodulePaths(await this.git.ask(['ls-files', '-z', '--stage']));
    const isSubmodule = (path: string) => submodules.some((one) => path.startsWith(`${one}/`));
    const foreign = [...present, ...gone].filter(isSubmodule);
    if (foreign.length > 0) return `${listText(foreign.slice(0, 3), foreign.length)} is in a submodule`;
    const { subtask } = this.terms;
    const isDeliverable = patternMatcher(subtask.deliverables);
    const ignored = new Set(await ignoredAmong(this.git, present));
    const lost = [...ignored].map((path) => this.fromProject(path)).filter(isDeliverable);
    if (lost.length > 0) return `git ignores ${listText(lost.slice(0, 3), lost.length)}`;
    // Checked again, since the checks have run the agent's code meanwhile.
    const merged = [...present, ...gone].filter((path) => !ignored.has(path));
    const denied = this.terms.denied.among(merged.map((path) => this.fromProject(path)));
    if (denied.length > 0)
      return `${listText(denied.slice(0, 3), denied.length)} was changed by the checks, which is not allowed`;
    return undefined;
  }

  private async commit(work: Work, message: string): Promise<string | undefined> {
    const { base, branch, gitFolder } = this.place;
    try {
      // Locks of git processes that ended with the agent.
      for (const lock of ['index.lock', 'HEAD.lock']) await rm(join(gitFolder, lock), { force: true });
      const ref = `refs/heads/${branch}`;
      const hasBranch = await this.git.succeeds(['rev-parse', '--verify', '-q', ref]);
      if (hasBranch && !(await this.git.isAncestor(ref, 'HEAD')))
        return `the branch has commits that are not in HEAD, perhaps from an unfinished rebase`;
      await commitWork(this.git, work, { prefix: this.repository.prefix, base }, message);
      // The agent may have switched branches.
      await this.git.ask(['update-ref', ref, 'HEAD']);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  private kept(delivery: UndeliveredWork, before = ''): UndeliveredWork {
    const { root, branch } = this.place;
    const text = `The work was not merged: ${delivery.text}. It is kept in ${root} on branch ${branch}. To use it, ${before}merge the branch (git merge ${branch}) and complete the subtask.`;
    return { ...delivery, text };
  }

  private async holdsWork(): Promise<boolean> {
    // Uncommitted work is gone already; commits are not.
    if (!existsSync(this.place.root)) return !(await this.isMerged());
    const { present, gone } = await this.workSince(this.delivered, await this.tracker.inspect());
    const ignored = new Set(await ignoredAmong(this.git, present));
    if (gone.length > 0 || present.some((path) => !ignored.has(path))) return true;
    const isHeadMerged = await this.git.isAncestor('HEAD', this.repository.branch);
    return !(isHeadMerged && (await this.isMerged()));
  }

  private isMerged(): Promise<boolean> {
    return isMerged(this.repository, `refs/heads/${this.branch}`);
  }

  private fromProject(path: string): string {
    return toProjectPath(this.repository.prefix, path);
  }
}

export function plainMessage(text: string): string {
  return text.replace(/[^\P{Cc}\n]/gu, ' ').slice(0, MESSAGE_LENGTH);
}

/** The changes of an attempt, relative to the worktree's root. */
interface Work {
  readonly present: readonly string[];
  readonly gone: readonly string[];
}

/** Commits the changes of an attempt, without ignored files or what the setup command made. */
async function commitWork(
  git: Git,
  { present, gone }: Work,
  place: { readonly prefix: string; readonly base: string },
  message: string,
): Promise<void> {
  await stageWork(git, { present, gone });
  // An agent that commits itself may have included these.
  const own = VOLLEY_PATHS.map((path) => `:(top,literal)${place.prefix}${path}`);
  await git.ask(['reset', '-q', place.base, '--', ...own]);
  if (await git.succeeds(['diff', '--cached', '--quiet', '--no-ext-diff'])) return;
  await git.ask(['commit', '-q', '--no-verify', '--cleanup=whitespace', '-F', '-'], message);
}

async function stageWork(git: Git, { present, gone }: Work): Promise<void> {
  const ignored = new Set(await ignoredAmong(git, present));
  const kept = present.filter((path) => !ignored.has(path));
  if (gone.length > 0) await git.ask(['update-index', '--force-remove', '-z', '--stdin'], nulList(gone));
  if (kept.length > 0) await git.ask(['update-index', '--add', '--replace', '-z', '--stdin'], nulList(kept));
}

/** Ignored paths; tracked files never are. */
export async function ignoredAmong(git: Git, paths: readonly string[]): Promise<string[]> {
  if (paths.length === 0) return [];
  const { stdout } = await git.run(['check-ignore', '-z', '--stdin'], nulList(paths));
  return splitNul(stdout);
}

function nulList(paths: readonly string[]): string {
  return paths.map((path) => `${path}\0`).join('');
}
