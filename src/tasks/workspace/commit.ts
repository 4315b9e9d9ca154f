import { type Git, pathsOf } from './git.ts';
import { OWN_PATHS } from './own-paths.ts';

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
  const own = OWN_PATHS.map((path) => `:(top,literal)${place.prefix}${path}`);
  await git.ask(['reset', '-q', place.base, '--', ...own]);
  if (await git.succeeds(['diff', '--cached', '--quiet', '--no-ext-diff'])) return;
  await git.ask(['commit', '-q', '--no-verify', '--cleanup=whitespace', '-F', '-'], message);
}

/** Those that git ignores; never those that it has already. */
export async function ignoredAmong(git: Git, paths: readonly string[]): Promise<string[]> {
  if (paths.length === 0) return [];
  const { stdout } = await git.run(['check-ignore', '-z', '--stdin'], listOf(paths));
  return pathsOf(stdout);
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
