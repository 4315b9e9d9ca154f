import { constants } from 'node:os';
import { VolleyError } from '../../core/errors.ts';
import { ToolFailure } from '../../engine/tool-failure.ts';
import type { ProcessUsage, RunLimits, SandboxPolicy } from '../runner.ts';
import { nodeFolders } from './code-folders.ts';
import { breachFailure, type ConfinedEnd } from './confined-process.ts';
import type { Confinement } from './confinement.ts';
import type { LaunchedProcess, Launcher, LaunchRequest, OutputStream, ProcessEnd } from './launcher.ts';
import { OutputCapture } from './output-capture.ts';

/** How much of each stream is returned: half from the beginning, half from the end. */
const KEPT_BYTES = 64 * 1024;
/** How long a program may take to exit after SIGTERM. */
const GRACE_MS = 200;
/** The shell's exit status for a program killed by the CPU time limit. */
const CPU_EXIT_CODE = 128 + constants.signals.SIGXCPU;

export interface CommandOptions extends Pick<LaunchRequest, 'argv' | 'words' | 'cwd' | 'env'> {
  readonly input?: string | Buffer;
  /**
   * Outside a sandbox, CPU time, memory and open files are limited per process, and `outputBytes` in total. The number
   * of processes is not limited: the kernel counts those of the whole user.
   */
  readonly limits: RunLimits;
  /** Stops the command: first with SIGTERM, then with SIGKILL. */
  readonly signal?: AbortSignal;
  readonly onStarted?: (pid: number) => void;
  readonly onOutput?: (stream: OutputStream, chunk: Buffer) => void;
}

export interface CommandResult {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** Whether the middle of `stdout` or `stderr` is left out. */
  readonly truncated: boolean;
  readonly durationMs: number;
  readonly usage: ProcessUsage;
}

/**
 * Runs a program to its end and returns its output, whatever its exit status. Settles when its process group is gone.
 * Rejects with the reason of an aborted signal, with a `ToolFailure` if a limit ended it, and with
 * `PROCESS_NOT_STARTED`.
 */
export function runCommand(launcher: Launcher, options: CommandOptions): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const command = new Command(options, resolve, reject);
    command.start(launcher);
  });
}

/**
 * The same in a sandbox, as far as the policy requires and this system supports it. The limits, including the one on
 * processes, apply to all processes of the command together.
 */
export function runConfined(
  confinement: Confinement,
  options: CommandOptions,
  policy: SandboxPolicy,
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const command = new Command(options, resolve, reject);
    command.startConfined(confinement, policy).catch(reject);
  });
}

class Command {
  private readonly stdout = new OutputCapture(KEPT_BYTES);
  private readonly stderr = new OutputCapture(KEPT_BYTES);
  private readonly cpuSeconds: number | undefined;
  private readonly startedAt = performance.now();
  private process!: LaunchedProcess;
  /** Why it is being stopped, if it is. */
  private cause: { readonly error: unknown } | undefined;
  private killTimer: NodeJS.Timeout | undefined;
  private usage: ProcessUsage | undefined;
  /** Messages of bubblewrap. */
  private sandboxReport = '';

  constructor(
    private readonly options: CommandOptions,
    private readonly resolve: (result: CommandResult) => void,
    private readonly reject: (error: unknown) => void,
  ) {
    const { cpuMs } = options.limits;
    this.cpuSeconds = cpuMs === undefined ? undefined : Math.max(1, Math.ceil(cpuMs / 1000));
  }

  start(launcher: Launcher): void {
    const { argv, cwd, env, input, limits, signal } = this.options;
    if (signal?.aborted) {
      this.reject(signal.reason);
      return;
    }
    const { memoryMb, openFiles, diskMb } = limits;
    const process = launcher.launch(
      {
        argv,
        cwd,
        env,
        cgroups: [],
        limits: {
          ...(this.cpuSeconds !== undefined && { cpuSeconds: this.cpuSeconds }),
          ...(openFiles !== undefined && { openFiles }),
          ...(memoryMb !== undefined && { dataBytes: Math.ceil(memoryMb * 2 ** 20) }),
          ...(diskMb !== undefined && { fileBytes: Math.ceil(diskMb * 2 ** 20) }),
        },
        input: input !== undefined,
        channel: false,
      },
      this,
    );
    this.follow(process);
  }

  async startConfined(confinement: Confinement, sandbox: SandboxPolicy): Promise<void> {
    const { argv, words, cwd, env, input, limits, signal } = this.options;
    signal?.throwIfAborted();
    const request = { argv, words, cwd, env, limits, sandbox, code: nodeFolders() };
    const process = await confinement.start(
      { ...request, home: 'user', input: input !== undefined, channel: 'sandbox' },
      this,
    );
    this.follow(process);
    this.endedConfined(await process.ended);
  }

  private follow(process: LaunchedProcess): void {
    const { input, signal } = this.options;
    this.process = process;
    signal?.addEventListener('abort', this.stop, { once: true });
    // It was too early for this before.
    if (signal?.aborted) this.stop();
    if (input === undefined) return;
    process.write(input);
    process.endInput();
  }

  // Launcher events.

  started(pid: number): void {
    this.options.onStarted?.(pid);
  }

  data(stream: OutputStream, chunk: Buffer): void {
    const { limits, onOutput } = this.options;
    if (stream === 'channel') {
      this.sandboxReport += chunk.toString();
      return;
    }
    (stream === 'stdout' ? this.stdout : this.stderr).push(chunk);
    const { outputBytes } = limits;
    if (outputBytes !== undefined && this.stdout.totalBytes + this.stderr.totalBytes > outputBytes) {
      this.end('SIGKILL', outputFailure(this.options.argv[0], outputBytes));
    } else onOutput?.(stream, chunk);
  }

  ended(end: ProcessEnd): void {
    clearTimeout(this.killTimer);
    this.options.signal?.removeEventListener('abort', this.stop);
    if (this.cause !== undefined) this.reject(this.cause.error);
    else if (end.startError !== undefined) this.reject(startFailure(this.options.argv[0], end.startError));
    else if (this.isOutOfCpu(end)) this.reject(cpuFailure(this.options.argv[0], this.cpuSeconds!));
    else if (end.signal === 'SIGXFSZ')
      this.reject(limitFailure(this.options.argv[0], 'disk', this.options.limits));
    else {
      const durationMs = performance.now() - this.startedAt;
      this.resolve({
        exitCode: end.exitCode,
        signal: end.signal,
        stdout: this.stdout.text(),
        stderr: this.stderr.text(),
        truncated: this.stdout.isTruncated || this.stderr.isTruncated,
        durationMs,
        usage: this.usage ?? { cpuMs: end.cpuMs, durationMs },
      });
    }
  }

  private endedConfined(end: ConfinedEnd): void {
    this.usage = end.usage;
    const [program] = this.options.argv;
    if (end.breaches.length > 0) this.cause = { error: breachFailure(program, end.breaches) };
    if (end.limit !== undefined)
      this.cause ??= { error: limitFailure(program, end.limit, this.options.limits) };
    // bubblewrap's exit status is that of the command only if it reports that the command ran.
    const isUnknown =
      end.isStartUncertain && end.exitCode !== undefined && !/"exit-code"/.test(this.sandboxReport);
    const startError =
      end.startError ?? (isUnknown ? this.stderr.text().trim() || 'the sandbox failed' : undefined);
    this.ended({ ...end, startError });
  }

  private readonly stop = (): void => {
    this.end('SIGTERM', this.options.signal!.reason);
    this.killTimer = setTimeout(() => this.process.kill('SIGKILL'), GRACE_MS);
  };

  private end(signal: 'SIGTERM' | 'SIGKILL', error: unknown): void {
    this.cause ??= { error };
    this.process.kill(signal);
  }

  private isOutOfCpu({ exitCode, signal, cpuMs }: ProcessEnd): boolean {
    if (this.cpuSeconds === undefined) return false;
    if (signal === 'SIGXCPU' || exitCode === CPU_EXIT_CODE) return true;
    // A process that ignores SIGXCPU is killed a second later.
    return signal === 'SIGKILL' && cpuMs !== undefined && cpuMs >= this.cpuSeconds * 1000;
  }
}

function startFailure(program: string, problem: string): VolleyError {
  return new VolleyError('PROCESS_NOT_STARTED', `${program} could not be started: ${problem}`, { program });
}

function outputFailure(program: string, outputBytes: number): ToolFailure {
  const message = `${program} wrote more than its limit of ${outputBytes} bytes and was killed. Write less, or raise the limit.`;
  const cause = new VolleyError('OUTPUT_LIMIT', message, { program, outputBytes });
  return new ToolFailure(message, { retryable: false, cause });
}

function limitFailure(
  program: string,
  limit: NonNullable<ConfinedEnd['limit']>,
  { memoryMb, cpuMs, processes, diskMb }: RunLimits,
): ToolFailure {
  const what = {
    memory: `needed more memory than its limit of ${memoryMb} MB`,
    cpu: `used more CPU time than its limit of ${cpuMs} ms`,
    processes: `started more than its limit of ${processes} processes`,
    disk: `wrote more to disk than its limit of ${diskMb} MB (\`disk_mb\`)`,
  };
  const reason = limit === 'memory' || limit === 'cpu' ? limit : 'crashed';
  return new ToolFailure(`${program} ${what[limit]} and was killed.`, { reason, retryable: false });
}

function cpuFailure(program: string, cpuSeconds: number): ToolFailure {
  const message = `${program} used more than its limit of ${cpuSeconds} s of CPU time and was killed.`;
  return new ToolFailure(message, { reason: 'cpu', retryable: false });
}
