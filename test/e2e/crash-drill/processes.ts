import { readdirSync, readFileSync } from 'node:fs';
import { processesWith } from '../../runners/support/processes.ts';

const LONGEST_MS = 60_000;

/** A process and all that it has started, directly or not. */
export function treeOf(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const parent = /^\d+$/.test(name) ? parentOf(name) : undefined;
    if (parent === undefined) continue;
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const found = [root];
  for (const pid of found) found.push(...(children.get(pid) ?? []));
  return found;
}

/** Waits until none of some processes, and none that bears a mark, is left. Gives those that would not go. */
export async function leftOver(pids: readonly number[], mark: string): Promise<number[]> {
  const deadline = Date.now() + LONGEST_MS;
  for (;;) {
    const left = [
      ...new Set([...pids.filter((pid) => parentOf(String(pid)) !== undefined), ...processesWith(mark)]),
    ];
    if (left.length === 0 || Date.now() > deadline) return left;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Undefined if it is gone, or only waits to be noticed. */
function parentOf(pid: string): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state, parent] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' || state === 'X' ? undefined : Number(parent);
  } catch {
    return undefined;
  }
}
