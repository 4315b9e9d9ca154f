import { Worker } from 'node:worker_threads';
import type { ScriptEntry } from '../runners/entry.ts';

/** What a script may recurse takes less than this; see `vm.ts`. */
const STACK_MB = 32;
/** For what the thread itself handles, such as texts. The memory of scripts is not part of it. */
const MAX_HEAP_MB = 512;

/** Starts a thread that runs QuickJS. QuickJS cannot be interrupted in a native function, but its thread can be ended. */
export function startScriptThread(entry: ScriptEntry, name: string, workerData?: unknown): Worker {
  return new Worker(entry.url, {
    name,
    workerData,
    stdout: true,
    stderr: true,
    resourceLimits: { stackSizeMb: STACK_MB, maxOldGenerationSizeMb: MAX_HEAP_MB },
    ...(entry.execArgv.length > 0 && { execArgv: [...entry.execArgv] }),
  });
}

/** Ends a thread, which may be anywhere in a script. */
export function endScriptThread(worker: Worker): void {
  worker.removeAllListeners();
  // What arrives late is ignored, but must not end the process.
  worker.on('error', () => {});
  void worker.terminate();
}
