import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** A process as `/proc` shows it. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly cpuMs: number;
  /** The start time in ticks since boot: with the pid, it identifies a process. */
  readonly startTicks: number;
  readonly residentBytes: number;
  readonly isZombie: boolean;
}

const TICK_MS = 10;
let pageBytes: number | undefined;

/** All visible processes; empty on systems without /proc. */
export function readProcessTable(): ProcessEntry[] {
  const entries: ProcessEntry[] = [];
  for (const name of existsSync('/proc/self/stat') ? readdirSync('/proc') : []) {
    const first = name.charCodeAt(0);
    if (first < 48 || first > 57) continue;
    const entry = readProcess(Number(name));
    if (entry !== undefined) entries.push(entry);
  }
  return entries;
}

export function readProcess(pid: number): ProcessEntry | undefined {
  try {
    const entry = parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    // The kernel is removing it: it has no group any more, and no parent.
    return entry.group === -1 ? undefined : entry;
  } catch {
    // It ended meanwhile.
    return undefined;
  }
}

/** The bytes that a process, and the children it waited for, wrote to disk; 0 if unknown. */
export function writtenBy(pid: number): number {
  try {
    return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** The process, its descendants, and the members of its group and session. */
export function familyOf(root: number, table: readonly ProcessEntry[]): ProcessEntry[] {
  const members = new Set<number>([root]);
  // A child may come before its parent, since process ids wrap around.
  for (let before = 0; before < members.size; ) {
    before = members.size;
    for (const { pid, parent, group, session } of table) {
      if (group === root || session === root || members.has(parent)) members.add(pid);
    }
  }
  return table.filter(({ pid, isZombie }) => members.has(pid) && !isZombie);
}

/** Whether the same process still runs. */
export function isRunning({ pid, startTicks }: ProcessEntry): boolean {
  const now = readProcess(pid);
  return now !== undefined && now.startTicks === startTicks && !now.isZombie;
}

/** The name in parentheses may contain anything; the fields start after the last parenthesis. */
function parseStat(stat: string): ProcessEntry {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const at = (index: number) => Number(fields[index]);
  return {
    pid: Number.parseInt(stat, 10),
    parent: at(1),
    group: at(2),
    session: at(3),
    cpuMs: (at(11) + at(12) + at(13) + at(14)) * TICK_MS,
    startTicks: at(19),
    residentBytes: at(21) * sizeOfPage(),
    isZombie: fields[0] === 'Z' || fields[0] === 'X',
  };
}

/** Found by comparison: Node reports its own size in bytes, the table in pages. */
function sizeOfPage(): number {
  if (pageBytes === undefined) {
    pageBytes = 1;
    const pages = readProcess(process.pid)!.residentBytes;
    pageBytes = 2 ** Math.round(Math.log2(process.memoryUsage.rss() / pages));
  }
  return pageBytes;
}
