/** Per-process limits that the kernel enforces, set before the program starts. Stricter existing limits stay. */
export interface ProcessLimits {
  readonly cpuSeconds?: number;
  readonly openFiles?: number;
  /** Counts every process of the same user, including those not launched here. */
  readonly processes?: number;
  readonly dataBytes?: number;
  /** The size of a file it writes. */
  readonly fileBytes?: number;
}

export interface LaunchRequest {
  /** The program and its arguments. A name without a slash is looked up in `PATH` of `env`. */
  readonly argv: readonly [string, ...string[]];
  /** In a kept sandbox: started instead if it can be, because a shell would only start it. */
  readonly words?: readonly [string, ...string[]] | undefined;
  readonly cwd: string;
  /** The whole environment: nothing is inherited. Variables in {@link KEPT_VARIABLES} are removed. */
  readonly env: Readonly<Record<string, string>>;
  readonly limits: ProcessLimits;
  /** `cgroup.procs` or `tasks` files that the process enters before the program starts. */
  readonly cgroups: readonly string[];
  /** Whether its input comes from `write()`; otherwise it is empty. */
  readonly input: boolean;
  /** The sandbox it runs in: an id of {@link Launcher.keepSandbox}. */
  readonly sandbox?: number;
  /** Whether the program can write messages to descriptor 3, apart from its output. */
  readonly channel: boolean;
}

/** What each call in a kept sandbox gets for itself. */
export interface OwnFolders {
  /** The size of `/tmp`; undefined if it is the host's. */
  readonly tmpBytes: number | undefined;
  readonly sharedMemoryBytes: number;
  /** Whether it has a network of its own, which is only the loopback interface. */
  readonly network: boolean;
  /** The mounts below `/tmp`. */
  readonly belowTmp: readonly string[];
}

export type OutputStream = 'stdout' | 'stderr' | 'channel';

export interface LaunchListener {
  /**
   * The process exists and leads a process group. The program itself may still fail to start. Not called if the process
   * could not be created.
   */
  started(pid: number): void;
  data(stream: OutputStream, chunk: Buffer): void;
  /** The last call: its group is gone and every stream was read, or it could not be started. */
  ended(end: ProcessEnd): void;
}

export interface ProcessEnd {
  readonly exitCode: number | undefined;
  /** The signal that ended it, such as `SIGKILL`. */
  readonly signal: string | undefined;
  /** Why it could not be started. */
  readonly startError: string | undefined;
  /** The CPU time of the program and of the children it waited for, if known. */
  readonly cpuMs: number | undefined;
}

/** Late calls have no effect. */
export interface LaunchedProcess {
  write(chunk: Buffer | string): void;
  endInput(): void;
  /** Signals the whole process group. */
  kill(signal: 'SIGTERM' | 'SIGKILL'): void;
}

/**
 * Starts programs, each in its own process group, without a cost for this process: forking a Node process takes time in
 * proportion to its memory, so a small helper process does it. Without a helper, Node's own `spawn` does the same more
 * slowly. When this process dies, so does everything it launched.
 *
 * When a launched program ends, the rest of its group is killed. A process that left the group with `setsid` is out of
 * reach: a sandbox with its own PID namespace, or a cgroup, contains those.
 */
export interface Launcher {
  /** Prepares for the first launch, ideally while this process is small. Optional. */
  prepare(): void;
  /** Never throws for an invalid request; `ended` reports it. */
  launch(request: LaunchRequest, listener: LaunchListener): LaunchedProcess;
  /**
   * Keeps the folders of the sandbox that a process is in, for further launches, and returns its id. Each launch gets its
   * own namespaces in it. Undefined if this launcher cannot do that.
   */
  keepSandbox(pid: number, own: OwnFolders): number | undefined;
  hasSandbox(id: number): boolean;
  dropSandbox(id: number): void;
  /** Kills everything; afterwards nothing can be launched. */
  close(): Promise<void>;
}

/** Environment variables for this process alone: with the user's approval, a program could approve itself. */
export const KEPT_VARIABLES: ReadonlySet<string> = new Set(['VOLLEY_TRUST']);
