import { createHash } from 'node:crypto';
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { ASK_MODEL } from '../core/ask-tools.ts';
import { VolleyError } from '../core/errors.ts';
import { show } from '../core/numbers.ts';
import { shellQuote } from '../core/shell-quote.ts';
import { listText } from '../core/words.ts';
import type { AssembledSettings } from './assemble.ts';
import type { EnvironmentVariables, TomlTable } from './environment.ts';
import { type WaitingSetting, waitingSettings, withoutWaiting } from './gate.ts';
import { type GitFolders, gitFoldersOf } from './git-folders.ts';
import type { Settings } from './schema.ts';
import { MISSING, TrustStore } from './trust-store.ts';
import type { TrustedFiles } from './trusted-files.ts';
import { TRUST_VARIABLE } from './user-folder.ts';

/** Whether the user trusts a folder, and which settings are off until then. */
export interface WorkspaceTrust {
  /** `not-needed` if nothing in the file needs it, `changed` if the files no longer match the approval. */
  readonly status: 'not-needed' | 'trusted' | 'untrusted' | 'changed';
  /** The command that approves it. */
  readonly command: string;
  /** The settings that are off until then, as written in the file: `tools.modules`. */
  readonly waiting: readonly string[];
  /** The modules among them. They are write-protected until they are approved. */
  readonly waitingModules: readonly string[];
  /** The files that changed since the approval, by their names in the folder. */
  readonly changed: readonly string[];
  /** Why an approval was rejected. */
  readonly problem: string | undefined;
  /** The approved files with their hashes, and those that were missing, by absolute path; empty if no approval was checked. */
  readonly files: ReadonlyMap<string, string>;
}

export interface TrustQuestion {
  readonly file: string;
  /** The parsed content. */
  readonly bytes: Buffer;
  readonly folder: string;
  /** The settings of the file. */
  readonly said: TomlTable;
  readonly waiting: readonly WaitingSetting[];
  readonly env: EnvironmentVariables;
}

/**
 * Returns the effective settings and whether the folder is trusted. `isVouchedFor`: the caller vouches for the file.
 * Files are read only if an approval may cover them.
 */
export async function gate(
  assembled: AssembledSettings & Omit<TrustQuestion, 'waiting'>,
  isVouchedFor: boolean,
): Promise<{ readonly settings: Settings; readonly trust: WorkspaceTrust }> {
  const { settings, said, overrides, folder } = assembled;
  const waiting = waitingSettings(said, folder, overrides);
  const trust = await decideTrust({ ...assembled, waiting }, isVouchedFor);
  return { settings: trust.waiting.length === 0 ? settings : withoutWaiting(settings, waiting), trust };
}

async function decideTrust(question: TrustQuestion, isVouchedFor: boolean): Promise<WorkspaceTrust> {
  const { file, env, waiting } = question;
  const undecided = {
    status: 'untrusted' as const,
    command: trustCommand(file),
    waiting: waiting.map(({ setting }) => setting),
    waitingModules: modulesIn(question.said),
    changed: [],
    problem: undefined,
    files: new Map<string, string>(),
  };
  if (waiting.length === 0) return { ...undecided, status: 'not-needed', waitingModules: [] };
  const trusted = { ...undecided, status: 'trusted' as const, waiting: [], waitingModules: [] };
  if (isVouchedFor) return trusted;
  try {
    const approval = approvalOf(file, env);
    const given = env[TRUST_VARIABLE];
    if (approval === undefined && !given) return undecided;
    const found = await filesInQuestion(question);
    if (given === found.hash || approval?.hash === found.hash) return { ...trusted, files: found.paths };
    if (approval === undefined)
      return {
        ...undecided,
        problem: `${TRUST_VARIABLE} does not match; the hash of these files is ${found.hash}`,
      };
    return { ...undecided, status: 'changed', changed: differences(approval.files, found.files) };
  } catch (error) {
    if (!(error instanceof VolleyError)) throw error;
    return { ...undecided, problem: error.message };
  }
}

/** The key of an approval: the folder of a `volley.toml`, or the path of a configuration file with another name. */
export function trustKey(file: string): string {
  return basename(file) === 'volley.toml' ? dirname(file) : file;
}

/** The files that an approval covers. Ignores the environment, so the hash is the same on every machine. */
export async function filesInQuestion({
  file,
  bytes,
  folder,
  said,
}: Pick<TrustQuestion, 'file' | 'bytes' | 'folder' | 'said'>): Promise<TrustedFiles> {
  // Certificates change when they are renewed, and they run nothing.
  const named = waitingSettings(said, folder).filter(({ path }) => path[0] !== 'server');
  // Loaded late: read-only commands do not need it.
  const { trustedFiles } = await import('./trusted-files.ts');
  return trustedFiles(
    { file, bytes },
    folder,
    modulesIn(said),
    named.map(({ value }) => value),
  );
}

/** Unvalidated: an environment variable may override the value in the file. */
function modulesIn(said: TomlTable): string[] {
  const modules = (said['tools'] as { modules?: unknown } | undefined)?.modules;
  return Array.isArray(modules) ? modules.filter((pattern) => typeof pattern === 'string') : [];
}

/** The names of files that were added, changed or removed. */
export function differences(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => before[name] !== after[name]).sort();
}

/** Says which settings need approval and how a person approves them. `settings`: those that matter to the caller. */
export function trustText(
  { status, waiting, changed, problem, command }: WorkspaceTrust,
  settings = waiting,
): string {
  const names = listText([...settings]);
  const isOne = settings.length === 1;
  const why =
    problem !== undefined
      ? ` (${problem.replace(/\.$/, '')})`
      : status === 'changed'
        ? ` again, because ${listText(changed.slice(0, 5).map(harmless), changed.length)} changed`
        : '';
  return `${names} in volley.toml ${isOne ? 'needs' : 'need'} approval${why}. ${approvalText(command)}`;
}

/** A process that has read the file does not read it again. */
function approvalText(command: string): string {
  return `Only a person can approve this. Restart any running volley mcp or volley serve afterwards. To approve, run: ${command}`;
}

/** An untrusted file name, without control characters. */
function harmless(name: string): string {
  return name.replace(/[\p{Cc}\p{Cf}]/gu, '\ufffd');
}

/** The error for an operation that needs unapproved settings. */
export function notTrusted(what: string, trust: WorkspaceTrust, settings = trust.waiting): VolleyError {
  return new VolleyError('NOT_TRUSTED', `${what} ${trustText(trust, settings)}`, {
    waiting: settings,
    command: trust.command,
  });
}

/** Why a tool is missing, if an unapproved setting could provide it. */
export function untrustedTool(
  trust: WorkspaceTrust,
  name: string,
  isUnlikeOthers: boolean,
): VolleyError | undefined {
  const bringing = [`mcp.servers.${String(name).split('.', 1)[0]}`, `tools.${name}.enabled`];
  if (name === ASK_MODEL) bringing.push(...trust.waiting.filter((one) => one.startsWith('models.')));
  // A name close to that of an existing tool is probably a typo.
  if (isUnlikeOthers) bringing.push('tools.modules');
  const settings = trust.waiting.filter((setting) => bringing.includes(setting));
  return settings.length === 0
    ? undefined
    : notTrusted(`There is no tool ${show(name)} yet:`, trust, settings);
}

/** Stat signatures of files, taken when their content last matched the approval. */
const signatures = new WeakMap<WorkspaceTrust, Map<string, string>>();

/**
 * Throws if a file no longer matches its approval. Called right before and after code of the folder is loaded. Cheap: a
 * file is read again only if its size or timestamps changed.
 */
export function requireUnchanged(trust: WorkspaceTrust): void {
  if (trust.files.size === 0) return;
  const known = signatures.get(trust) ?? new Map<string, string>();
  signatures.set(trust, known);
  for (const [path, hash] of trust.files) {
    const now = signatureOf(path);
    if (now !== undefined && known.get(path) === now) continue;
    // It may be a folder: whatever is loaded from it has its own path.
    if (hash === MISSING && !isFile(path)) continue;
    if (now === undefined || hashOf(path) !== hash) {
      throw new VolleyError(
        'NOT_TRUSTED',
        `${path} changed after it was approved, so no code of this folder runs. ${approvalText(trust.command)}`,
        { changed: [path], command: trust.command },
      );
    }
    known.set(path, now);
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function signatureOf(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join();
}

function hashOf(path: string): string | undefined {
  try {
    return createHash('sha256').update(readFileSync(path)).digest('hex');
  } catch {
    return undefined;
  }
}

function trustCommand(file: string): string {
  const key = trustKey(file);
  return key === file ? `volley trust --config ${shellQuote(file)}` : `volley trust ${shellQuote(key)}`;
}

function approvalOf(file: string, env: EnvironmentVariables) {
  const store = new TrustStore(env);
  const key = trustKey(file);
  const own = store.approval(key);
  if (own !== undefined) return own;
  const project = counterpartOf(realpathSync(key));
  return project === undefined ? undefined : store.approval(project);
}

/**
 * The project folder that a Volley worktree was created from. Git must know it as a worktree of the same repository: a
 * folder that merely has that path was not created by Volley.
 */
function counterpartOf(path: string): string | undefined {
  const [, root, project] = /^((.+)[\\/]\.volley[\\/]worktrees[\\/][^\\/]+)(?:[\\/]|$)/.exec(path) ?? [];
  if (root === undefined || project === undefined) return undefined;
  const [made, from] = [gitFoldersOf(root), gitFoldersOf(project)];
  const isOfSame = made !== undefined && made.root === root && made.common === from?.common;
  if (!isOfSame || !isKnownToGit(made)) return undefined;
  return join(from!.root, relative(root, path));
}

/** Git's record of a worktree names its folder, and only a writer to the repository can change that. */
function isKnownToGit({ root, own, common }: GitFolders): boolean {
  try {
    const isBelow = dirname(own) === join(common, 'worktrees');
    return (
      isBelow &&
      realpathSync(readFileSync(join(own, 'gitdir'), 'utf8').trim()) === realpathSync(join(root, '.git'))
    );
  } catch {
    return false;
  }
}
