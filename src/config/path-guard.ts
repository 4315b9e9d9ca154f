import { randomBytes } from 'node:crypto';
import {
  accessSync,
  type BigIntStats,
  chmodSync,
  closeSync,
  constants,
  type Dirent,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import picomatch from 'picomatch';
import { VolleyError } from '../core/errors.ts';
import type { Breach, Cover, GuardedRun, SandboxGuard } from '../runners/runner.ts';
import { codeOf } from '../tools/builtin/refusal.ts';
import { isInside, realAsFarAsItExists } from '../tools/builtin/roots.ts';
import { fold, type ProtectedPaths, type ProtectedRule, pathOf } from './protected-paths.ts';

/** The most folders scanned below the roots. */
const MAX_FOLDERS = 50_000;
/** The most protected paths a sandbox covers: the cost of a mount grows with their number. */
const MAX_COVERED = 64;
/** The most files and folders compared afterwards because no mount covers them. */
const MAX_COMPARED = 10_000;
/** The most of them in one protected folder, without a sandbox. */
const MAX_COMPARED_EACH = 2000;
/** The most entries in the quarantine. */
const MAX_QUARANTINED = 1000;
/** How often folders that a program made unreadable are reopened; each round reveals those inside them. */
const MAX_REPAIRS = 32;
/** How long the event loop is held at once. */
const SLICE_MS = 5;
/** Two changes of a folder within this many milliseconds may have the same timestamp. */
const CLOCK_STEP_MS = 50;
/** Folders that are never scanned: large, and either protected as a whole or meant to be written. */
const PASSED = new Set(['.git', 'node_modules']);
/** The suffixes that SQLite adds to the name of a store. */
const STORE_ENDINGS = ['', '-wal', '-shm', '-journal'];
/** Linux: a descriptor that only refers to a file, whatever its permissions. */
const O_PATH = 0x200000;
const SYSTEM_FOLDERS = new Set(['/proc', '/sys', '/dev']);
/** Changed constantly by Volley, package managers or git: only their appearance counts. */
const CHANGING = new Set(['.volley/**', '.tmp/tasks/**', 'node_modules/**', '.git/**']);

type Kind = 'file' | 'folder' | 'link';

/** An existing protected path. */
interface Found {
  readonly path: string;
  readonly rule: ProtectedRule;
  readonly kind: Kind;
  /** The target of a link, as written. */
  readonly link: string | undefined;
  /** The resolved target, and whether it exists. */
  readonly target?: string;
}

type FoundPaths = ReadonlyMap<string, Found>;

/** A folder that could not be scanned, or where the scan stopped. */
interface Obstacle {
  readonly path: string;
  readonly why: string;
  readonly isUnreadable: boolean;
}

interface Look {
  readonly found: FoundPaths;
  readonly obstacles: readonly Obstacle[];
}

/** A folder at the time it was read. */
interface Listing {
  readonly stamp: string;
  readonly isSettled: boolean;
  readonly found: readonly Found[];
  readonly folders: readonly string[];
  /** Folders and links of which only certain parts are protected. */
  readonly partly: readonly string[];
  readonly obstacle?: Obstacle;
}

interface Run {
  readonly roots: readonly string[];
  before: FoundPaths | undefined;
  /** What its sandbox covers, so that it can neither replace nor rename it. Undefined until it may start. */
  covered: ReadonlySet<string> | undefined;
  readonly breaches: Map<string, Breach>;
}

type Prints = ReadonlyMap<string, { readonly print: string; readonly rule: ProtectedRule }>;

/** Shared by all guards of this process: their roots may overlap. */
const allRunning = new Set<Run>();

/**
 * Keeps programs that run in the roots from writing protected paths. Existing paths are covered in the sandbox. Paths that
 * do not exist yet cannot be covered, so the folders are scanned again afterwards, and new protected paths are
 * quarantined.
 *
 * A folder is read again only when its ctime has changed, which no program can set, so a scan costs one system call per
 * folder.
 */
export class PathGuard implements SandboxGuard {
  private readonly folder: string;
  /** The real paths of the roots when the configuration was loaded. */
  private readonly realRoots: ReadonlyMap<string, string>;
  private listings = new Map<string, Listing>();
  private readonly running = new Set<Run>();
  private waiting: Promise<Look> | undefined;
  private last: Promise<unknown> = Promise.resolve();
  private tidying: Promise<unknown> = Promise.resolve();
  private placeholder: string | undefined;

  constructor(
    private readonly paths: ProtectedPaths,
    private readonly maxFolders = MAX_FOLDERS,
  ) {
    this.folder = realAsFarAsItExists(paths.scope.folder);
    this.realRoots = new Map(paths.scope.tools.roots.map((root) => [root, realAsFarAsItExists(root)]));
  }

  async begin(isSandboxed: boolean): Promise<GuardedRun> {
    const { roots } = this.paths;
    const run: Run = { roots, before: undefined, covered: undefined, breaches: new Map() };
    this.running.add(run);
    allRunning.add(run);
    try {
      this.assertRoots();
      this.assertQuarantine();
      if (isSandboxed) this.makePlaceholder();
      const { found, obstacles } = await this.look();
      for (const { path, why } of obstacles) throw refusal(`${path} ${why}`);
      // No await from here to `covered`: another run must see all of it or nothing.
      const { covers, uncovered } = isSandboxed ? this.coversOf(found) : { covers: [], uncovered: [] };
      run.covered = new Set(covers.map(({ path }) => path));
      run.before = found;
      const prints = isSandboxed ? await comparedPrints(uncovered) : this.printsOf(found);
      return { covers, end: () => this.end(run, prints) };
    } catch (error) {
      this.forget(run);
      throw error;
    }
  }

  private async end(run: Run, prints: Prints): Promise<Breach[]> {
    // One at a time: otherwise one check would miss what another moved away.
    const tidied = this.tidying.then(async () => {
      let look = await this.look();
      for (let count = 0; count < MAX_REPAIRS && this.openAgain(look.obstacles); count++)
        look = await this.look();
      for (const { path, why } of look.obstacles) this.report({ path, pattern: why });
      await this.findNew(look.found);
    });
    this.tidying = tidied.catch(() => {});
    try {
      await tidied;
      const changedRoot = this.changedRoot();
      if (changedRoot !== undefined)
        run.breaches.set(changedRoot, { path: changedRoot, pattern: 'tools.roots' });
      await this.findChanged(prints, run);
    } finally {
      this.forget(run);
    }
    return [...run.breaches.values()];
  }

  private forget(run: Run): void {
    this.running.delete(run);
    allRunning.delete(run);
    this.removePlaceholder();
  }

  private report(breach: Breach): void {
    for (const run of this.running) if (run.before !== undefined) run.breaches.set(breach.path, breach);
  }

  /** A program that may write in one root could replace another root inside it with a link. */
  private assertRoots(): void {
    const changed = this.changedRoot();
    if (changed !== undefined)
      throw refusal(
        `the root ${changed} is no longer the folder it was when the configuration was loaded. Restart Volley if that is intended`,
      );
    for (const [root, real] of this.realRoots) {
      const place = join(realAsFarAsItExists(dirname(root)), basename(root));
      const outer = this.paths.roots.find((each) => each !== place && isInside(place, each));
      if (outer !== undefined && !isInside(real, outer))
        throw refusal(
          `the root ${root} is a symbolic link in the root ${outer} that leads out of it, and that programs can replace. Name ${real} in \`tools.roots\` instead`,
        );
    }
  }

  private changedRoot(): string | undefined {
    for (const [root, real] of this.realRoots) if (realAsFarAsItExists(root) !== real) return root;
    return undefined;
  }

  private assertQuarantine(): void {
    const folder = join(this.ownFolder, 'quarantine');
    if (entriesOf(folder).length > MAX_QUARANTINED)
      throw refusal(`${folder} holds more than ${MAX_QUARANTINED} entries. Review and remove them`);
  }

  /** The existing protected paths as of some time after the call. Concurrent callers share the scan. */
  private look(): Promise<Look> {
    this.waiting ??= this.last.then(() => {
      this.waiting = undefined;
      const looking = this.scan();
      this.last = looking.catch(() => {});
      return looking;
    });
    return this.waiting;
  }

  private async scan(): Promise<Look> {
    const found = new Map<string, Found>();
    const obstacles: Obstacle[] = [];
    const add = (each: Found) =>
      // The resolved target of a link can change without a change of its folder.
      found.set(each.path, each.kind === 'link' ? { ...each, target: targetOf(each.path) } : each);
    const listings = new Map<string, Listing>();
    const queue: string[] = [];
    for (const root of this.paths.roots) {
      // It may be in a protected folder of another root.
      const rule = this.paths.protectsEntry(root);
      if (rule === undefined) queue.push(root);
      else add({ path: root, rule, kind: 'folder', link: undefined });
    }
    const pause = slices();
    for (let index = 0; index < queue.length; index++) {
      const folder = queue[index]!;
      if (listings.has(folder) || SYSTEM_FOLDERS.has(folder)) continue;
      if (listings.size >= this.maxFolders) {
        const why = `is beyond the ${this.maxFolders} folders that are scanned for protected paths. Remove folders, or name smaller ones in \`tools.roots\``;
        obstacles.push({ path: folder, why, isUnreadable: false });
        break;
      }
      const listing = this.list(folder);
      if (listing === undefined) continue;
      listings.set(folder, listing);
      if (listing.obstacle !== undefined) obstacles.push(listing.obstacle);
      for (const each of listing.found) add(each);
      for (const path of listing.partly) for (const each of this.partsOf(path)) add(each);
      for (const each of listing.folders) queue.push(each);
      await pause();
    }
    this.listings = listings;
    return { found, obstacles };
  }

  private list(folder: string): Listing | undefined {
    let stats: BigIntStats;
    try {
      stats = lstatSync(folder, { bigint: true });
    } catch (error) {
      return isGone(error) || codeOf(error) === 'EACCES' ? undefined : unreadable(folder, error);
    }
    if (!stats.isDirectory()) return undefined;
    const stamp = `${stats.dev}:${stats.ino}:${stats.ctimeNs}`;
    const known = this.listings.get(folder);
    if (known?.isSettled === true && known.stamp === stamp) return known;
    const isSettled = Date.now() - Number(stats.ctimeMs) > CLOCK_STEP_MS;
    const found: Found[] = [];
    const folders: string[] = [];
    const partly: string[] = [];
    let entries: Dirent[];
    try {
      accessSync(folder, constants.R_OK | constants.X_OK);
      entries = readdirSync(folder, { withFileTypes: true });
    } catch (error) {
      if (isGone(error)) return undefined;
      // In another user's folder that is not writable, a program can do no more than this process.
      return canOpen(folder, stats) ? unreadable(folder, error) : undefined;
    }
    for (const entry of entries) {
      const path = join(folder, entry.name);
      const kind = kindOf(entry);
      const rule = this.paths.protectsEntry(path);
      if (rule !== undefined) found.push({ path, rule, kind, link: linkAt(path, kind) });
      if (kind === 'file' || (rule !== undefined && !this.isOpen(rule))) continue;
      if (kind === 'link' || rule !== undefined) partly.push(path);
      else if (!PASSED.has(fold(entry.name))) folders.push(path);
    }
    return { stamp, isSettled, found, folders, partly };
  }

  /** Whether it is a folder that may be written except for certain parts. */
  private isOpen(rule: ProtectedRule): boolean {
    return this.paths.audience === 'agents' && rule.agents === 'inside';
  }

  /** The protected parts of a folder that is not scanned, such as `.git/hooks` for agents. */
  private partsOf(folder: string): Found[] {
    const name = fold(basename(folder));
    return this.paths.rulesInside(name).flatMap((rule) =>
      expand(folder, pathOf(rule.pattern).split('/').slice(1)).flatMap((path) => {
        const stats = statsOf(path);
        // A setting may have made it writable.
        if (stats === undefined || this.paths.protectsEntry(path) === undefined) return [];
        const kind = kindOf(stats);
        return { path, rule, kind, link: linkAt(path, kind) };
      }),
    );
  }

  /**
   * The paths a sandbox covers: first Volley's own and hidden ones, then the nearest. Excludes what a running program
   * may have created: before the mount, the program could replace it with a link.
   */
  private coversOf(found: FoundPaths): { readonly covers: Cover[]; readonly uncovered: Found[] } {
    const covers = new Map<string, Cover['as']>();
    const uncovered: Found[] = [];
    const rank = ({ path, rule }: Found) =>
      (rule.isOwn || rule.read === 'hidden' ? 0 : 1000) + path.split('/').length;
    let count = 0;
    for (const each of [...found.values()].sort((a, b) => rank(a) - rank(b))) {
      const { path, rule } = each;
      const real = realAsFarAsItExists(path);
      const stats = statsOf(real);
      const root = this.paths.roots.find((each) => isInside(real, each));
      if (stats === undefined || root === undefined) continue;
      const around = foldersAround(real, root);
      if (count === MAX_COVERED || ![real, ...around].every(isStable)) {
        if (count === MAX_COVERED && rule.read === 'hidden')
          throw refusal(`more than ${MAX_COVERED} paths are to be hidden in the roots, such as ${path}`);
        uncovered.push(each);
        continue;
      }
      if (!covers.has(real)) count++;
      const isFolder = stats.isDirectory();
      if (rule.read === 'hidden') covers.set(real, isFolder ? 'empty-folder' : 'empty-file');
      else covers.set(real, isFolder && this.isOpen(rule) ? 'pinned' : 'read-only');
      // Renaming a parent folder would allow replacing it.
      for (const above of around) if (!covers.has(above)) covers.set(above, 'pinned');
    }
    const pinned = [...this.loosenedFolders(), ...this.innerRoots()].filter((path) => !covers.has(path));
    for (const path of pinned) if (isStable(path)) covers.set(path, 'pinned');
    return { covers: [...covers].map(([path, as]) => ({ path, as })), uncovered };
  }

  /** Roots inside other roots, and the folders around them: replacing one would replace the root. */
  private innerRoots(): string[] {
    return this.paths.roots.flatMap((root) => {
      const outer = this.paths.roots.find((each) => each !== root && isInside(root, each));
      return outer === undefined || statsOf(root) === undefined ? [] : [root, ...foldersAround(root, outer)];
    });
  }

  /** Paths that a setting made writable inside protected ones. */
  private loosenedFolders(): string[] {
    return this.paths.scope.tools.writable.flatMap((glob) => {
      const { base, isGlob } = picomatch.scan(glob);
      const path = realAsFarAsItExists(resolve(this.folder, isGlob ? base : glob));
      const isInRoot = this.paths.roots.some((root) => root !== path && isInside(path, root));
      return isInRoot && statsOf(path) !== undefined && this.paths.protects(path) === undefined ? path : [];
    });
  }

  /** Quarantines new protected paths, and records them for every call that may have created them. */
  private async findNew(now: FoundPaths): Promise<void> {
    const moved = new Map<string, Breach>();
    const pause = slices();
    for (const run of [...this.running]) {
      const { before } = run;
      if (before === undefined) continue;
      for (const each of now.values()) {
        await pause();
        const { path, kind, link, target } = each;
        const known = before.get(path);
        const isSame = known?.kind === kind && known.link === link && known.target === target;
        if (isSame || this.isMadeByVolley(path, before)) continue;
        if (!moved.has(path) && statsOf(path) === undefined) continue;
        const breach = moved.get(path) ?? this.moveAway(each, known);
        moved.set(path, breach);
        run.breaches.set(path, breach);
      }
      // A link cannot be covered.
      for (const { path, rule, link } of before.values()) {
        if (link === undefined || now.has(path) || statsOf(path) !== undefined) continue;
        this.putBack(path, link);
        run.breaches.set(path, { path, pattern: rule.pattern });
      }
    }
  }

  /** SQLite's files next to a store in use, and the locks of servers. */
  private isMadeByVolley(path: string, before: FoundPaths): boolean {
    if (path === this.ownFolder) return true;
    const { file } = this.paths.scope.store;
    const store = join(realAsFarAsItExists(dirname(file)), basename(file));
    return (
      path === `${store}-locks` || (before.has(store) && STORE_ENDINGS.some((end) => path === store + end))
    );
  }

  private moveAway({ path, rule, link }: Found, before: Found | undefined): Breach {
    const { pattern } = rule;
    const quarantine = join(this.ownFolder, 'quarantine');
    try {
      return this.reach(path, (entry) => {
        const name = `${basename(entry)}-${randomBytes(4).toString('hex')}`;
        // On another file system it stays in its folder, under a meaningless name.
        for (const movedTo of [join(quarantine, name), join(dirname(entry), `quarantine-${name}`)]) {
          try {
            if (dirname(movedTo) === quarantine) mkdirSync(quarantine, { recursive: true, mode: 0o700 });
            renameSync(entry, movedTo);
          } catch {
            continue;
          }
          // A link that now leads elsewhere is not restored.
          if (before?.link !== undefined && before.link !== link) this.putBack(path, before.link);
          const isNear = dirname(movedTo) !== quarantine;
          return { path, pattern, movedTo: isNear ? join(dirname(path), basename(movedTo)) : movedTo };
        }
        return { path, pattern };
      });
    } catch {
      return { path, pattern };
    }
  }

  private putBack(path: string, link: string): void {
    try {
      this.reach(path, (entry) => symlinkSync(link, entry));
    } catch {
      // Its folder is gone; the breach is still reported.
    }
  }

  /** Makes folders readable again that were readable before. Returns whether there were any. */
  private openAgain(obstacles: readonly Obstacle[]): boolean {
    let isAny = false;
    for (const { path, why, isUnreadable } of obstacles) {
      if (!isUnreadable) continue;
      this.report({ path, pattern: why });
      try {
        this.reach(path, (entry) => {
          const descriptor = openSync(entry, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
          try {
            const folder = `/proc/self/fd/${descriptor}`;
            chmodSync(folder, (statSync(folder).mode & 0o7777) | 0o700);
          } finally {
            closeSync(descriptor);
          }
        });
        isAny = true;
      } catch {
        // It stays an obstacle and is reported as one.
      }
    }
    return isAny;
  }

  /**
   * Lets `work` use an entry by a path that cannot be redirected meanwhile: the folders on the way are opened one by
   * one. If one of them is a link, that link is the entry, because it may lead anywhere.
   */
  private reach<T>(path: string, work: (entry: string) => T): T {
    const root = this.paths.roots.find((each) => isInside(path, each));
    if (root === undefined || process.platform !== 'linux') return work(this.firstLink(path) ?? path);
    const flags = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;
    let folder = openSync(root, flags);
    try {
      for (const names = relative(root, path).split(sep); ; ) {
        const entry = `/proc/self/fd/${folder}/${names.shift()!}`;
        if (names.length === 0 || lstatSync(entry).isSymbolicLink()) return work(entry);
        const next = openSync(entry, flags);
        closeSync(folder);
        folder = next;
      }
    } finally {
      closeSync(folder);
    }
  }

  /** The outermost symbolic link on the way from a root to a path, the path itself included. */
  private firstLink(path: string): string | undefined {
    const root = this.paths.roots.find((each) => isInside(path, each)) ?? path;
    let found: string | undefined;
    for (let each = path; each !== root; each = dirname(each))
      if (statsOf(each)?.isSymbolicLink() === true) found = each;
    return found;
  }

  /** Identifies what exists, to detect a later replacement of the same name. */
  private printsOf(found: FoundPaths): Prints {
    const all = [...found.values()].flatMap((each) =>
      each.rule.pattern === '.git/**' ? this.partsOf(each.path) : CHANGING.has(each.rule.pattern) ? [] : each,
    );
    return new Map(
      all
        .filter(({ path }) => !this.isMadeByVolley(path, found))
        .map(({ path, rule }) => [path, { print: printOf(path, MAX_COMPARED_EACH).print, rule }]),
    );
  }

  private async findChanged(prints: Prints, run: Run): Promise<void> {
    const pause = slices();
    for (const [path, { print, rule }] of prints) {
      await pause();
      const now = printOf(path, print.split(' ').length).print;
      if (!run.breaches.has(path) && now !== print) run.breaches.set(path, { path, pattern: rule.pattern });
    }
  }

  private get ownFolder(): string {
    return join(this.folder, '.volley');
  }

  /**
   * Creates the folder so that it can be covered; otherwise a program could create it, with a store in it. Other files
   * would have a meaning.
   */
  private makePlaceholder(): void {
    const path = this.ownFolder;
    if (statsOf(path) !== undefined || !this.paths.roots.some((root) => isInside(path, root))) return;
    try {
      mkdirSync(path, { mode: 0o700 });
      this.placeholder = path;
    } catch {
      // If this process cannot create it, neither can the program.
    }
  }

  private removePlaceholder(): void {
    if (this.placeholder === undefined || this.running.size > 0) return;
    try {
      rmdirSync(this.placeholder);
    } catch {
      // It is in use by now.
    }
    this.placeholder = undefined;
  }
}

function statsOf(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true });
  } catch {
    return undefined;
  }
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

function kindOf(entry: Pick<Dirent, 'isSymbolicLink' | 'isDirectory'>): Kind {
  return entry.isSymbolicLink() ? 'link' : entry.isDirectory() ? 'folder' : 'file';
}

function linkAt(path: string, kind: Kind): string | undefined {
  try {
    return kind === 'link' ? readlinkSync(path) : undefined;
  } catch {
    return undefined;
  }
}

/** The existing paths below a folder that match names with `*`. */
function expand(folder: string, [name, ...rest]: readonly string[]): string[] {
  if (name === undefined) return [folder];
  if (!name.includes('*')) return expand(join(folder, name), rest);
  const matches = picomatch(name, { dot: true });
  return entriesOf(folder).flatMap((entry) =>
    matches(entry.name) ? expand(join(folder, entry.name), rest) : [],
  );
}

/** A fingerprint that changes when a file, or one of the files below a folder, changes. */
function printOf(path: string, max: number): { readonly print: string; readonly isWhole: boolean } {
  const parts: string[] = [];
  const queue = [path];
  for (let index = 0; index < queue.length && index < max; index++) {
    const stats = statsOf(queue[index]!);
    parts.push(stats === undefined ? '-' : `${stats.ino}:${stats.size}:${stats.ctimeNs}`);
    if (stats?.isDirectory() !== true) continue;
    for (const { name } of entriesOf(queue[index]!)) queue.push(join(queue[index]!, name));
  }
  return { print: parts.join(' '), isWhole: queue.length <= max };
}

/** Fingerprints of what no mount covers; rejects if there is too much. */
async function comparedPrints(uncovered: readonly Found[]): Promise<Prints> {
  const prints = new Map<string, { readonly print: string; readonly rule: ProtectedRule }>();
  const pause = slices();
  let left = MAX_COMPARED;
  for (const { path, rule } of uncovered) {
    const { print, isWhole } = printOf(path, left);
    left -= print.split(' ').length;
    if (!isWhole || left <= 0)
      throw refusal(
        `there are too many of them: a sandbox covers ${MAX_COVERED}, and of the others ${MAX_COMPARED} files and folders are compared afterwards, which ends in ${path}. Add paths to \`tools.writable\`, or name smaller folders in \`tools.roots\``,
      );
    prints.set(path, { print, rule });
    await pause();
  }
  return prints;
}

/** Whether no running program that can write around a path could replace it. */
function isStable(path: string): boolean {
  for (const { roots, covered } of allRunning)
    if (covered?.has(path) === false && roots.some((root) => root !== path && isInside(path, root)))
      return false;
  return true;
}

/** From the nearest outwards, without the root. */
function foldersAround(path: string, root: string): string[] {
  const folders: string[] = [];
  for (let above = dirname(path); above !== root && isInside(above, root); above = dirname(above))
    folders.push(above);
  return folders;
}

/** Yields to the event loop after holding it for long enough. */
function slices(): () => Promise<void> | undefined {
  let end = performance.now() + SLICE_MS;
  return () => {
    if (performance.now() < end) return undefined;
    return yieldToOthers().then(() => {
      end = performance.now() + SLICE_MS;
    });
  };
}

function targetOf(link: string): string {
  const real = realAsFarAsItExists(link);
  return existsSync(link) ? real : `${real} (missing)`;
}

function isGone(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '');
}

function canOpen(folder: string, { uid }: BigIntStats): boolean {
  if (Number(uid) === process.getuid?.()) return true;
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function unreadable(path: string, error: unknown): Listing {
  const why = `cannot be scanned for protected paths (${codeOf(error)}). Make it readable, or remove it`;
  return {
    stamp: '',
    isSettled: false,
    found: [],
    folders: [],
    partly: [],
    obstacle: { path, why, isUnreadable: true },
  };
}

/** Why a program is not started. */
function refusal(why: string): VolleyError {
  return Object.assign(new VolleyError('PATH_PROTECTED', `Paths cannot be protected: ${why}.`, {}), {
    retryable: false,
  });
}
