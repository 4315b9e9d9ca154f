import { randomBytes } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { mkdir, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { writeAtomically } from '../config/atomic-write.ts';
import type { VolleyConfig } from '../config/config.ts';
import { gitFoldersOf } from '../config/git-folders.ts';
import { readRegularFile } from '../config/regular-file.ts';
import { VolleyError } from '../core/errors.ts';
import { printableLine } from '../core/printable-text.ts';
import { listText } from '../core/words.ts';
import { Coalesced } from '../engine/coalesced.ts';
import { ToolFailure } from '../engine/tool-failure.ts';
import { type Git, splitNul } from '../git/git.ts';
import { GitGuard, type GitTampering, tamperText } from '../git/git-guard.ts';
import { RefGuard } from '../git/ref-guard.ts';
import { commitOf, isVolleyPath, Repository, toProjectPath } from '../git/repository.ts';
import {
  addWorktree,
  makeIgnoredFolder,
  removeWorktree,
  removeWorktreeFolder,
  restoreLink,
  type WorktreePlace,
} from '../git/worktree-place.ts';
import { livesAsSeenBy, ownIdentity, type ProcessIdentity } from '../store/process-identity.ts';
import { DeniedPaths } from './denied-paths.ts';

/** What an agent changed in its worktree. The branch exists only if there is something on it. */
export interface AgentChanges {
  /** The commit that the worktree began with. */
  readonly base: string;
  readonly branch?: string;
  /** The only commit of the branch. */
  readonly commit?: string;
  readonly files: ChangedFile[];
  /** How many changed files are not listed. */
  readonly more?: number;
  /** What happened to the repository meanwhile, if more than one agent can have done it. */
  readonly warnings?: string[];
}

interface ChangedFile {
  /** Relative to the folder that was asked about. */
  readonly path: string;
  /** Lines; undefined for binary files. */
  readonly added?: number;
  readonly deleted?: number;
}

/** The note of a worktree: who made it, and its branch. */
interface Note {
  readonly owner: ProcessIdentity;
  readonly branch: string;
}

const FOLDER = join('.volley', 'asks');
const BRANCHES = 'volley/ask/';
const ID_BYTES = 4;
const NOTE = /^([0-9a-f]{8})\.json$/;
const MAX_NOTE_BYTES = 4096;
const MAX_FILES = 1000;
const MAX_NAMED = 5;
const MAX_LABEL_LENGTH = 40;
const MAX_SUBJECT_LENGTH = 72;
/** A clock may be behind the times of files. */
const CLOCK_STEP_MS = 100;

/**
 * Gives each call a git worktree of its own, at the current commit of the folder's working tree. What an agent changes
 * there becomes one commit on a branch; nothing reaches the user's working tree. A worktree is removed when its call
 * ends, or by the next call after the process was killed.
 */
export class AgentWorktrees {
  private readonly shared = new Map<string, Promise<SharedRepository>>();

  constructor(private readonly config: VolleyConfig) {}

  /**
   * Makes a worktree for an agent that works in `folder`, an absolute real path. Throws `WORKSPACE_UNAVAILABLE` if the
   * folder is in no repository, or if one of `files` is not in the worktree as it is in the folder. It begins with the
   * commit that `base` returns, if that is given. Before git runs, what other agents may not have changed is restored.
   */
  async open(
    folder: string,
    files: readonly string[],
    label: string,
    signal: AbortSignal,
    base?: () => Promise<string>,
  ): Promise<AgentWorktree> {
    const found = gitFoldersOf(folder);
    if (found === undefined) {
      const message = `${folder} is not in a git repository, so there can be no worktree. Make one (git init) and commit, or leave out the worktree.`;
      throw new VolleyError('WORKSPACE_UNAVAILABLE', message, { folder });
    }
    const root = await realpath(found.root);
    const { shared, user } = await this.enter(await realpath(found.common), root);
    try {
      await requireCommitted(shared.repository.git.in(root), root, folder, files);
      const denied = new DeniedPaths(this.config, folder, shared.deniedPaths);
      return await AgentWorktree.make(shared, user, {
        root,
        folder,
        denied,
        label,
        signal,
        base: await base?.(),
      });
    } catch (error) {
      shared.leave(user);
      throw error;
    }
  }

  /** Removes what killed processes have left in a repository. */
  async clean(root: string): Promise<void> {
    const repository = await Repository.find(root);
    await repository.exclusive(() => removeStale(repository.git, join(root, FOLDER)));
  }

  /** All calls in one repository share its locks and guards, which last as long as there are such calls. */
  private async enter(key: string, root: string): Promise<{ shared: SharedRepository; user: User }> {
    for (;;) {
      const known = this.shared.get(key);
      const opening = known ?? SharedRepository.open(root, () => this.shared.delete(key));
      if (known === undefined) {
        this.shared.set(key, opening);
        opening.catch(() => this.shared.delete(key));
      }
      const shared = await opening;
      // First, so that this call is no suspect.
      if (known !== undefined) await shared.check();
      if (!shared.isOver) return { shared, user: shared.enter() };
    }
  }
}

/** A call that works in a repository. */
interface User {
  readonly startedAt: number;
  /** What only this call can have changed. */
  readonly tampering: GitTampering[];
  readonly warnings: string[];
}

/** A repository while agents work in worktrees of it. */
class SharedRepository {
  isOver = false;
  private readonly users = new Set<User>();
  /** Not while a worktree is being made: half of one looks as if somebody had changed it. */
  private readonly checking = new Coalesced(() => this.repository.exclusive(() => this.checkNow()));

  private constructor(
    readonly repository: Repository,
    private readonly git: GitGuard | undefined,
    private readonly refs: RefGuard | undefined,
    private readonly onOver: () => void,
  ) {}

  static async open(root: string, onOver: () => void): Promise<SharedRepository> {
    const repository = await Repository.find(root);
    await repository.exclusive(() => removeStale(repository.git, join(root, FOLDER)));
    return new SharedRepository(repository, await GitGuard.of(root), RefGuard.of(root), onOver);
  }

  get deniedPaths(): readonly string[] {
    const hooks = this.git?.hooksInProject;
    return hooks === undefined ? [] : [`${hooks}/**`];
  }

  enter(): User {
    const user = { startedAt: Date.now(), tampering: [], warnings: [] };
    this.users.add(user);
    return user;
  }

  leave(user: User): void {
    this.users.delete(user);
    if (this.users.size > 0 || this.isOver) return;
    this.isOver = true;
    this.onOver();
  }

  /** Restores what no agent may change in the repository. */
  check(): Promise<void> {
    return this.checking.request();
  }

  private async checkNow(): Promise<void> {
    for (const guard of [this.git, this.refs]) {
      const found = await guard?.restore();
      if (found !== undefined && found.paths.length > 0) this.blame(found);
    }
  }

  private blame(found: GitTampering): void {
    const { changedAt = Number.POSITIVE_INFINITY } = found;
    const suspects = [...this.users].filter(({ startedAt }) => startedAt <= changedAt + CLOCK_STEP_MS);
    const [only, ...others] = suspects;
    if (only !== undefined && others.length === 0) only.tampering.push(found);
    else
      for (const { warnings } of suspects)
        warnings.push(`One of ${suspects.length} concurrent agents, or you: ${tamperText(found)}`);
  }
}

interface WorktreeTerms {
  /** Of the user's working tree. */
  readonly root: string;
  readonly folder: string;
  readonly denied: DeniedPaths;
  readonly label: string;
  readonly signal: AbortSignal;
  readonly base: string | undefined;
}

/** Paths relative to the root of the worktree. */
interface Changed {
  readonly present: readonly string[];
  readonly gone: readonly string[];
}

/** The worktree of one call. */
export class AgentWorktree {
  private readonly git: Git;
  private isKept = false;
  /** Whether the repository was checked after the agent ended. */
  private isChecked = false;
  private changed: Changed = { present: [], gone: [] };

  private constructor(
    private readonly shared: SharedRepository,
    private readonly user: User,
    private readonly place: WorktreePlace,
    private readonly note: string,
    /** The path of the folder in the repository: empty, or ends with `/`. */
    private readonly prefix: string,
    private readonly denied: DeniedPaths,
  ) {
    this.git = shared.repository.git.at(place.root, place.gitFolder);
  }

  static async make(shared: SharedRepository, user: User, terms: WorktreeTerms): Promise<AgentWorktree> {
    const { root, folder, denied, label, signal, base } = terms;
    const { repository } = shared;
    const id = randomBytes(ID_BYTES).toString('hex');
    const branch = `${BRANCHES}${id}/${branchLabel(label)}`;
    const asks = join(root, FOLDER);
    const [path, note] = [join(asks, id), join(asks, `${id}.json`)];
    try {
      const place = await repository.exclusive(async () => {
        signal.throwIfAborted();
        await makeIgnoredFolder(asks);
        // First, so that whatever comes next is found after a crash.
        writeAtomically(note, JSON.stringify({ owner: ownIdentity(), branch } satisfies Note));
        const git = repository.git.in(root);
        return addWorktree(git, path, branch, base ?? (await commitOf(git, 'HEAD')));
      });
      const prefix = folder === root ? '' : `${relative(root, folder).replaceAll(sep, '/')}/`;
      const worktree = new AgentWorktree(shared, user, place, note, prefix, denied);
      // Git does not create folders without files.
      await mkdir(worktree.folder, { recursive: true, mode: 0o700 });
      return worktree;
    } catch (error) {
      await repository.exclusive(async () => {
        await removeWorktree(repository.git, path, branch);
        await rm(note, { force: true });
      });
      throw error;
    }
  }

  /** The root of the worktree. */
  get root(): string {
    return this.place.root;
  }

  /** Where the agent works. */
  get folder(): string {
    return join(this.place.root, this.prefix);
  }

  /** Globs that the agent may not touch. */
  get deniedPaths(): readonly string[] {
    return this.denied.globs;
  }

  /**
   * Call it when the agent has ended. Returns what is wrong with its changes, for the agent to correct. Throws if it
   * changed what git runs, or branches of others. `own` are the paths of the worktree that can be its changes; default: all.
   */
  async problem(own?: ReadonlySet<string>): Promise<string | undefined> {
    // First, since git would run what the agent wrote there.
    await this.shared.check();
    this.isChecked = true;
    const [tampering] = this.user.tampering;
    if (tampering !== undefined)
      throw new ToolFailure(`The agent changed protected files of git: ${tamperText(tampering)}`, {
        retryable: false,
      });
    const isOwn = (path: string) => own === undefined || own.has(path);
    const found = await this.findChanges();
    const [present, gone] = [found.present.filter(isOwn), found.gone.filter(isOwn)];
    this.changed = { present, gone };
    const denied = this.denied.among([...present, ...gone].map((path) => this.shown(path)));
    if (denied.length === 0) return undefined;
    const named = listText(denied.slice(0, MAX_NAMED), denied.length);
    return `You changed files that you may not change: ${named}. Undo these changes; the others are still here.`;
  }

  /** Commits the changes that {@link problem} found. The branch then outlives the worktree. */
  async save(message: string): Promise<AgentChanges> {
    const {
      git,
      user,
      changed: { present, gone },
    } = this;
    const { base, branch } = this.place;
    const warnings = user.warnings.length === 0 ? {} : { warnings: user.warnings };
    if (present.length + gone.length === 0) return { base, files: [], ...warnings };
    const list = (paths: readonly string[]) => paths.map((path) => `${path}\0`).join('');
    if (gone.length > 0) await git.ask(['update-index', '--force-remove', '-z', '--stdin'], list(gone));
    if (present.length > 0)
      await git.ask(['update-index', '--add', '--replace', '-z', '--stdin'], list(present));
    const tree = (await git.ask(['write-tree'])).trim();
    const how = ['--no-renames', '--no-ext-diff', '--no-textconv', '--ignore-submodules=all'];
    const lines = splitNul(await git.ask(['diff', '--numstat', '-z', ...how, base, tree]));
    if (lines.length === 0) return { base, files: [], ...warnings };
    const commit = (await git.ask(['commit-tree', tree, '-p', base, '-F', '-'], message)).trim();
    await git.ask(['update-ref', `refs/heads/${branch}`, commit]);
    this.isKept = true;
    const more = lines.length - MAX_FILES;
    const files = lines.slice(0, MAX_FILES).map((line) => this.changedFile(line));
    return { base, branch, commit, files, ...(more > 0 && { more }), ...warnings };
  }

  /** Removes the worktree, with its branch unless that was saved and is to stay. */
  async close(keepsBranch = this.isKept): Promise<void> {
    const { repository } = this.shared;
    const { root, branch } = this.place;
    try {
      if (!this.isChecked) await this.shared.check();
    } finally {
      await repository.exclusive(async () => {
        if (keepsBranch) await removeWorktreeFolder(repository.git, root);
        else await removeWorktree(repository.git, root, branch);
        // Last: the rest is removed after a crash as long as it is there.
        await rm(this.note, { force: true });
      });
      this.shared.leave(this.user);
    }
  }

  /**
   * The paths that differ from the first commit, without ignored files, nested repositories and Volley's own files. The
   * index is made anew, because the agent may have made git skip files.
   */
  private async findChanges(): Promise<Changed> {
    const { git } = this;
    const { base, branch, gitFolder } = this.place;
    restoreLink(this.place);
    for (const file of ['index', 'index.lock', 'HEAD.lock']) await rm(join(gitFolder, file), { force: true });
    // The agent may have switched branches.
    await writeFile(join(gitFolder, 'HEAD'), `ref: refs/heads/${branch}\n`);
    await git.ask(['read-tree', base]);
    await git.run(['update-index', '-q', '--refresh', '--ignore-submodules']);
    const how = ['-z', '--name-only', '--no-renames', '--ignore-submodules=all'];
    const changed = await git.paths(['diff-files', ...how]);
    const made = await git.paths(['ls-files', '-z', '--others', '--exclude-standard']);
    const paths = [...changed, ...made].filter(
      // A path that ends with a slash is a nested repository.
      (path) => !path.endsWith('/') && !isVolleyPath(this.shown(path)),
    );
    const isPresent = (path: string) => {
      const stats = lstatSync(join(this.place.root, path), { throwIfNoEntry: false });
      return stats !== undefined && !stats.isDirectory();
    };
    return { present: paths.filter(isPresent), gone: paths.filter((path) => !isPresent(path)) };
  }

  private changedFile(line: string): ChangedFile {
    const [added, deleted, ...path] = line.split('\t');
    const isText = added !== '-';
    return {
      path: this.shown(path.join('\t')),
      ...(isText && { added: Number(added), deleted: Number(deleted) }),
    };
  }

  private shown(path: string): string {
    return toProjectPath(this.prefix, path);
  }
}

export function commitMessage(agent: string, prompt: string): string {
  return printableLine(`${agent}: ${prompt.slice(0, 1000)}`).slice(0, MAX_SUBJECT_LENGTH);
}

function branchLabel(text: string): string {
  const plain = text.replace(/[^A-Za-z0-9_]+/g, '-').slice(0, MAX_LABEL_LENGTH);
  return plain.replace(/^-+|-+$/g, '') || 'work';
}

/** Refuses files that the worktree would not have as they are: it has only what is committed. */
async function requireCommitted(
  git: Git,
  root: string,
  folder: string,
  files: readonly string[],
): Promise<void> {
  if (files.length === 0) return;
  const paths = files.map((file) => relative(root, join(folder, file)).replaceAll(sep, '/'));
  const outside = paths.filter((path) => path === '..' || path.startsWith('../'));
  const how = [
    '--untracked-files=normal',
    '--ignored=traditional',
    '--no-renames',
    '--ignore-submodules=all',
  ];
  const literal = paths.filter((path) => !outside.includes(path)).map((path) => `:(top,literal)${path}`);
  const entries =
    literal.length === 0 ? [] : await git.paths(['status', '--porcelain', '-z', ...how, '--', ...literal]);
  const isMeant = (entry: string) => {
    const path = entry.slice('XY '.length);
    // Of ignored files, only what was named.
    return !entry.startsWith('!!') || paths.some((one) => one === path || `${one}/`.startsWith(path));
  };
  const changed = entries.filter(isMeant).map((entry) => entry.slice('XY '.length));
  const missing = [...outside, ...changed];
  if (missing.length === 0) return;
  const named = listText(missing.slice(0, MAX_NAMED), missing.length);
  const message = `A worktree has only what is committed in ${root}, so it would not have ${named} as it is. Commit it, or leave out the worktree.`;
  throw new VolleyError('WORKSPACE_UNAVAILABLE', message, { folder: root, files: missing });
}

/** Removes the worktrees of processes that no longer exist. */
async function removeStale(git: Git, asks: string): Promise<void> {
  for (const name of await readdir(asks).catch(() => [])) {
    const id = NOTE.exec(name)?.[1];
    if (id === undefined) continue;
    const note = await readNote(join(asks, name), id);
    if (note === undefined || livesAsSeenBy(ownIdentity(), note.owner) !== false) continue;
    await removeWorktree(git, join(asks, id), note.branch);
    await rm(join(asks, name), { force: true });
  }
}

/** Undefined if it is not one of ours: an agent may have written anything there. */
async function readNote(file: string, id: string): Promise<Note | undefined> {
  try {
    const { owner, branch } = JSON.parse(
      await readRegularFile(file, { maxBytes: MAX_NOTE_BYTES, followLinks: false }),
    ) as Note;
    const isOurs = branch.startsWith(`${BRANCHES}${id}/`) && /^[\w/-]+$/.test(branch);
    return isOurs && typeof owner.pid === 'number' ? { owner, branch } : undefined;
  } catch {
    return undefined;
  }
}
