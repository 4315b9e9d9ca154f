import { randomBytes } from 'node:crypto';
import {
  type BigIntStats,
  type Dirent,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import picomatch from 'picomatch';
import type { Breach, Cover, GuardedRun, SandboxGuard } from '../runners/runner.ts';
import { isInside, realAsFarAsItExists } from '../tools/builtin/real-path.ts';
import { fold, type ProtectedPaths, type ProtectedRule, pathOf } from './protected-paths.ts';

/** How many folders below the roots are scanned, nearest first. */
const MAX_FOLDERS = 10_000;
/** How many protected paths a sandbox covers, the nearest first: each mount takes the longer the more there are. */
const MAX_COVERED = 200;
/** How many entries of a protected folder are compared where there is no sandbox. */
const MAX_COMPARED = 2000;
/** How long the event loop is held at once. */
const SLICE_MS = 5;
/** Two changes of a folder within so many milliseconds may leave the same time behind. */
const CLOCK_STEP_MS = 50;
/** Folders that are never scanned: they are large, and either protected as a whole or meant to be written. */
const PASSED = new Set(['.git', 'node_modules']);
const SYSTEM_FOLDERS = new Set(['/proc', '/sys', '/dev']);
/** Changed all the time by Volley, package managers or git: only their appearance counts. */
const CHANGING = new Set(['.volley/**', '.tmp/tasks/**', 'node_modules/**', '.git/**']);

type Kind = 'file' | 'folder' | 'link';

/** Something protected that exists. */
interface Found {
  readonly path: string;
  readonly rule: ProtectedRule;
  readonly kind: Kind;
  /** Where a link leads, as it is written. */
  readonly link: string | undefined;
}

type FoundPaths = ReadonlyMap<string, Found>;

/** A folder as it was when it was read. */
interface Listing {
  readonly stamp: string;
  readonly isSettled: boolean;
  readonly found: readonly Found[];
  readonly folders: readonly string[];
  /** Folders and links of which only certain parts are protected. */
  readonly partly: readonly string[];
}

interface Run {
  before: FoundPaths | undefined;
  readonly breaches: Map<string, Breach>;
}

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
  private listings = new Map<string, Listing>();
  /** What was found before: folders that a program makes must not push it beyond the limit. */
  private known: FoundPaths = new Map();
  private readonly running = new Set<Run>();
  private waiting: Promise<FoundPaths> | undefined;
  private last: Promise<unknown> = Promise.resolve();
  private placeholder: string | undefined;

  constructor(private readonly paths: ProtectedPaths) {
    this.folder = realAsFarAsItExists(paths.scope.folder);
  }

  async begin(isSandboxed: boolean): Promise<GuardedRun> {
    const run: Run = { before: undefined, breaches: new Map() };
    this.running.add(run);
    if (isSandboxed) this.makePlaceholder();
    const before = await this.look();
    run.before = before;
    const prints = isSandboxed ? undefined : this.printsOf(before);
    return {
      covers: isSandboxed ? this.coversOf(before) : [],
      end: async () => {
        this.findNew(await this.look());
        this.running.delete(run);
        this.removePlaceholder();
        if (prints !== undefined) this.findChanged(prints, run);
        return [...run.breaches.values()];
      },
    };
  }

  /** What exists, as of a moment after the call. Concurrent callers share the scan. */
  private look(): Promise<FoundPaths> {
    this.waiting ??= this.last.then(() => {
      this.waiting = undefined;
      const looking = this.scan();
      this.last = looking.catch(() => {});
      return looking;
    });
    return this.waiting;
  }

  private async scan(): Promise<FoundPaths> {
    const found = new Map<string, Found>();
    const add = (each: Found) => found.set(each.path, each);
    const listings = new Map<string, Listing>();
    const queue: string[] = [];
    for (const root of this.paths.roots) {
      // It may stand in a protected folder of another one.
      const rule = this.paths.protectsEntry(root);
      if (rule === undefined) queue.push(root);
      else add({ path: root, rule, kind: 'folder', link: undefined });
    }
    let sliceEnd = performance.now() + SLICE_MS;
    for (let index = 0; index < queue.length && index < MAX_FOLDERS; index++) {
      const folder = queue[index]!;
      if (listings.has(folder) || SYSTEM_FOLDERS.has(folder)) continue;
      const listing = this.list(folder);
      if (listing === undefined) continue;
      listings.set(folder, listing);
      for (const each of listing.found) add(each);
      for (const path of listing.partly) for (const each of this.partsOf(path)) add(each);
      for (const each of listing.folders) queue.push(each);
      if (performance.now() < sliceEnd) continue;
      await yieldToOthers();
      sliceEnd = performance.now() + SLICE_MS;
    }
    for (const each of this.known.values())
      if (!found.has(each.path) && statsOf(each.path) !== undefined) add(each);
    this.listings = listings;
    this.known = found;
    return found;
  }

  private list(folder: string): Listing | undefined {
    const stats = statsOf(folder);
    if (stats?.isDirectory() !== true) return undefined;
    const stamp = `${stats.dev}:${stats.ino}:${stats.ctimeNs}`;
    const known = this.listings.get(folder);
    if (known?.isSettled === true && known.stamp === stamp) return known;
    const isSettled = Date.now() - Number(stats.ctimeMs) > CLOCK_STEP_MS;
    const found: Found[] = [];
    const folders: string[] = [];
    const partly: string[] = [];
    for (const entry of entriesOf(folder)) {
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

  /** Whether it may be written inside a folder, but for certain parts. */
  private isOpen(rule: ProtectedRule): boolean {
    return this.paths.audience === 'agents' && rule.agents === 'inside';
  }

  /** What is protected of a folder that is not looked through, such as `.git/hooks` for agents. */
  private partsOf(folder: string): Found[] {
    const name = fold(basename(folder));
    return this.paths.rulesInside(name).flatMap((rule) =>
      expand(folder, pathOf(rule.pattern).split('/').slice(1)).flatMap((path) => {
        const stats = statsOf(path);
        // Perhaps a setting has made it writable.
        if (stats === undefined || this.paths.protectsEntry(path) === undefined) return [];
        const kind = kindOf(stats);
        return { path, rule, kind, link: linkAt(path, kind) };
      }),
    );
  }

  private coversOf(found: FoundPaths): Cover[] {
    const covers = new Map<string, Cover['as']>();
    const nearest = [...found.values()].sort((a, b) => a.path.split('/').length - b.path.split('/').length);
    for (const { path, rule } of nearest.slice(0, MAX_COVERED)) {
      const real = realAsFarAsItExists(path);
      const stats = statsOf(real);
      const root = this.paths.roots.find((each) => isInside(real, each));
      if (stats === undefined || root === undefined) continue;
      const isFolder = stats.isDirectory();
      if (rule.read === 'hidden') covers.set(real, isFolder ? 'empty-folder' : 'empty-file');
      else covers.set(real, isFolder && this.isOpen(rule) ? 'pinned' : 'read-only');
      // Renaming a parent folder would allow putting another one in its place.
      for (let above = dirname(real); above !== root && isInside(above, root); above = dirname(above))
        if (!covers.has(above)) covers.set(above, 'pinned');
    }
    for (const path of this.loosenedFolders()) if (!covers.has(path)) covers.set(path, 'pinned');
    return [...covers].map(([path, as]) => ({ path, as }));
  }

  /** What a setting has made writable inside of something that is not. */
  private loosenedFolders(): string[] {
    return this.paths.scope.tools.writable.flatMap((glob) => {
      const { base, isGlob } = picomatch.scan(glob);
      const path = realAsFarAsItExists(resolve(this.folder, isGlob ? base : glob));
      const isInRoot = this.paths.roots.some((root) => root !== path && isInside(path, root));
      return isInRoot && statsOf(path) !== undefined && this.paths.protects(path) === undefined ? path : [];
    });
  }

  /** Quarantines new protected paths, and records them for every call that may have created them. */
  private findNew(now: FoundPaths): void {
    const moved = new Map<string, Breach>();
    for (const run of this.running) {
      for (const each of now.values()) {
        const { path, kind, link } = each;
        const before = run.before === undefined ? each : run.before.get(path);
        const isSame = before?.kind === kind && before.link === link;
        if (isSame || this.isMadeByVolley(path)) continue;
        // Another run that ended at the same time has moved it.
        if (!moved.has(path) && statsOf(path) === undefined) continue;
        const breach = moved.get(path) ?? this.moveAway(each, before);
        moved.set(path, breach);
        run.breaches.set(path, breach);
      }
      // A link cannot be covered.
      for (const { path, rule, link } of run.before?.values() ?? []) {
        if (link === undefined || now.has(path) || statsOf(path) !== undefined) continue;
        this.putBack(path, link);
        run.breaches.set(path, { path, pattern: rule.pattern });
      }
    }
  }

  private isMadeByVolley(path: string): boolean {
    return path === this.ownFolder || this.paths.isStore(path);
  }

  private moveAway({ path, rule }: Found, before: Found | undefined): Breach {
    const { pattern } = rule;
    // A link goes itself: where it leads may be anywhere.
    const intruder = this.firstLink(path) ?? path;
    const name = `${basename(intruder)}-${randomBytes(4).toString('hex')}`;
    const quarantine = join(this.ownFolder, 'quarantine');
    // On another file system it stays in its folder, under a meaningless name.
    for (const movedTo of [join(quarantine, name), join(dirname(intruder), `quarantine-${name}`)]) {
      try {
        mkdirSync(dirname(movedTo), { recursive: true, mode: 0o700 });
        renameSync(intruder, movedTo);
      } catch {
        continue;
      }
      if (before?.link !== undefined) this.putBack(path, before.link);
      return { path, pattern, movedTo };
    }
    return { path, pattern };
  }

  private putBack(path: string, link: string): void {
    if (this.firstLink(dirname(path)) !== undefined) return;
    try {
      symlinkSync(link, path);
    } catch {
      // Its folder is gone; the breach is still reported.
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
  private printsOf(found: FoundPaths): Map<string, { readonly print: string; readonly rule: ProtectedRule }> {
    const all = [...found.values()].flatMap((each) =>
      each.rule.pattern === '.git/**' ? this.partsOf(each.path) : CHANGING.has(each.rule.pattern) ? [] : each,
    );
    return new Map(
      all
        .filter(({ path }) => !this.isMadeByVolley(path))
        .map(({ path, rule }) => [path, { print: printOf(path), rule }]),
    );
  }

  private findChanged(prints: ReturnType<PathGuard['printsOf']>, run: Run): void {
    for (const [path, { print, rule }] of prints)
      if (!run.breaches.has(path) && printOf(path) !== print)
        run.breaches.set(path, { path, pattern: rule.pattern });
  }

  private get ownFolder(): string {
    return join(this.folder, '.volley');
  }

  /** Without a folder to cover, a program could make one, and a store in it. Other files would mean something. */
  private makePlaceholder(): void {
    const path = this.ownFolder;
    if (statsOf(path) !== undefined || !this.paths.roots.some((root) => isInside(path, root))) return;
    try {
      mkdirSync(path, { mode: 0o700 });
      this.placeholder = path;
    } catch {
      // Where this process cannot make it, the program cannot either.
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

/** The paths below a folder that names with `*` in them stand for. */
function expand(folder: string, [name, ...rest]: readonly string[]): string[] {
  if (name === undefined) return [folder];
  if (!name.includes('*')) return expand(join(folder, name), rest);
  const matches = picomatch(name, { dot: true });
  return entriesOf(folder).flatMap((entry) =>
    matches(entry.name) ? expand(join(folder, entry.name), rest) : [],
  );
}

/** Differs when a file, or one below a folder, has been changed. */
function printOf(path: string): string {
  const parts: string[] = [];
  const queue = [path];
  for (let index = 0; index < queue.length && index < MAX_COMPARED; index++) {
    const stats = statsOf(queue[index]!);
    parts.push(stats === undefined ? '-' : `${stats.ino}:${stats.size}:${stats.ctimeNs}`);
    if (stats?.isDirectory() !== true) continue;
    for (const { name } of entriesOf(queue[index]!)) queue.push(join(queue[index]!, name));
  }
  return parts.join(' ');
}
