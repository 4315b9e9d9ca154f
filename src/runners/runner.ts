import type { Report } from '../engine/task.ts';

/** What the processes of an attempt really used. */
export interface ProcessUsage {
  /** The peak of their memory together, as far as it is known. */
  readonly memoryMb?: number | undefined;
  readonly cpuMs?: number | undefined;
  /** How long they ran. */
  readonly durationMs: number;
}

/** What a call of a model or an agent cost. */
export interface Spending {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** In US dollars; undefined if it is not known. */
  readonly costUsd?: number | undefined;
}

/** The context of a tool's function, wherever it runs. */
export interface ToolContext {
  /** The id of the execution. */
  readonly id: string;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** Aborted when the attempt must stop. */
  readonly signal: AbortSignal;
  /** Reports the completed share, from 0 to 1, the current step, or both. */
  readonly report: Report;
  /** The quota that the attempt counts against, for a tool with several that runs in this thread. */
  readonly quota?: string;
  /** On a worker that was sent the files of the call: the folder that has them, for a tool that runs inline. */
  readonly folder?: string | undefined;
  /** Writes a line, or several, to the log of the task, if there is one. */
  readonly log: (text: string) => void;
  /**
   * Call it with what the attempt printed, in chunks as they come.
   *
   * @internal
   */
  output?(stream: 'stdout' | 'stderr', chunk: Uint8Array | string): void;
  /**
   * Call it with what the attempt used in processes, if it succeeded or ran out of memory.
   *
   * @internal
   */
  measured?(usage: ProcessUsage): void;
  /**
   * Call it with what each call of a model or an agent cost, also if the attempt fails because of its answer.
   *
   * @internal
   */
  spent?(spending: Spending): void;
}

/** The function of a tool. */
export type ToolRun<I = unknown, O = unknown> = (input: I, context: ToolContext) => O | PromiseLike<O>;

/** Where a runner finds a tool's function. */
export type ToolCode =
  /** A function of this thread. */
  | { readonly kind: 'function'; readonly run: ToolRun }
  /** The source of a function that uses nothing of its surroundings; evaluated in the other thread or process. */
  | { readonly kind: 'source'; readonly text: string }
  /** A module and the name of its export: a function, a tool, or a list of tools that includes `toolName`. */
  | { readonly kind: 'module'; readonly url: string; readonly exportName: string };

/** The limits a runner enforces. Only processes can enforce all of them; see docs/tools.md. */
export interface RunLimits {
  /** Memory of all its processes together. */
  readonly memoryMb?: number;
  /** CPU time of all its processes together. */
  readonly cpuMs?: number;
  readonly openFiles?: number;
  readonly processes?: number;
  /** The size of one file, and the total its processes write to disk, as far as that is visible. */
  readonly diskMb?: number;
  /** What it may write to stdout and stderr together; exceeding it kills it. */
  readonly outputBytes?: number;
  /** The size of the serialized result; a larger one fails the call. */
  readonly resultBytes?: number;
}

/** What a process may access. */
export interface SandboxPolicy {
  /** `auto` uses what the system supports, `required` refuses to run without all of it, `off` uses none. */
  readonly mode: 'auto' | 'required' | 'off';
  /** Folders it may read, besides system folders. */
  readonly read: readonly string[];
  /** Folders it may read and write. */
  readonly write: readonly string[];
  readonly network: boolean;
  /** Protects paths inside those folders. */
  readonly guard?: SandboxGuard | undefined;
}

/** Knows what is protected inside the folders of a policy, and checks whether a program respected it. */
export interface SandboxGuard {
  /** Call it before a program starts. Without a sandbox, only the check afterwards can find what it did. */
  begin(isSandboxed: boolean): Promise<GuardedRun>;
}

/** The protection from one program. */
export interface GuardedRun {
  /** The mounts that the sandbox puts over the folders of the policy. */
  readonly covers: readonly Cover[];
  /** Call it when nothing of the program remains. Returns the protected paths that were created or changed. */
  end(): Promise<readonly Breach[]>;
}

/** A path as a sandbox shows it. It exists, and no part of it is a symbolic link. */
export interface Cover {
  readonly path: string;
  /** `pinned` is unchanged but cannot be renamed or removed. */
  readonly as: 'read-only' | 'pinned' | 'empty-folder' | 'empty-file';
}

/** A protected path that was created or changed while a program ran. */
export interface Breach {
  readonly path: string;
  /** The rule that protects it. */
  readonly pattern: string;
  /** Where it was moved, if it was new. */
  readonly movedTo?: string;
}

/** One call of a tool, as passed to a runner. */
export interface RunnerCall {
  readonly toolName: string;
  readonly code: ToolCode;
  /** Validated against the tool's schema. Serialized for another thread or process. */
  readonly input: unknown;
  readonly limits: RunLimits;
  readonly sandbox: SandboxPolicy;
  /** The working directory of a process, if it is not that of this one. */
  readonly folder?: string | undefined;
  /** Environment variables that a process gets besides the usual ones. */
  readonly env: Readonly<Record<string, string>>;
}

/** Callbacks of a runner for the attempt it runs. */
export interface RunnerTask extends Omit<ToolContext, 'log'> {
  /** Every call of a coordinator has it. Only a runner that is used by itself may go without. */
  readonly log?: ToolContext['log'];
  /** The work begins only now: time limits count from here, not from the request. */
  began(): void;
  /** Calls back when the attempt must stop. If set, no signal has to be created, which is slow. */
  readonly onStop?: (callback: (reason: unknown) => void) => void;
}

/**
 * Runs attempts. `run` settles only when nothing of the attempt remains: no thread that works on it, no process of its
 * group, no temporary file. It rejects with the tool's error, or with a `ToolFailure` whose reason says why the runner
 * ended it. After `close()` nothing of the runner itself remains.
 */
export interface Runner {
  /** Runs one attempt of a call to its end. */
  run(call: RunnerCall, task: RunnerTask): Promise<unknown>;
  /** Stops everything that runs, and the runner itself. */
  close(): Promise<void>;
}
