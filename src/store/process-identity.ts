import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Who a process is, so that others can tell whether it lives. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly host: string;
  /** One run of one kernel: a number of a process means something only within it. The host, where it is not known. */
  readonly boot: string;
  /** Which processes it sees: one in a container has numbers of its own. */
  readonly namespace: string | undefined;
  /** When it started, in ticks of the kernel: tells it from a later process with the same number. */
  readonly start: string | undefined;
}

export function ownIdentity(): ProcessIdentity {
  const host = hostname();
  return {
    pid: process.pid,
    host,
    boot: tryTo(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()) ?? host,
    namespace: tryTo(() => readlinkSync('/proc/self/ns/pid')),
    start: seen(process.pid)?.start,
  };
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
  if (other.namespace !== self.namespace) return undefined;
  // Whoever asks lives.
  if (other.pid === self.pid && other.start === self.start) return true;
  const found = seen(other.pid);
  // A zombie only waits to be noticed, in some containers for ever.
  if (found?.isOver) return false;
  if (found?.start !== undefined && other.start !== undefined) return found.start === other.start;
  return isThere(other.pid) ? undefined : false;
}

/** Whether a process has ended, and when it started; undefined where it is gone, or where the system does not tell. */
function seen(pid: number): { isOver: boolean; start: string | undefined } | undefined {
  const text = tryTo(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  if (text === undefined) return undefined;
  // The second field is the name in brackets, which may itself have spaces and brackets.
  const [state, ...fields] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { isOver: state === 'Z' || state === 'X', start: fields[18] };
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
