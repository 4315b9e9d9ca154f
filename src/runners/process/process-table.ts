import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** A process as `/proc` shows it. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly cpuMs: number;
  /** When it started, in ticks since the system did: with the pid it names one process for good. */
  readonly startTicks: number;
  readonly residentBytes: number;
  readonly isZombie: boolean;
}

const TICK_MS = 10;
let pageBytes: number | undefined;

/** Every process that can be seen; none on systems without this table. */
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
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // It ended in the meantime.
    return undefined;
  }
}

/** How many bytes a process, and those that it waited for, have had written to disks; 0 where that is not told. */
export function writtenBy(pid: number): number {
  try {
    return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** The processes that descend from one, and those of its group and session, itself included. */
export function familyOf(root: number, table: readonly ProcessEntry[]): ProcessEntry[] {
  const members = new Set<number>([root]);
  // A child may stand before its parent in the table, since process ids begin anew.
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

/** The name, in brackets, may hold anything; the fields begin after the last bracket. */
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

/** Found by comparison: Node tells its own size in bytes, the table in pages. */
function sizeOfPage(): number {
  if (pageBytes === undefined) {
    pageBytes = 1;
    const pages = readProcess(process.pid)!.residentBytes;
    pageBytes = 2 ** Math.round(Math.log2(process.memoryUsage.rss() / pages));
  }
  return pageBytes;
}
