import { familyOf, type ProcessEntry, readProcessTable } from '../../runners/process/process-table.ts';

/** What the processes that this process started use now. */
export interface MeasuredUse {
  /** Cores, since the sample before. */
  readonly cpu: number;
  readonly memory_mb: number;
}

/** How long after somebody asked it is still measured. */
const WATCHED_MS = 10_000;
/** Reading the table of processes takes at most this share of the time, however many there are. */
const MAX_SHARE = 0.05;

/**
 * Measures the processes below this one: calls in processes, and MCP servers. It reads the process table of the system,
 * so it does this only while somebody looks, and not at all on a system without one.
 */
export class UseMeter {
  private watchedUntil = 0;
  private nextAt = 0;
  private before: { readonly at: number; readonly family: ReadonlyMap<string, ProcessEntry> } | undefined;
  private latest: MeasuredUse | undefined;

  /** Somebody wants to see it. */
  watch(): void {
    this.watchedUntil = performance.now() + WATCHED_MS;
  }

  /** Null while nobody looks, at the first look, and where nothing can be measured. */
  sample(): MeasuredUse | null {
    const at = performance.now();
    if (at > this.watchedUntil) {
      this.before = undefined;
      this.latest = undefined;
      return null;
    }
    if (at < this.nextAt) return this.latest ?? null;
    const table = readProcessTable();
    if (table.length === 0) return null;
    const family = new Map(
      descendantsOf(process.pid, table).map((entry) => [`${entry.pid} ${entry.startTicks}`, entry]),
    );
    const { before } = this;
    this.before = { at, family };
    this.nextAt = at + (performance.now() - at) / MAX_SHARE;
    this.latest = before && {
      cpu: usedMs(before.family, family) / Math.max(1, at - before.at),
      memory_mb: sum(family.values(), ({ residentBytes }) => residentBytes) / 2 ** 20,
    };
    return this.latest ?? null;
  }
}

/** Without the process itself, nor others of its session such as the shell that started it. */
function descendantsOf(root: number, table: readonly ProcessEntry[]): ProcessEntry[] {
  const children = table.filter(({ parent }) => parent === root).map(({ pid }) => pid);
  const found = new Set(children.flatMap((pid) => familyOf(pid, table)));
  return [...found].filter(({ pid }) => pid !== root);
}

/**
 * The CPU time since the sample before. A process that ended passed its time on to its parent, where it was counted
 * already; that of a child of ours is gone with it.
 */
function usedMs(before: ReadonlyMap<string, ProcessEntry>, now: ReadonlyMap<string, ProcessEntry>): number {
  const known = [...before].filter(([key, { parent }]) => now.has(key) || parent !== process.pid);
  const earlier = sum(known, ([, { cpuMs }]) => cpuMs);
  return Math.max(0, sum(now.values(), ({ cpuMs }) => cpuMs) - earlier);
}

function sum<T>(values: Iterable<T>, amountOf: (value: T) => number): number {
  let total = 0;
  for (const value of values) total += amountOf(value);
  return total;
}
