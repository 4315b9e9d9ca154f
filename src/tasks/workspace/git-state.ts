import { type Dirent, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GitFolders } from '../../config/git-folders.ts';

/** What the branches and tags of a repository point to, at one moment. */
export interface GitState {
  /** By full name: branches and tags, and where they point. */
  readonly refs: ReadonlyMap<string, string>;
  /** The branch of this working tree. */
  readonly branch: string | undefined;
}

const REFS = ['refs/heads', 'refs/tags'];
const MAX_ENTRIES = 20_000;

export function gitStateOf({ own, common }: GitFolders): GitState {
  const refs = new Map<string, string>();
  for (const line of textOf(join(common, 'packed-refs'))?.split('\n') ?? []) {
    const [hash, name] = line.split(' ');
    if (name !== undefined && REFS.some((one) => name.startsWith(`${one}/`))) refs.set(name, hash!);
  }
  for (const name of REFS.flatMap((one) => pathsBelow(common, one))) {
    const text = textOf(join(common, name));
    if (text !== undefined) refs.set(name, text.trim());
  }
  const branch = /^ref: (.+)$/m.exec(textOf(join(own, 'HEAD')) ?? '')?.[1];
  return { refs, branch };
}

/** A branch or tag that points elsewhere now, or nowhere. */
export interface MovedRef {
  readonly name: string;
  readonly from: string;
  readonly to: string | undefined;
}

/** What was moved besides the branch that is checked out. New ones may be made by anybody. */
export function movedRefs(before: GitState, after: GitState): MovedRef[] {
  const moved: MovedRef[] = [];
  for (const [name, from] of before.refs) {
    const to = after.refs.get(name);
    if (to !== from && name !== before.branch && name !== after.branch) moved.push({ name, from, to });
  }
  return moved;
}

function pathsBelow(root: string, folder: string): string[] {
  const found: string[] = [];
  const folders = [folder];
  for (let next = folders.pop(); next !== undefined && found.length < MAX_ENTRIES; next = folders.pop()) {
    for (const entry of entriesOf(join(root, next))) {
      (entry.isDirectory() ? folders : found).push(`${next}/${entry.name}`);
    }
  }
  return found;
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
}
