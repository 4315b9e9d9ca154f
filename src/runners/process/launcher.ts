/** Limits that the kernel keeps for each process, set before the program starts. */
export interface ProcessLimits {
  readonly cpuSeconds?: number;
  readonly openFiles?: number;
  readonly processes?: number;
  readonly dataBytes?: number;
  readonly fileBytes?: number;
}

export interface LaunchRequest {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  /** The whole environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly limits: ProcessLimits;
  /** Files named `cgroup.procs` or `tasks` that the process enters before the program starts. */
  readonly cgroups: readonly string[];
  /** Whether descriptor 3 of the program is open for messages of its own, apart from its output. */
  readonly channel: boolean;
}

export type OutputStream = 'stdout' | 'stderr' | 'channel';

export interface LaunchListener {
  started(pid: number): void;
  data(stream: OutputStream, chunk: Buffer): void;
  /** The last call: the program ended and every stream was read, or it could not be started. */
  ended(end: ProcessEnd): void;
}

export interface ProcessEnd {
  readonly exitCode: number | undefined;
  /** Such as `SIGKILL`, if a signal ended it. */
  readonly signal: string | undefined;
  /** Why it could not be started. */
  readonly startError: string | undefined;
}

export interface LaunchedProcess {
  write(chunk: Buffer | string): void;
  endInput(): void;
  /** Signals the whole process group. */
  kill(signal: 'SIGTERM' | 'SIGKILL'): void;
}

/**
 * Starts programs, each in a process group of its own, without making this process pay for it: forking a Node process
 * costs time in proportion to its memory, so a small helper process does it. Where there is no helper, Node's own
 * `spawn` does the same more slowly. When this process dies, so does everything that was launched.
 */
export interface Launcher {
  launch(request: LaunchRequest, listener: LaunchListener): LaunchedProcess;
  close(): Promise<void>;
}
