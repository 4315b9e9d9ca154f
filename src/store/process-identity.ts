import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Who a process is, so that others can tell whether it lives. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly host: string;
  /** One run of one kernel: a number of a process means something only within it. The host, where it is not known. */
  readonly boot: string;
  /** Which processes it sees: one in a container has numbers of its own. */
  readonly namespace: string | undefined;
  /** When it started, as the system writes it: tells it from a later process with the same number. */
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

/** A clock that nobody can set, in milliseconds. All processes of a system read the same one. */
export function steadyMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

/** What can be seen of another process from here: whether it lives, or nothing. */
export function livesAsSeenBy(self: ProcessIdentity, other: ProcessIdentity): boolean | undefined {
  if (other.boot !== self.boot) {
    // That run of this machine is over, and so are its processes.
    return other.host === self.host ? false : undefined;
  }
  if (!isVisibleTo(self, other)) return undefined;
  // Whoever asks lives.
  if (other.pid === self.pid && other.start === self.start) return true;
  if (!isThere(other.pid)) return false;
  const found = seen(other.pid);
  // A zombie only waits to be noticed, in some containers for ever.
  if (found?.isOver) return false;
  if (found?.start !== undefined && other.start !== undefined) return found.start === other.start;
  return undefined;
}

/** Whether the number of another process means the same here. */
export function isVisibleTo(self: ProcessIdentity, other: ProcessIdentity): boolean {
  return other.boot === self.boot && other.namespace === self.namespace;
}

interface Seen {
  readonly isOver: boolean;
  readonly start: string | undefined;
}

/** Whether a process has ended, and when it started; undefined where it is gone, or where the system does not tell. */
function seen(pid: number): Seen | undefined {
  const text = tryTo(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  if (text === undefined) return hasProc() || process.platform === 'win32' ? undefined : seenByPs(pid);
  // The second field is the name in brackets, which may itself have spaces and brackets.
  const [state, ...fields] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { isOver: state === 'Z' || state === 'X', start: fields[18] };
}

function hasProc(): boolean {
  return existsSync('/proc/self/stat');
}

/** Asking `ps` takes longer than reading a file: an answer holds for so long. */
const PS_ANSWER_MS = 1000;
const PS_PATIENCE_MS = 2000;
const answers = new Map<number, { readonly seen: Seen | undefined; readonly at: number }>();

/** The same as macOS and the BSDs tell it: `Ss   Tue Nov 17 20:57:01 2026`, the same for everyone who asks. */
export function seenByPs(pid: number): Seen | undefined {
  const now = steadyMs();
  const known = answers.get(pid);
  if (known !== undefined && now - known.at < PS_ANSWER_MS) return known.seen;
  const line = tryTo(() =>
    execFileSync('ps', ['-o', 'stat=', '-o', 'lstart=', '-p', String(pid)], {
      env: { PATH: '/bin:/usr/bin', LC_ALL: 'C', TZ: 'UTC' },
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: PS_PATIENCE_MS,
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
