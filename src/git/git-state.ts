import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GitFolders } from '../config/git-folders.ts';
import { filesBelow } from './folder-entries.ts';

/** The refs of a repository at one moment. */
export interface GitState {
  /** Branches and tags by full name, and where they point. */
  readonly refs: ReadonlyMap<string, string>;
  /** The branch of this working tree. */
  readonly branch: string | undefined;
}

const REFS = ['refs/heads', 'refs/tags'];
const MAX_REFS = 20_000;

/** Reads them without git, because an agent may have broken the repository. */
export function readGitState({ own, common }: GitFolders): GitState {
  const refs = new Map<string, string>();
  for (const line of readIfAny(join(common, 'packed-refs'))?.split('\n') ?? []) {
    const [hash, name] = line.split(' ');
    if (name !== undefined && REFS.some((one) => name.startsWith(`${one}/`))) refs.set(name, hash!);
  }
  const loose = REFS.flatMap((folder) =>
    filesBelow(join(common, folder), MAX_REFS).map((file) => `${folder}/${file.replaceAll('\\', '/')}`),
  );
  for (const name of loose) {
    const text = readIfAny(join(common, name));
    if (text !== undefined) refs.set(name, text.trim());
  }
  const branch = /^ref: (.+)$/m.exec(readIfAny(join(own, 'HEAD')) ?? '')?.[1];
  return { refs, branch };
}

function readIfAny(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
}
