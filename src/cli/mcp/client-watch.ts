import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

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
  // Without Perl there is no watchdog.
  watcher.on('error', () => {});
  watcher.unref();
  const control = watcher.stdio[3] as Writable & { unref(): void };
  control.on('error', () => {});
  control.unref();
  const beat = () => setInterval(() => control.write('.'), BEAT_MS).unref();
  if (stdin.readableEnded || stdin.destroyed) beat();
  else stdin.once('end', beat);
}
