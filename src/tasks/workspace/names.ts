import { createHash } from 'node:crypto';

/** How a worktree is named: its folder, and its branch below `volley/`. */
export interface WorktreeName {
  readonly folder: string;
  readonly branch: string;
}

const MOST = 100;

/** Names for an attempt, best first; others are for when work that was kept has it. */
export function* worktreeNames(feature: string, seq: string): Generator<WorktreeName> {
  const name = plain(feature);
  for (let number = 1; number <= MOST; number++) {
    const place = number === 1 ? plain(seq) : `${plain(seq)}.${number}`;
    yield { folder: `${name}-${place}`, branch: `volley/${name}/${place}` };
  }
}

/** The folder in which the work of a feature is looked at together with what the project has. */
export function intakeFolder(feature: string): string {
  return `${plain(feature)}-merge`;
}

/** What the branches of all worktrees of a feature begin with. */
export function branchesOf(feature: string): string {
  return `volley/${plain(feature)}/`;
}

/** Whose folder this is. Numbers of subtasks have no hyphens. */
export function nameOfFolder(folder: string): WorktreeName | undefined {
  const [, name, place] = /^(.+)-([^-]+)$/.exec(folder) ?? [];
  return name === undefined ? undefined : { folder, branch: `volley/${name}/${place}` };
}

export function nameOfBranch(branch: string): WorktreeName | undefined {
  const [, name, place] = /^volley\/([^/]+)\/([^/]+)$/.exec(branch) ?? [];
  return name === undefined ? undefined : { folder: `${name}-${place}`, branch };
}

/** Git forbids much in names of branches. What had to be changed is told apart by its end. */
function plain(text: string): string {
  const name = text
    .replace(/[^\p{L}\p{N}_.-]+/gu, '-')
    .replace(/\.{2,}/g, '.')
    .replace(/^[.-]+|[.-]+$/g, '')
    .replace(/\.lock$/i, '-lock');
  return name === text ? name : `${name}_${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
}
