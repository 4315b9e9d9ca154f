import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

const SCRIPT = fileURLToPath(new URL('./client-watch.pl', import.meta.url));
/** How long this process may be silent after its client has gone, before it is ended. */
const GRACE_MS = 4000;
const BEAT_MS = 500;

/**
 * Makes sure that this process ends with its client, even if a tool never gives the thread back: another process watches
 * the same standard input, and ends this one when that has closed and nothing is heard from here. It is in Perl, as the
 * helper that starts programs: Node cannot see that a stream has closed without reading it.
 */
export function endWithClient(stdin: Readable): void {
  const watcher = spawn('perl', [SCRIPT, String(process.pid), String(GRACE_MS)], {
    cwd: '/',
    // No settings for Perl of the user.
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

/** A thread sees nothing of the input, but it sees that the parent is gone and that this thread is silent. */
const PARENT_WATCH = `
const { workerData: { parent, graceMs, beats } } = require('node:worker_threads');
let last = -1;
let silentSince;
setInterval(() => {
  try {
    // A parent that is gone leaves its child to another, except on Windows.
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

/** The watch where there is no Perl: it notices a client that has died, not one that only closed the input. */
function watchParent(): void {
  const beats = new Int32Array(new SharedArrayBuffer(4));
  setInterval(() => Atomics.add(beats, 0, 1), BEAT_MS).unref();
  const workerData = { parent: process.ppid, graceMs: GRACE_MS, beats };
  new Worker(PARENT_WATCH, { eval: true, workerData }).on('error', () => {}).unref();
}
