import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Identifies a process, so that others can tell whether it is alive. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly host: string;
  /** The boot id: process ids are valid only within one boot. The host name if it is unknown. */
  readonly boot: string;
  /** The PID namespace: a container has its own process ids. */
  readonly namespace: string | undefined;
  /** The start time as the system reports it: distinguishes a later process with the same id. */
  readonly start: string | undefined;
}

let own: ProcessIdentity | undefined;

export function ownIdentity(): ProcessIdentity {
  if (own === undefined) {
    const host = hostname();
    own = {
      pid: process.pid,
      host,
      boot: tryTo(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()) ?? host,
      namespace: tryTo(() => readlinkSync('/proc/self/ns/pid')),
      start: seen(process.pid)?.start,
    };
  }
  return own;
}

/** The monotonic clock in milliseconds, shared by all processes of a system. */
export function steadyMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

/** Whether another process is alive, as far as it is visible from here. */
export function livesAsSeenBy(self: ProcessIdentity, other: ProcessIdentity): boolean | undefined {
  if (other.boot !== self.boot) {
    // That boot is over, and so are its processes.
    return other.host === self.host ? false : undefined;
  }
  if (!isVisibleTo(self, other)) return undefined;
  // The current process is alive.
  if (other.pid === self.pid && other.start === self.start) return true;
  if (!isThere(other.pid)) return false;
  const found = seen(other.pid);
  // A zombie only waits to be reaped, in some containers forever.
  if (found?.isOver) return false;
  if (found?.start !== undefined && other.start !== undefined) return found.start === other.start;
  return undefined;
}

/** Whether the other process's id is valid here. */
export function isVisibleTo(self: ProcessIdentity, other: ProcessIdentity): boolean {
  return other.boot === self.boot && other.namespace === self.namespace;
}

interface Seen {
  readonly isOver: boolean;
  readonly start: string | undefined;
}

/** Whether a process has ended, and its start time; undefined if it is gone or the system does not say. */
function seen(pid: number): Seen | undefined {
  const text = tryTo(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  if (text === undefined) return hasProc() || process.platform === 'win32' ? undefined : seenByPs(pid);
  // The second field is the name in parentheses, which may contain spaces and parentheses.
  const [state, ...fields] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { isOver: state === 'Z' || state === 'X', start: fields[18] };
}

function hasProc(): boolean {
  return existsSync('/proc/self/stat');
}

/** `ps` is slower than reading a file, so its answers are cached for this long. */
const PS_CACHE_MS = 1000;
const PS_TIMEOUT_MS = 2000;
const answers = new Map<number, { readonly seen: Seen | undefined; readonly at: number }>();

/** The same on macOS and the BSDs, from `ps`: `Ss   Tue Nov 17 20:57:01 2026`. */
export function seenByPs(pid: number): Seen | undefined {
  const now = steadyMs();
  const known = answers.get(pid);
  if (known !== undefined && now - known.at < PS_CACHE_MS) return known.seen;
  const line = tryTo(() =>
    execFileSync('ps', ['-o', 'stat=', '-o', 'lstart=', '-p', String(pid)], {
      env: { PATH: '/bin:/usr/bin', LC_ALL: 'C', TZ: 'UTC' },
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: PS_TIMEOUT_MS,
      encoding: 'latin1',
    }),
  );
  const [state = '', ...start] = line?.trim().split(/\s+/) ?? [];
  const found = start.length === 0 ? undefined : { isOver: state.startsWith('Z'), start: start.join(' ') };
  answers.clear();
  answers.set(pid, { seen: found, at: now });
  return found;
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function tryTo<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
