import { readdirSync, statSync } from 'node:fs';
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
    files: readdirSync('/proc/self/fd').length,
    processes: treeOf(process.pid).length - 1,
    handles: process.getActiveResourcesInfo().length,
    storeMb: ['', '-wal'].reduce((sum, end) => sum + sizeOf(`${storeFile}${end}`), 0) / MB,
  };
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
