import { lstatSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import picomatch from 'picomatch';
import { isInside, realAsFarAsItExists } from '../tools/builtin/roots.ts';
import type { VolleyConfig } from './config.ts';
import { userFolder } from './user-folder.ts';

/** One row of the table of protected paths. */
export interface ProtectedRule {
  /**
   * A path in any folder below a root, with everything below it; `/**` marks a folder. `*` matches any part of a name.
   */
  readonly pattern: string;
  /** Completes the sentence "it is protected, because …". */
  readonly why: string;
  /** Whether tools may read it. */
  readonly read: 'hidden' | 'allowed';
  /**
   * Whether delegated coding agents may write it, since they commit and install packages. `inside`: they may write in
   * the folder, unless another row forbids it, but not replace it.
   */
  readonly agents: 'protected' | 'inside' | 'writable';
  /** Whether it is Volley's own, which `tools.writable` cannot make writable. */
  readonly isOwn: boolean;
}

/** Who writes. */
export type Audience = 'tools' | 'agents';

const VOLLEY = 'it decides what Volley runs';
const GIT = 'git runs code from it';
const PACKAGES = 'package managers run what it names';
const AGENTS = 'coding agents run what it names';
const EDITORS = 'editors run what it names';
const CI = 'the CI service runs what it names';
const SHELLS = 'shells run it';

/** Protected below every root. Files that a project's own commands run (`package.json`, a Makefile) are not. */
export const PROTECTED_RULES: readonly ProtectedRule[] = [
  own('volley.toml', 'allowed', VOLLEY),
  own('.volley/**', 'hidden', 'Volley keeps its store and server tokens there'),
  own('.tmp/tasks/**', 'allowed', 'Volley runs the commands in it'),
  // In worktrees and submodules, a file that says where the repository is.
  rule('.git/**', GIT, 'inside'),
  rule('.git/hooks/**', GIT),
  rule('.git/config', GIT),
  rule('.git/config.worktree', GIT),
  rule('.git/commondir', GIT),
  rule('.git/info/attributes', GIT),
  rule('.git/modules/**', GIT),
  rule('.git/worktrees/*/commondir', GIT),
  rule('.git/worktrees/*/gitdir', GIT),
  rule('.git/worktrees/*/config.worktree', GIT),
  rule('.githooks/**', GIT),
  rule('.husky/**', GIT),
  rule('node_modules/**', 'programs run code from it', 'writable'),
  rule('.npmrc', PACKAGES),
  rule('.yarnrc*', PACKAGES),
  rule('.mcp.json', AGENTS),
  rule('.claude/**', AGENTS),
  rule('.codex/**', AGENTS),
  rule('.gemini/**', AGENTS),
  rule('.qwen/**', AGENTS),
  rule('.opencode/**', AGENTS),
  rule('opencode.json*', AGENTS),
  rule('.cursor/**', AGENTS),
  rule('.vscode/**', EDITORS),
  rule('.idea/**', EDITORS),
  rule('.zed/**', EDITORS),
  rule('.devcontainer/**', EDITORS),
  rule('.github/workflows/**', CI),
  rule('.gitlab-ci.yml', CI),
  rule('.circleci/**', CI),
  rule('.envrc', SHELLS),
];

function own(pattern: string, read: ProtectedRule['read'], why: string): ProtectedRule {
  return { pattern, why, read, agents: 'protected', isOwn: true };
}

function rule(pattern: string, why: string, agents: ProtectedRule['agents'] = 'protected'): ProtectedRule {
  return { pattern, why, read: 'allowed', agents, isOwn: false };
}

/** The settings that determine what is protected. */
export interface ProtectionScope {
  readonly folder: VolleyConfig['folder'];
  readonly store: VolleyConfig['store'];
  readonly tools: Pick<VolleyConfig['tools'], 'roots' | 'modules' | 'protected' | 'writable'>;
  readonly trust: Pick<VolleyConfig['trust'], 'waitingModules' | 'files'>;
}

interface NamedRule {
  readonly rule: ProtectedRule;
  /** Matches a folded path relative to a root. */
  readonly expression: RegExp;
}

/** A path that is protected wherever it is. */
interface Place {
  readonly rule: ProtectedRule;
  readonly covers: (path: string) => boolean;
}

/** Decides which paths may be written and read under one configuration. All paths are absolute and real. */
export class ProtectedPaths {
  /** Real paths, outermost first. */
  readonly roots: readonly string[];
  private readonly named: readonly NamedRule[];
  private readonly anyName: RegExp;
  private readonly places: readonly Place[];
  private readonly isLoosened: (path: string) => boolean;

  constructor(
    readonly scope: ProtectionScope,
    readonly audience: Audience = 'tools',
  ) {
    const { folder, store, tools, trust } = scope;
    this.roots = [...new Set(tools.roots.map(realAsFarAsItExists))].sort((a, b) => a.length - b.length);
    const isTools = audience === 'tools';
    this.named = PROTECTED_RULES.filter(({ agents }) => isTools || agents !== 'writable').map((rule) => ({
      rule,
      expression: expressionOf(rule.pattern, isTools || rule.agents === 'protected'),
    }));
    this.anyName = new RegExp(this.named.map(({ expression }) => expression.source).join('|'));
    this.places = [
      storePlace(store.file),
      userPlace(),
      // Includes unapproved ones: what gets approved must be what was there.
      ...[...tools.modules, ...trust.waitingModules].flatMap((pattern) =>
        modulePlaces(pattern, folder, tools.roots),
      ),
      ...(isTools ? [approvedPlace(trust.files)] : []),
      ...tools.protected.map((glob) => ({
        rule: rule(glob, '`tools.protected` names it'),
        covers: matcherOf([glob], folder),
      })),
    ];
    this.isLoosened = matcherOf(tools.writable, folder);
  }

  /** Why a path may not be written; undefined if it may. The path need not exist. */
  protects(path: string): ProtectedRule | undefined {
    return this.strictest(path, this.rulesFor(path));
  }

  /** Whether a path may not even be read. */
  hides(path: string): boolean {
    // Fast path: nearly no path has one of these names.
    for (const rule of this.rulesFor(path, 'hidden')) if (rule.read === 'hidden') return true;
    return false;
  }

  /** Whether a path is the target of a link with a protected name at the top of a root. */
  private isLinkedFrom({ pattern }: ProtectedRule, path: string): boolean {
    if (pathOf(pattern).includes('*')) return false;
    return this.roots.some((root) => {
      const entry = join(root, pathOf(pattern));
      if (lstatSync(entry, { throwIfNoEntry: false }) === undefined) return false;
      const real = realAsFarAsItExists(entry);
      return real !== entry && isInside(path, real);
    });
  }

  /** Like `protects`, for an entry of a scanned folder; does not follow links. */
  protectsEntry(path: string): ProtectedRule | undefined {
    return this.strictest(path, this.rulesAt(path));
  }

  /** Rows about parts of folders that are otherwise writable, such as `.git/hooks/**` for agents. */
  rulesInside(name: string): ProtectedRule[] {
    return this.named.flatMap(({ rule }) => (pathOf(rule.pattern).startsWith(`${name}/`) ? rule : []));
  }

  /** Whether it is the store or a file next to it, which Volley itself creates and removes. */
  isStore(path: string): boolean {
    return this.places[0]!.covers(path);
  }

  private strictest(path: string, rules: Iterable<ProtectedRule>): ProtectedRule | undefined {
    const found = [...rules];
    const locked = found.find(({ isOwn }) => isOwn);
    if (locked !== undefined || found.length === 0) return locked;
    return this.isLoosened(path) ? undefined : found[0];
  }

  private *rulesFor(path: string, read?: ProtectedRule['read']): Generator<ProtectedRule> {
    yield* this.rulesAt(path, read);
    for (const { rule } of this.named)
      if ((read === undefined || rule.read === read) && this.isLinkedFrom(rule, path)) yield rule;
  }

  private *rulesAt(path: string, read?: ProtectedRule['read']): Generator<ProtectedRule> {
    const root = this.roots.find((root) => isInside(path, root));
    const folded = root === undefined ? undefined : fold(relative(root, path));
    // Most paths have none of the names.
    for (const { rule, expression } of folded !== undefined && this.anyName.test(folded) ? this.named : [])
      if ((read === undefined || rule.read === read) && expression.test(folded!)) yield rule;
    for (const place of this.places)
      if ((read === undefined || place.rule.read === read) && place.covers(path)) yield place.rule;
  }
}

/** The store, SQLite's files next to it, and the records and sessions of servers. */
function storePlace(file: string): Place {
  const name = fold(basename(file));
  const isOfStore = (other: string) =>
    other.startsWith(name) && (other.length === name.length || /[-.]/.test(other[name.length]!));
  return {
    rule: own(file, 'hidden', 'it is the store or holds server tokens'),
    covers: (path) => {
      // Resolving a folder costs more than everything else.
      const names = fold(path).split('/');
      if (!names.some(isOfStore)) return false;
      const folder = fold(realAsFarAsItExists(dirname(file))).split('/');
      return folder.every((each, index) => each === names[index]) && isOfStore(names[folder.length] ?? '');
    },
  };
}

function userPlace(): Place {
  const path = realAsFarAsItExists(userFolder());
  const covers = (other: string) => isInside(other, path);
  return { rule: own(path, 'hidden', 'it holds your approvals and logins'), covers };
}

/**
 * Approved files, and missing ones that would run if they appeared. Agents may change code; then it needs approval
 * again.
 */
function approvedPlace(files: ReadonlyMap<string, string>): Place {
  const known = new Set([...files.keys()].map(fold));
  return { rule: rule('files that volley trust approved', VOLLEY), covers: (path) => known.has(fold(path)) };
}

function modulePlaces(pattern: string, folder: string, roots: readonly string[]): Place[] {
  const { base, glob, isGlob } = picomatch.scan(pattern);
  const place = (path: string, matches: (path: string) => boolean = () => true): Place => ({
    rule: rule(pattern, VOLLEY),
    covers: (other) => {
      // Resolved each time: it may exist only now, or be a link.
      const real = realAsFarAsItExists(path);
      return isInside(other, real) && matches(slashed(relative(real, other)));
    },
  });
  // Imports are usually next to the module, but if that is a whole root, tools must still be able to write there.
  const holdsRoot = (path: string) => roots.some((root) => isInside(root, path));
  // As in module resolution: a file may have exactly this name, even if it looks like a glob.
  const exact = resolve(folder, pattern);
  if (!isGlob) return [place(holdsRoot(dirname(exact)) ? exact : dirname(exact))];
  const path = resolve(folder, base);
  return [place(exact), holdsRoot(path) ? place(path, picomatch(glob, { nocase: true })) : place(path)];
}

/** Whether a glob matches a path or a folder around it. Relative globs start at `folder`. */
function matcherOf(globs: readonly string[], folder: string): (path: string) => boolean {
  if (globs.length === 0) return () => false;
  const real = realAsFarAsItExists(folder);
  const matchers = globs.map((glob) => {
    const plain = slashed(glob).replace(/^(\.\/+)+|\/+$/g, '');
    const matches = picomatch(plain, { dot: true, nocase: true });
    const isNamed = (path: string) => fold(path) === fold(plain) || matches(path);
    return (path: string) => upwards(slashed(isAbsolute(glob) ? path : relative(real, path))).some(isNamed);
  });
  return (path) => matchers.some((matches) => matches(path));
}

/** A path and the folders around it, as named in the path. */
function upwards(path: string): string[] {
  const names = path.split('/');
  return names.map((_, index) => names.slice(0, names.length - index).join('/'));
}

/**
 * A canonical form of names that some file system treats as equal: case, Unicode normalization, invisible characters,
 * trailing dots and spaces, and NTFS streams.
 */
export function fold(path: string): string {
  const plain = slashed(path);
  const visible = /^[\x20-\x7e]*$/.test(plain)
    ? plain
    : plain.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  return visible.toLowerCase().split('/').map(plainName).join('/');
}

/** A name without its NTFS stream and trailing dots and spaces. */
function plainName(name: string): string {
  const colon = name.indexOf(':');
  let end = colon === -1 ? name.length : colon;
  while (end > 0 && (name[end - 1] === '.' || name[end - 1] === ' ')) end--;
  return name.slice(0, end);
}

function slashed(path: string): string {
  return sep === '/' ? path : path.replaceAll(sep, '/');
}

/** Matches a folded path relative to a root; with `isTree` also everything below it. */
function expressionOf(pattern: string, isTree: boolean): RegExp {
  const names = pathOf(pattern)
    .split('/')
    .map((name) => {
      const short = shortName(name);
      const long = name.replace(/[.+]/g, '\\$&').replaceAll('*', '[^/]*');
      return short === undefined ? long : `(?:${long}|${short})`;
    });
  return new RegExp(`(?:^|/)${names.join('/')}${isTree ? '(?:/|$)' : '$'}`);
}

export function pathOf(pattern: string): string {
  return pattern.replace(/\/\*\*$/, '');
}

/** The short (8.3) name that Windows gives a file, such as `GIT~1` for `.git`. */
function shortName(name: string): string | undefined {
  const [, base = '', ending = ''] = /^\.*(.*?)(?:\.([^.]*))?$/.exec(name)!;
  if (name === `${base}${ending && `.${ending}`}` && base.length <= 8 && ending.length <= 3) return undefined;
  const start = base.replace(/[.*]/g, '').slice(0, 6);
  return `${start}~\\d+${ending && `\\.${ending.replace(/\*/g, '').slice(0, 3)}`}`;
}
