import { setTimeout as sleep } from 'node:timers/promises';
import type { RunLimits } from '../runner.ts';
import type { Cgroup } from './cgroup.ts';
import type { CgroupFeature } from './cgroup-tree.ts';
import type { LaunchedProcess, Launcher, LaunchRequest, OutputStream, ProcessEnd } from './launcher.ts';
import type { UsageWatch } from './memory-watch.ts';
import { familyOf, isRunning, type ProcessEntry, readProcessTable } from './process-table.ts';
import { signalName } from './signal-names.ts';

export interface ConfinedListener {
  started(): void;
  data(stream: OutputStream, chunk: Buffer): void;
}

/** How a program ended, and which limit ended it, if one did. */
export interface ConfinedEnd extends ProcessEnd {
  readonly limit: 'memory' | 'cpu' | 'processes' | undefined;
}

export interface ConfinedSetup {
  readonly launcher: Launcher;
  readonly watch: UsageWatch;
  readonly cgroup: Cgroup | undefined;
  /** Whether the kernel keeps a limit in the cgroup; what it does not keep is watched. */
  readonly keeps: (feature: CgroupFeature) => boolean;
  readonly limits: RunLimits;
  readonly isSandboxed: boolean;
  readonly request: LaunchRequest;
  readonly listener: ConfinedListener;
  readonly cleanUp: () => Promise<void>;
}

const GONE_LIMIT_MS = 5000;
const GONE_TICK_MS = 5;

/** A running program with everything that it starts. */
export class ConfinedProcess {
  /** Settles when nothing of it remains. Never rejects. */
  readonly ended: Promise<ConfinedEnd>;
  private readonly launched: LaunchedProcess;
  private readonly endWatch: () => void;
  private pid: number | undefined;
  private limit: ConfinedEnd['limit'];
  /** Its processes as last seen, where no cgroup knows them. */
  private family: readonly ProcessEntry[] = [];

  constructor(private readonly setup: ConfinedSetup) {
    const { launcher, request, listener, watch, keeps, limits } = setup;
    const needsTable =
      !keeps('pids') ||
      (limits.memoryMb !== undefined && !keeps('memory')) ||
      (limits.cpuMs !== undefined && !keeps('cpu'));
    this.endWatch =
      needsTable || limits.cpuMs !== undefined
        ? watch.add((table) => this.look(table), { needsTable })
        : () => {};
    let resolve: (end: ConfinedEnd) => void;
    this.ended = new Promise((settle) => {
      resolve = settle;
    });
    this.launched = launcher.launch(request, {
      started: (pid) => {
        this.pid = pid;
        listener.started();
      },
      data: (stream, chunk) => listener.data(stream, chunk),
      ended: (end) => void this.finish(end).then(resolve),
    });
  }

  write(chunk: Buffer): void {
    this.launched.write(chunk);
  }

  /** Ends it and everything that it started, at once. */
  kill(): void {
    const { cgroup, keeps } = this.setup;
    if (!keeps('pids') && this.pid !== undefined) this.family = familyOf(this.pid, readProcessTable());
    this.launched.kill('SIGKILL');
    cgroup?.kill();
    this.killFamily();
  }

  /** Asks how much is used of what the kernel does not limit for all processes together. */
  private look(table: readonly ProcessEntry[]): void {
    const { cgroup, keeps, limits } = this.setup;
    if (this.pid === undefined || this.limit !== undefined) return;
    if (table.length > 0) this.family = familyOf(this.pid, table);
    const { family } = this;
    const { memoryMb = Infinity, cpuMs = Infinity, processes = Infinity } = limits;
    const usedCpuMs = keeps('cpu') ? (cgroup?.cpuMs ?? 0) : sum(family, (entry) => entry.cpuMs);
    if (usedCpuMs > cpuMs) this.stopFor('cpu');
    else if (!keeps('memory') && sum(family, (entry) => entry.residentBytes) > memoryMb * 2 ** 20)
      this.stopFor('memory');
    else if (!keeps('pids') && family.length > processes) this.stopFor('processes');
  }

  private stopFor(limit: NonNullable<ConfinedEnd['limit']>): void {
    this.limit = limit;
    this.kill();
  }

  private async finish(end: ProcessEnd): Promise<ConfinedEnd> {
    const { cgroup, cleanUp, isSandboxed } = this.setup;
    this.endWatch();
    const limit = this.limit ?? this.limitBehind(end);
    this.killFamily();
    await Promise.all([cgroup?.remove(), this.familyGone()]);
    await cleanUp();
    return { ...(isSandboxed ? withSignal(end) : end), limit };
  }

  /** Which limit of the kernel's ended it. */
  private limitBehind(end: ProcessEnd): ConfinedEnd['limit'] {
    const { cgroup, limits, isSandboxed } = this.setup;
    if ((cgroup?.oomKills ?? 0) > 0) return 'memory';
    const { signal } = isSandboxed ? withSignal(end) : end;
    const usedMs = cgroup?.cpuMs ?? end.cpuMs ?? 0;
    const isCpu = signal === 'SIGXCPU' || (signal === 'SIGKILL' && usedMs >= (limits.cpuMs ?? Infinity));
    return isCpu ? 'cpu' : undefined;
  }

  private killFamily(): void {
    for (const entry of this.family) {
      if (!isRunning(entry)) continue;
      try {
        process.kill(entry.pid, 'SIGKILL');
      } catch {
        // It is gone already.
      }
    }
  }

  private async familyGone(): Promise<void> {
    const deadline = performance.now() + GONE_LIMIT_MS;
    while (this.family.some(isRunning) && performance.now() < deadline) await sleep(GONE_TICK_MS);
  }
}

/** bubblewrap reports the signal that ended a program as a shell does. */
function withSignal(end: ProcessEnd): ProcessEnd {
  const signal =
    end.exitCode !== undefined && end.exitCode > 128 ? signalName(end.exitCode - 128) : undefined;
  return signal === undefined ? end : { ...end, exitCode: undefined, signal };
}

function sum(entries: readonly ProcessEntry[], value: (entry: ProcessEntry) => number): number {
  return entries.reduce((total, entry) => total + value(entry), 0);
}
