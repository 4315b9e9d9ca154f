import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

const SCRIPT = fileURLToPath(new URL('./client-watch.pl', import.meta.url));
/** How long this process may be silent after its client is gone, before it is killed. */
const GRACE_MS = 4000;
const BEAT_MS = 500;

/**
 * Ends this process with its client, even if a tool blocks the thread: another process watches the same standard input,
 * and kills this one when the input has closed and no beat arrives. It is written in Perl, because Node cannot notice
 * that a stream has closed without reading it.
 */
export function endWithClient(stdin: Readable): void {
  const watcher = spawn('perl', [SCRIPT, String(process.pid), String(GRACE_MS)], {
    cwd: '/',
    // Without the user's Perl settings.
    env: { PATH: process.env['PATH'], LC_ALL: 'C' },
    stdio: ['inherit', 'ignore', 'ignore', 'pipe'],
    detached: true,
  });
  watcher.on('error', () => watchParent());
  watcher.unref();
  const control = watcher.stdio[3] as Writable & { unref(): void };
  control.on('error', () => {});
  control.unref();
  const beat = () => setInterval(() => control.write('.'), BEAT_MS).unref();
  if (stdin.readableEnded || stdin.destroyed) beat();
  else stdin.once('end', beat);
}

/** A thread cannot watch the input, but it sees that the parent is gone and the main thread silent. */
const PARENT_WATCH = `
const { workerData: { parent, graceMs, beats } } = require('node:worker_threads');
let last = -1;
let silentSince;
setInterval(() => {
  try {
    // An orphan gets another parent, except on Windows.
    if (process.ppid === parent && process.kill(parent, 0)) return;
  } catch (error) {
    if (error.code !== 'ESRCH') return;
  }
  const now = performance.now();
  const count = Atomics.load(beats, 0);
  if (count !== last) [last, silentSince] = [count, now];
  else if (now - silentSince > graceMs) process.kill(process.pid, 'SIGKILL');
}, 500);
`;

/** Without Perl: notices a client that died, not one that only closed the input. */
function watchParent(): void {
  const beats = new Int32Array(new SharedArrayBuffer(4));
  setInterval(() => Atomics.add(beats, 0, 1), BEAT_MS).unref();
  const workerData = { parent: process.ppid, graceMs: GRACE_MS, beats };
  new Worker(PARENT_WATCH, { eval: true, workerData }).on('error', () => {}).unref();
}
