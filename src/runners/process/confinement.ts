import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VolleyError } from '../../core/errors.ts';
import type { RunLimits, SandboxPolicy } from '../runner.ts';
import type { Cgroup } from './cgroup.ts';
import { type ConfinedListener, ConfinedProcess } from './confined-process.ts';
import { type Diagnosis, findSupport, type Support } from './diagnose.ts';
import type { Launcher } from './launcher.ts';
import { UsageWatch } from './memory-watch.ts';
import { PRIVATE_TMP, sandboxArguments } from './sandbox.ts';

/** A program that is run with limits and in a sandbox. */
export interface ConfinedRequest {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  /** `HOME` and `TMPDIR` are added where they are not named: a private folder each time. */
  readonly env: Readonly<Record<string, string>>;
  readonly limits: RunLimits;
  readonly sandbox: SandboxPolicy;
  /** What the program needs to be able to read in order to start, besides the system's folders. */
  readonly code: readonly string[];
}

/**
 * A thread counts as much as a process in a cgroup, and Node has about a dozen: the kernel's limit is made wide enough
 * for each process to be one of Node.
 */
const TASKS_PER_PROCESS = 16;
const DEFAULT_TEMPORARY_MB = 1024;

/** Runs programs so that nothing of them remains, whatever they do, as far as this system allows it. */
export class Confinement {
  private readonly watch = new UsageWatch();
  private finding: Promise<Support> | undefined;

  constructor(private readonly launcher: Launcher) {}

  /** What this system allows; tried once. */
  support(): Promise<Support> {
    this.finding ??= findSupport(this.launcher);
    return this.finding;
  }

  async diagnose(): Promise<Diagnosis> {
    return (await this.support()).diagnosis;
  }

  async start(request: ConfinedRequest, listener: ConfinedListener): Promise<ConfinedProcess> {
    const support = await this.support();
    const { sandbox, limits } = request;
    if (sandbox.mode === 'required' && support.bubblewrap === undefined) throw unavailable(support.diagnosis);
    const bubblewrap = sandbox.mode === 'off' ? undefined : support.bubblewrap;
    let folder: string | undefined;
    let cgroup: Cgroup | undefined;
    try {
      // The sandbox has a folder for temporary files that vanishes with it.
      if (bubblewrap === undefined) folder = await mkdtemp(join(tmpdir(), 'volley-'));
      cgroup = await support.cgroups?.create(cgroupLimits(limits));
    } catch (cause) {
      await removeFolder(folder);
      throw notStarted(request.argv[0], cause);
    }
    const home = folder ?? PRIVATE_TMP;
    const argv =
      bubblewrap === undefined
        ? request.argv
        : ([
            ...sandboxArguments(bubblewrap, {
              policy: sandbox,
              code: request.code,
              cwd: request.cwd,
              temporaryBytes: (limits.memoryMb ?? DEFAULT_TEMPORARY_MB) * 2 ** 20,
            }),
            ...request.argv,
          ] as [string, ...string[]]);
    return new ConfinedProcess({
      launcher: this.launcher,
      watch: this.watch,
      cgroup,
      keeps: (feature) => support.cgroups?.has(feature) === true,
      limits,
      isSandboxed: bubblewrap !== undefined,
      request: {
        argv,
        cwd: bubblewrap === undefined ? request.cwd : '/',
        env: { HOME: home, TMPDIR: home, ...request.env },
        limits: {
          ...(limits.cpuMs !== undefined && { cpuSeconds: Math.ceil(limits.cpuMs / 1000) }),
          ...(limits.openFiles !== undefined && { openFiles: limits.openFiles }),
        },
        cgroups: cgroup?.entrances ?? [],
        input: true,
        channel: true,
      },
      listener,
      cleanUp: () => removeFolder(folder),
    });
  }

  /** To be called when nothing runs any more. */
  async close(): Promise<void> {
    const support = await this.finding;
    await support?.cgroups?.close();
  }
}

function cgroupLimits({ memoryMb, processes }: RunLimits) {
  return {
    ...(memoryMb !== undefined && { memoryBytes: Math.floor(memoryMb * 2 ** 20) }),
    ...(processes !== undefined && { tasks: (processes + 1) * TASKS_PER_PROCESS }),
  };
}

async function removeFolder(folder: string | undefined): Promise<void> {
  if (folder === undefined) return;
  // A folder that a tool made unreadable stays; that is no reason to fail its call.
  await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
}

function unavailable({ layers }: Diagnosis): VolleyError {
  const layer = layers.find(({ name }) => name === 'namespaces')!;
  return new VolleyError(
    'SANDBOX_UNAVAILABLE',
    `The sandbox is required, but bubblewrap does not work here: ${layer.detail}. ${layer.remedy ?? ''}`.trim(),
    { layer: layer.name },
  );
}

function notStarted(program: string, cause: unknown): VolleyError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new VolleyError(
    'PROCESS_NOT_STARTED',
    `A process for ${program} could not be started: ${why}`,
    {},
    { cause },
  );
}
