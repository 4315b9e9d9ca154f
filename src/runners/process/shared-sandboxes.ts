import { existsSync, statSync } from 'node:fs';
import { weaknessInside } from './diagnose.ts';
import type { Launcher } from './launcher.ts';
import { type Bubblewrap, type SandboxRequest, type SharedSandbox, sharedSandbox } from './sandbox.ts';

/** The most sandboxes that are kept, or considered, at once. */
const MAX_KEPT = 8;
/** How long one is kept without being used: its mounts keep the file systems of its folders busy. */
const IDLE_MS = 5000;
/** After this many failures no more are made. */
const MAX_FAILURES = 3;
const MAKE_LIMIT_MS = 10_000;

interface Kept {
  readonly key: string;
  /** Undefined until the second call of its kind; null if calls of this kind cannot share one. */
  shared: SharedSandbox | null | undefined;
  /** The identity of everything that it shows, when it was made. */
  stamp: string;
  /** Settles when it was made. */
  made: Promise<void> | undefined;
  /** Undefined until it can be used. */
  id: number | undefined;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Most of the work of bubblewrap is to mount folders, and most calls need the same ones. The second call with the same
 * folders has them mounted once for itself and all that follow; each of those gets its own namespaces inside. Whenever
 * anything differs, a call is started by bubblewrap itself.
 */
export class SharedSandboxes {
  private readonly kept = new Map<string, Kept>();
  private failures = 0;
  private isInspected = false;
  private isClosed = false;

  constructor(private readonly launcher: Launcher) {}

  /** The id of a sandbox that shows a call exactly what bubblewrap would show it now. Undefined if there is none. */
  async find(bubblewrap: Bubblewrap, request: SandboxRequest): Promise<number | undefined> {
    // A weaker form of the sandbox is not copied.
    if (!bubblewrap.userFlags.includes('--disable-userns') || this.failures >= MAX_FAILURES) return undefined;
    const key = keyOf(request);
    const kept = this.kept.get(key);
    if (kept === undefined) {
      this.remember({ key, shared: undefined, made: undefined, stamp: '', id: undefined, timer: undefined });
      return undefined;
    }
    if (kept.shared === null) return undefined;
    if (kept.shared === undefined) {
      kept.shared = sharedSandbox(bubblewrap, request) ?? null;
      if (kept.shared === null) return undefined;
      kept.made = this.make(kept, kept.shared);
    }
    // It takes about as long as to mount the folders for this call alone.
    if (kept.id === undefined) await kept.made;
    if (kept.id === undefined) return undefined;
    if (!this.launcher.hasSandbox(kept.id) || stampOf(kept.shared) !== kept.stamp) {
      this.forget(kept);
      return undefined;
    }
    kept.timer?.refresh();
    return existsSync(request.cwd) ? kept.id : undefined;
  }

  /** A sandbox that a call could not enter is not used again. */
  discard(id: number): void {
    for (const kept of this.kept.values()) if (kept.id === id) this.fail(kept);
  }

  close(): void {
    this.isClosed = true;
    for (const kept of [...this.kept.values()]) this.forget(kept);
  }

  private remember(kept: Kept): void {
    const [oldest] = this.kept.values();
    if (this.kept.size >= MAX_KEPT) this.forget(oldest!);
    this.kept.set(kept.key, kept);
  }

  private forget(kept: Kept): void {
    this.kept.delete(kept.key);
    clearTimeout(kept.timer);
    if (kept.id !== undefined) this.launcher.dropSandbox(kept.id);
  }

  private fail(kept: Kept): void {
    this.failures++;
    this.forget(kept);
  }

  private async make(kept: Kept, shared: SharedSandbox): Promise<void> {
    kept.stamp = stampOf(shared);
    const id = await this.mount(shared);
    const isUsable = id !== undefined && (this.isInspected || (await this.inspect(id, shared)));
    const isWanted = !this.isClosed && this.kept.get(kept.key) === kept;
    if (isUsable && isWanted && stampOf(shared) === kept.stamp) {
      kept.id = id;
      kept.timer = setTimeout(() => this.forget(kept), IDLE_MS).unref();
      return;
    }
    if (id !== undefined) this.launcher.dropSandbox(id);
    if (isWanted) this.fail(kept);
  }

  /** Has bubblewrap mount the folders around a process that waits until they are kept. */
  private mount({ argv, own }: SharedSandbox): Promise<number | undefined> {
    const { launcher } = this;
    return new Promise((resolve) => {
      let id: number | undefined;
      let report = '';
      const launched = launcher.launch(
        {
          argv: [...argv, '/bin/sh', '-c', 'echo; read -r _'],
          cwd: '/',
          env: {},
          limits: {},
          cgroups: [],
          input: true,
          channel: true,
        },
        {
          started: () => {},
          data: (stream, chunk) => {
            if (stream === 'channel') report += chunk.toString();
            // Everything is mounted.
            if (stream !== 'stdout') return;
            const pid = /"child-pid": *(\d+)/.exec(report)?.[1];
            if (pid !== undefined) id = launcher.keepSandbox(Number(pid), own);
            launched.endInput();
          },
          ended: () => {
            clearTimeout(timer);
            resolve(id);
          },
        },
      );
      const timer = setTimeout(() => launched.kill('SIGKILL'), MAKE_LIMIT_MS);
    });
  }

  /** Looks at the first one from inside, as it was done with bubblewrap. */
  private async inspect(id: number, { own }: SharedSandbox): Promise<boolean> {
    const weakness = await weaknessInside(this.launcher, id, { network: !own.network });
    // Only one without a network shows everything.
    this.isInspected = weakness === undefined && own.network;
    return weakness === undefined;
  }
}

function keyOf({ policy, covers = [], accounts, code, cwd, temporaryBytes }: SandboxRequest): string {
  const { read, write, network } = policy;
  const isShown = [...read, ...write].some((folder) => cwd === folder || cwd.startsWith(`${folder}/`));
  return JSON.stringify([read, write, network, covers, accounts, code, isShown || cwd, temporaryBytes]);
}

/**
 * Identifies what is mounted. The kernel removes the mount over a file that is deleted or replaced from outside, so what
 * was covered would not be any more. A folder is known by its number and birth, if the file system keeps that. A file can
 * also be linked, deleted and put back, which changes its ctime.
 */
function stampOf({ sources }: SharedSandbox): string {
  let stamp = '';
  for (const source of sources) {
    const stats = statSync(source, { bigint: true, throwIfNoEntry: false });
    if (stats === undefined) {
      stamp += ' -';
      continue;
    }
    const { dev, ino, birthtimeNs, ctimeNs } = stats;
    const isKnown = stats.isDirectory() && birthtimeNs > 0n;
    stamp += ` ${dev}:${ino}:${isKnown ? birthtimeNs : ctimeNs}`;
  }
  return stamp;
}
