import type { Report } from '../engine/task.ts';

/** What the function of a tool is given besides its input, wherever it runs. */
export interface ToolContext {
  /** The id of the execution. */
  readonly id: string;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** Aborted when the attempt shall stop. */
  readonly signal: AbortSignal;
  /** Reports the share that is done, from 0 to 1, the current step, or both. */
  readonly report: Report;
}

/** The work of a tool. */
export type ToolRun<I = unknown, O = unknown> = (input: I, context: ToolContext) => O | PromiseLike<O>;

/** Where a runner finds the work of a tool. */
export type ToolCode =
  /** A function of this thread. */
  | { readonly kind: 'function'; readonly run: ToolRun }
  /** The text of a function that uses nothing of its surroundings; evaluated in the other thread or process. */
  | { readonly kind: 'source'; readonly text: string }
  /** A module and the name of its export: a function, a tool, or a list of tools of which `toolName` is one. */
  | { readonly kind: 'module'; readonly url: string; readonly exportName: string };

/** What a runner enforces. Only processes can enforce all of it; see docs/tools.md. */
export interface RunLimits {
  /** Memory of all its processes together. */
  readonly memoryMb?: number;
  /** CPU time of all its processes together. */
  readonly cpuMs?: number;
  readonly openFiles?: number;
  readonly processes?: number;
  /** The size of one file, and what all its processes together write to disks, as far as that can be seen. */
  readonly diskMb?: number;
  /** What it may write to its output and error streams together; more ends it. */
  readonly outputBytes?: number;
  /** The size of the serialised result; a larger one fails the call. */
  readonly resultBytes?: number;
}

/** What a process may touch. */
export interface SandboxPolicy {
  /** `auto` uses what the system allows, `required` refuses to run without all of it, `off` uses none. */
  readonly mode: 'auto' | 'required' | 'off';
  /** Folders that it may read, besides the system's own. */
  readonly read: readonly string[];
  /** Folders that it may read and write. */
  readonly write: readonly string[];
  readonly network: boolean;
  /** Keeps what is protected inside those folders. */
  readonly guard?: SandboxGuard | undefined;
}

/** Knows what is protected inside the folders of a policy, and looks whether a program has kept to it. */
export interface SandboxGuard {
  /** To be called before a program starts. Without a sandbox only a look afterwards can tell what it did. */
  begin(isSandboxed: boolean): Promise<GuardedRun>;
}

/** What is protected from one program. */
export interface GuardedRun {
  /** What the sandbox puts over the folders of the policy. */
  readonly covers: readonly Cover[];
  /** To be called when nothing of the program remains. Returns what was made or changed although it is protected. */
  end(): Promise<readonly Breach[]>;
}

/** A path as a sandbox shows it. It exists, and no part of it is a symbolic link. */
export interface Cover {
  readonly path: string;
  /** `pinned` is as it was, but cannot be renamed, nor removed. */
  readonly as: 'read-only' | 'pinned' | 'empty-folder' | 'empty-file';
}

/** A protected path that was made or changed while a program ran. */
export interface Breach {
  readonly path: string;
  /** The rule that protects it. */
  readonly pattern: string;
  /** Where it was put, if it was new. */
  readonly movedTo?: string;
}

/** One call of a tool, as a runner needs it. */
export interface RunnerCall {
  readonly toolName: string;
  readonly code: ToolCode;
  /** Already checked against the tool's schema. It is serialised for another thread or process. */
  readonly input: unknown;
  readonly limits: RunLimits;
  readonly sandbox: SandboxPolicy;
  /** Environment variables that a process gets besides the usual ones. */
  readonly env: Readonly<Record<string, string>>;
}

/** What a runner may say of the attempt that it runs. */
export interface RunnerTask extends ToolContext {
  /** The work begins only now: time limits count from here, not from when the runner was asked. */
  began(): void;
  /** Calls back when the attempt shall stop. Where it is there, no signal has to be made, which takes its time. */
  readonly onStop?: (callback: (reason: unknown) => void) => void;
}

/**
 * A place where attempts run. `run` settles only when nothing of the attempt remains: no thread that works on it, no
 * process of its group, no temporary file. It rejects with what the tool threw, or with a `ToolFailure` whose reason
 * tells what the runner had to end it for. After `close()` nothing of the runner itself remains.
 */
export interface Runner {
  /** Runs one attempt of a call to its end. */
  run(call: RunnerCall, task: RunnerTask): Promise<unknown>;
  /** Ends what runs, and everything of the runner itself. */
  close(): Promise<void>;
}
