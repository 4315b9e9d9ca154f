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

/** Git forbids much in names of branches. What had to be changed is told apart by its end. */
function plain(text: string): string {
  const name = text
    .replace(/[^\p{L}\p{N}_.-]+/gu, '-')
    .replace(/\.{2,}/g, '.')
    .replace(/^[.-]+|[.-]+$/g, '')
    .replace(/\.lock$/i, '-lock');
  return name === text ? name : `${name}_${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
}
