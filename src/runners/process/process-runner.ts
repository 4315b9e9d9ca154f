import { fileURLToPath } from 'node:url';
import { VolleyError } from '../../core/errors.ts';
import { scriptEntry } from '../entry.ts';
import type { RunLimits, Runner, RunnerCall, RunnerTask } from '../runner.ts';
import { codeFolders, packageFolders } from './code-folders.ts';
import { Confinement } from './confinement.ts';
import type { Diagnosis } from './diagnose.ts';
import type { Launcher } from './launcher.ts';
import { ProcessCall } from './process-call.ts';

export interface ProcessRunnerOptions {
  /** Starts the processes. Its creator closes it, after this runner. */
  readonly launcher: Launcher;
}

/** The default limits: everything but CPU time, which the call's timeout bounds. */
const DEFAULT_LIMITS = {
  memoryMb: 1024,
  openFiles: 1024,
  processes: 64,
  diskMb: 10_240,
  outputBytes: 10 * 2 ** 20,
  resultBytes: 16 * 2 ** 20,
} as const satisfies RunLimits;

/** The share of memory that V8 may fill; at its limit it aborts with a message that says so. */
const HEAP_SHARE = 0.8;
const MIN_HEAP_MB = 16;
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

/**
 * Runs each call in its own process, with limits and in a sandbox. Processes are never reused: whatever a tool does to
 * its process (globals, handlers, open files, leaked memory) ends with the call, a killed process affects no other
 * call, and the data of one call stays hidden from the next. The price is the start of Node.
 */
export class ProcessRunner implements Runner {
  /** For running other programs the same way. Closed with this runner. */
  readonly confinement: Confinement;
  private readonly running = new Set<ProcessCall>();
  private readonly entry = scriptEntry('./child', import.meta.url);
  private closing: Promise<void> | undefined;

  constructor({ launcher }: ProcessRunnerOptions) {
    this.confinement = new Confinement(launcher);
  }

  async run(call: RunnerCall, task: RunnerTask): Promise<unknown> {
    const { toolName } = call;
    if (this.closing !== undefined) throw closed(toolName);
    const limits = { ...DEFAULT_LIMITS, ...call.limits };
    const running = new ProcessCall({ ...call, limits }, task);
    task.signal.throwIfAborted();
    this.running.add(running);
    try {
      return await running.run((listener) =>
        this.confinement.start(
          {
            argv: this.command(limits.memoryMb),
            cwd: call.folder ?? process.cwd(),
            env: environment(call.env),
            limits,
            sandbox: call.sandbox,
            home: 'private',
            input: true,
            channel: 'program',
            code: this.readable(running),
          },
          listener,
        ),
      );
    } finally {
      this.running.delete(running);
    }
  }

  /** The active layers of isolation on this system, and why. Tested once. */
  diagnose(): Promise<Diagnosis> {
    return this.confinement.diagnose();
  }

  /** Kills everything that runs. The launcher stays open. */
  close(): Promise<void> {
    this.closing ??= this.endAll();
    return this.closing;
  }

  private async endAll(): Promise<void> {
    const all = [...this.running];
    for (const running of all) running.stop(closed(running.toolName));
    await Promise.all(all.map((running) => running.settled));
    await this.confinement.close();
  }

  private command(memoryMb: number): [string, ...string[]] {
    const heapMb = Math.max(MIN_HEAP_MB, Math.floor(memoryMb * HEAP_SHARE));
    const { url, execArgv } = this.entry;
    return [process.execPath, `--max-old-space-size=${heapMb}`, ...execArgv, fileURLToPath(url)];
  }

  /** Node itself, our own package, and the tool's code. */
  private readable({ code }: ProcessCall): string[] {
    return [
      process.execPath,
      ...packageFolders(fileURLToPath(this.entry.url)),
      ...codeFolders(code, process.cwd()),
    ];
  }
}

/** Inherits only what a program cannot do without. */
function environment(named: Readonly<Record<string, string>>): Record<string, string> {
  const { PATH = DEFAULT_PATH, LANG = 'C.UTF-8' } = process.env;
  return { PATH, LANG, ...named };
}

function closed(toolName: string): VolleyError {
  return new VolleyError('RUNNER_CLOSED', `The runner was closed before "${toolName}" had ended.`, {
    toolName,
  });
}
