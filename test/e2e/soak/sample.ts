import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { treeOf } from '../crash-drill/processes.ts';

/** What the process has at a moment at which nothing runs. */
export interface Sample {
  readonly heapMb: number;
  readonly residentMb: number;
  readonly files: number;
  readonly processes: number;
  /** Timers, sockets and the like that keep the event loop going. */
  readonly handles: number;
  readonly storeMb: number;
}

const MB = 2 ** 20;

export async function takeSample(storeFile: string): Promise<Sample> {
  // What hangs on finalizers goes with a later collection.
  for (let turn = 0; turn < 4; turn++) {
    (globalThis as { gc?: () => void }).gc!();
    await nextTurn();
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  return {
    heapMb: (heapUsed + external) / MB,
    residentMb: rss / MB,
    files: openFiles(),
    processes: treeOf(process.pid).length - 1,
    handles: process.getActiveResourcesInfo().length,
    storeMb: ['', '-wal'].reduce((sum, end) => sum + sizeOf(`${storeFile}${end}`), 0) / MB,
  };
}

/** Without those of control groups: as many are kept as calls were in progress at once, up to a limit. */
function openFiles(): number {
  return readdirSync('/proc/self/fd').filter((descriptor) => {
    try {
      return !readlinkSync(`/proc/self/fd/${descriptor}`).includes('/cgroup/');
    } catch {
      // The list itself was open.
      return false;
    }
  }).length;
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
