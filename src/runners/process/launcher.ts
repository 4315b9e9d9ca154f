/** Limits that the kernel keeps for each process, set before the program starts. A stricter one that is there stays. */
export interface ProcessLimits {
  readonly cpuSeconds?: number;
  readonly openFiles?: number;
  /** Counts every process of the same user, also those that were not launched here. */
  readonly processes?: number;
  readonly dataBytes?: number;
  /** The size of a file that it writes. */
  readonly fileBytes?: number;
}

export interface LaunchRequest {
  /** The program and its arguments. A name without a slash is looked up in `PATH` of `env`. */
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  /** The whole environment: nothing is inherited. What {@link KEPT_VARIABLES} names does not reach the program. */
  readonly env: Readonly<Record<string, string>>;
  readonly limits: ProcessLimits;
  /** Files named `cgroup.procs` or `tasks` that the process enters before the program starts. */
  readonly cgroups: readonly string[];
  /** Whether its input is what is given to `write()`; otherwise it is empty. */
  readonly input: boolean;
  /** Whether descriptor 3 of the program is open for messages of its own, apart from its output. */
  readonly channel: boolean;
}

export type OutputStream = 'stdout' | 'stderr' | 'channel';

export interface LaunchListener {
  /**
   * The process is there, and leads a group with its own number. The program itself may still turn out not to start.
   * Not called where not even a process could be made.
   */
  started(pid: number): void;
  data(stream: OutputStream, chunk: Buffer): void;
  /** The last call: nothing of its group remains and every stream was read, or it could not be started. */
  ended(end: ProcessEnd): void;
}

export interface ProcessEnd {
  readonly exitCode: number | undefined;
  /** Such as `SIGKILL`, if a signal ended it. */
  readonly signal: string | undefined;
  /** Why it could not be started. */
  readonly startError: string | undefined;
  /** The CPU time of the program and of those of its children that it waited for, where it is known. */
  readonly cpuMs: number | undefined;
}

/** Calls that come too late have no effect. */
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
 *
 * When the program that was launched ends, what remains of its group is killed. A process that left the group with
 * `setsid` is out of reach of that: a sandbox with its own process namespace, or a cgroup, contains those.
 */
export interface Launcher {
  /** Makes ready what the first launch needs, best called while this process is small. Optional. */
  prepare(): void;
  /** Never throws for what is wrong with the request: `ended` tells. */
  launch(request: LaunchRequest, listener: LaunchListener): LaunchedProcess;
  /** Kills all that runs; afterwards nothing remains and nothing can be launched. */
  close(): Promise<void>;
}

/** Environment variables that are for this process alone: with the user's approval a program could approve itself. */
export const KEPT_VARIABLES: ReadonlySet<string> = new Set(['VOLLEY_TRUST']);
