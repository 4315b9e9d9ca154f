import { availableParallelism, constants } from 'node:os';
import { setTimeout, setTimeout as sleep } from 'node:timers/promises';
import { VolleyError } from '../../core/errors.ts';
import type { Breach, ProcessUsage, RunLimits } from '../runner.ts';
import type { Cgroup, CgroupFeature } from './cgroup.ts';
import type { LaunchedProcess, Launcher, LaunchRequest, OutputStream, ProcessEnd } from './launcher.ts';
import type { UsageWatch } from './memory-watch.ts';
import { familyOf, isRunning, type ProcessEntry, readProcessTable, writtenBy } from './process-table.ts';

const NAMES = new Map<number, string>();
// If two names share a number, the first is the common one: SIGABRT, not SIGIOT.
for (const [name, number] of Object.entries(constants.signals)) {
  if (!NAMES.has(number)) NAMES.set(number, name);
}

export function signalName(number: number): string | undefined {
  return NAMES.get(number);
}

/** The most breaches named in an error. */
const MAX_NAMED = 20;

/** The failure of a call whose program created or changed protected paths. Not retryable: it would do the same again. */
export function breachFailure(program: string, breaches: readonly Breach[]): VolleyError {
  const named = breaches.slice(0, MAX_NAMED);
  const what = named.map(({ path, pattern, movedTo }) => {
    const where = movedTo === undefined ? 'changed, not restored' : `moved to ${movedTo}`;
    return `${path} (${pattern}; ${where})`;
  });
  if (breaches.length > MAX_NAMED) what.push(`and ${breaches.length - MAX_NAMED} more`);
  const message = `Protected paths were created or changed while ${program} ran: ${what.join(', ')}. To allow this, add them to \`tools.writable\` in volley.toml. Volley's own files always stay protected.`;
  return Object.assign(new VolleyError('PATH_PROTECTED', message, { program, breaches: named }), {
    retryable: false,
  });
}

/** How long to wait for a killed group. A process that hangs in the kernel longer cannot be waited for. */
const LINGER_MS = 500;
const LOOK_MS = 5;

/** Signals a process group. Returns false if it is gone. */
export function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch (error) {
    // EPERM: it exists, but belongs to another user now.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Kills a process group and waits until it is gone. */
export async function endGroup(pid: number): Promise<void> {
  const deadline = performance.now() + LINGER_MS;
  while (signalGroup(pid, 'SIGKILL') && performance.now() < deadline) await setTimeout(LOOK_MS);
}

export interface ConfinedListener {
  started(pid: number): void;
  data(stream: OutputStream, chunk: Buffer): void;
}

/** How a program ended, and the limit that ended it, if any. */
export interface ConfinedEnd extends ProcessEnd {
  readonly limit: 'memory' | 'cpu' | 'processes' | 'disk' | undefined;
  /** The protected paths it created or changed. */
  readonly breaches: readonly Breach[];
  /** Whether the exit status comes from bubblewrap, which passes on that of the program. */
  readonly isSandboxed: boolean;
  readonly usage: ProcessUsage;
  /** Whether there is such an exit status without a program having run: bubblewrap may have failed before. */
  readonly isStartUncertain: boolean;
}

interface ConfinedSetup {
  readonly launcher: Launcher;
  readonly watch: UsageWatch;
  readonly cgroup: Cgroup | undefined;
  /** Whether the kernel enforces a limit in the cgroup; other limits are polled. */
  readonly keeps: (feature: CgroupFeature) => boolean;
  readonly limits: RunLimits;
  readonly isSandboxed: boolean;
  /** Whether its sandbox was there before it. */
  readonly isEntered: boolean;
  readonly request: LaunchRequest;
  readonly listener: ConfinedListener;
  /** Called when nothing of it remains. */
  readonly cleanUp: () => Promise<readonly Breach[]>;
}

/** Reading it costs more than the rest, and disks are slower than memory. */
const LOOKS_PER_DISK_LOOK = 5;
/** No disk writes faster: what cannot have been written yet is not counted. */
const MAX_DISK_MB_PER_MS = 50;
const CORES = availableParallelism();
const GONE_LIMIT_MS = 5000;
const GONE_TICK_MS = 5;
/** bubblewrap itself, and the first process in its namespace. */
const SANDBOX_PROCESSES = 2;

/** A running program with all its descendants. */
export class ConfinedProcess {
  /** Settles when nothing of it remains. Never rejects. */
  readonly ended: Promise<ConfinedEnd>;
  private readonly launched: LaunchedProcess;
  private readonly endWatch: () => void;
  private pid: number | undefined;
  private limit: ConfinedEnd['limit'];
  /** Whether it has ended: from then on its cgroup may belong to another one. */
  private hasEnded = false;
  private looks = 0;
  private readonly startedAt = performance.now();
  /** The most memory that was seen, if there is no cgroup. */
  private peakBytes = 0;
  /** Its processes as last seen, if there is no cgroup. */
  private family: readonly ProcessEntry[] = [];

  constructor(private readonly setup: ConfinedSetup) {
    const { launcher, request, listener, watch, keeps, limits } = setup;
    const needsTable =
      !keeps('pids') ||
      (limits.memoryMb !== undefined && !keeps('memory')) ||
      (limits.cpuMs !== undefined && !keeps('cpu'));
    this.endWatch =
      needsTable ||
      limits.cpuMs !== undefined ||
      limits.processes !== undefined ||
      limits.diskMb !== undefined
        ? watch.add((table) => this.look(table), { needsTable })
        : () => {};
    let resolve: (end: ConfinedEnd) => void;
    this.ended = new Promise((settle) => {
      resolve = settle;
    });
    this.launched = launcher.launch(request, {
      started: (pid) => {
        this.pid = pid;
        listener.started(pid);
      },
      data: (stream, chunk) => listener.data(stream, chunk),
      ended: (end) => void this.finish(end).then(resolve),
    });
  }

  write(chunk: Buffer | string): void {
    this.launched.write(chunk);
  }

  endInput(): void {
    this.launched.endInput();
  }

  /** Kills it and everything it started, or sends a signal to its group. */
  kill(signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): void {
    if (this.hasEnded) return;
    const { cgroup, keeps } = this.setup;
    if (!keeps('pids') && this.pid !== undefined) this.family = familyOf(this.pid, readProcessTable());
    this.launched.kill(signal);
    if (signal === 'SIGTERM') return;
    cgroup?.kill();
    this.killFamily();
  }

  /** Checks the usage that the kernel does not limit for all processes together. */
  private look(table: readonly ProcessEntry[]): void {
    const { cgroup, keeps, limits, isSandboxed } = this.setup;
    if (this.pid === undefined || this.limit !== undefined) return;
    if (table.length > 0) this.family = familyOf(this.pid, table);
    const { family } = this;
    const { memoryMb = Infinity, cpuMs = Infinity, processes = Infinity, diskMb = Infinity } = limits;
    const ageMs = performance.now() - this.startedAt;
    const usedCpuMs = () => (keeps('cpu') ? (cgroup?.cpuMs ?? 0) : sum(family, (entry) => entry.cpuMs));
    const residentBytes = keeps('memory') ? 0 : sum(family, (entry) => entry.residentBytes);
    this.peakBytes = Math.max(this.peakBytes, residentBytes);
    if (ageMs * CORES > cpuMs && usedCpuMs() > cpuMs) this.stopFor('cpu');
    else if (residentBytes > memoryMb * 2 ** 20) this.stopFor('memory');
    else if (
      ageMs * MAX_DISK_MB_PER_MS > diskMb &&
      this.isDiskTurn() &&
      this.writtenBytes() > diskMb * 2 ** 20
    )
      this.stopFor('disk');
    else if (processes !== Infinity) {
      // The kernel's own limit counts threads and is generous.
      const max = processes + (isSandboxed ? SANDBOX_PROCESSES : 0);
      const count = () => (keeps('pids') ? (cgroup?.pids.length ?? 0) : family.length);
      if (cgroup?.mayExceed(max) !== false && count() > max) this.stopFor('processes');
    }
  }

  private isDiskTurn(): boolean {
    return this.looks++ % LOOKS_PER_DISK_LOOK === 0;
  }

  /** What its processes wrote to disk; those that ended count with the parent that waited for them. */
  private writtenBytes(): number {
    const { cgroup, keeps } = this.setup;
    const pids = keeps('pids') ? (cgroup?.pids ?? []) : this.family.map(({ pid }) => pid);
    return pids.reduce((total, pid) => total + writtenBy(pid), 0);
  }

  private stopFor(limit: NonNullable<ConfinedEnd['limit']>): void {
    this.limit = limit;
    this.kill();
  }

  private async finish(end: ProcessEnd): Promise<ConfinedEnd> {
    const { cgroup, cleanUp, isSandboxed, isEntered } = this.setup;
    this.hasEnded = true;
    this.endWatch();
    const limit = this.limit ?? this.limitBehind(end);
    const usage = this.usageOf(end);
    this.killFamily();
    await Promise.all([cgroup?.release(), this.familyGone()]);
    const breaches = await cleanUp();
    return { ...end, limit, isSandboxed, isStartUncertain: isSandboxed && !isEntered, breaches, usage };
  }

  private usageOf(end: ProcessEnd): ProcessUsage {
    const { cgroup } = this.setup;
    const bytes = cgroup?.peakBytes ?? (this.peakBytes > 0 ? this.peakBytes : undefined);
    return {
      memoryMb: bytes === undefined ? undefined : bytes / 2 ** 20,
      cpuMs: cgroup?.cpuMs ?? end.cpuMs,
      durationMs: performance.now() - this.startedAt,
    };
  }

  /** The kernel limit that ended it. */
  private limitBehind(end: ProcessEnd): ConfinedEnd['limit'] {
    const { cgroup, limits, isSandboxed } = this.setup;
    if ((cgroup?.oomKills ?? 0) > 0) return 'memory';
    const { signal } = signalled({ ...end, isSandboxed });
    if (signal === 'SIGXFSZ') return 'disk';
    if (signal === 'SIGXCPU') return 'cpu';
    if (signal !== 'SIGKILL') return undefined;
    const usedMs = cgroup?.cpuMs ?? end.cpuMs ?? 0;
    return usedMs >= (limits.cpuMs ?? Infinity) ? 'cpu' : undefined;
  }

  private killFamily(): void {
    for (const entry of this.family) {
      if (!isRunning(entry)) continue;
      try {
        process.kill(entry.pid, 'SIGKILL');
      } catch {
        // It is already gone.
      }
    }
  }

  private async familyGone(): Promise<void> {
    const deadline = performance.now() + GONE_LIMIT_MS;
    while (this.family.some(isRunning) && performance.now() < deadline) await sleep(GONE_TICK_MS);
  }
}

/** How the program itself ended: bubblewrap reports a signal like a shell. */
export function signalled<T extends ProcessEnd & Pick<ConfinedEnd, 'isSandboxed'>>(end: T): T {
  if (!end.isSandboxed || end.exitCode === undefined || end.exitCode <= 128) return end;
  const signal = signalName(end.exitCode - 128);
  return signal === undefined ? end : { ...end, exitCode: undefined, signal };
}

function sum(entries: readonly ProcessEntry[], value: (entry: ProcessEntry) => number): number {
  return entries.reduce((total, entry) => total + value(entry), 0);
}
