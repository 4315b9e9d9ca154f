import type { EnvironmentVariables } from '../config/environment.ts';

/** What an agent reports about its own work. It is shown and recorded, never trusted. */
export type AgentEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool'; readonly name: string; readonly detail?: string }
  /** What a tool returned. */
  | { readonly type: 'output'; readonly ok: boolean; readonly text: string }
  /** Total usage since the process started, as far as the agent reports it. */
  | ({ readonly type: 'usage' } & AgentUsage)
  /**
   * Its final result: whether it considers the work done. `isProse`: the text of a failure may be the model's own, not
   * the program's.
   */
  | { readonly type: 'result'; readonly ok: boolean; readonly text: string; readonly isProse?: true };

export interface AgentUsage {
  readonly turns?: number;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly costUsd?: number;
}

/** What an agent is asked to do, and its limits. */
export interface AgentTask {
  readonly prompt: string;
  readonly cwd: string;
  /** A private folder outside `cwd`, removed afterwards, for agents that break when several share their state. */
  readonly stateFolder: string;
  /** Whether it may change files in `cwd`. */
  readonly writes: boolean;
  /** A folder outside `cwd` that it must be able to write to, since it reports completion there. */
  readonly mailbox: string | undefined;
  /** Its environment, which also locates its configuration and login. */
  readonly env: EnvironmentVariables;
  readonly model: string | undefined;
  /** Globs relative to `cwd`, for agents that support them. */
  readonly deniedPaths: readonly string[];
  /** Prefixes of allowed shell commands, such as `npm test`; undefined allows all. */
  readonly allowedCommands: readonly string[] | undefined;
  readonly maxTurns: number | undefined;
}

export interface AgentCommand {
  /** Begins with the program's plain name, which the user's configuration may replace. */
  readonly argv: readonly [string, ...string[]];
  /** Added to the environment that all agents get. */
  readonly env: Readonly<Record<string, string>>;
  readonly input: string | undefined;
}

/** Turns the standard output of one agent process into events. */
export interface AgentReader {
  /** Takes one line without its newline. A meaningless line gives no events. */
  line(text: string): readonly AgentEvent[];
  /** After the last line. */
  end(): readonly AgentEvent[];
}

/** How one kind of agent is started unattended, and how its output is read. */
export interface AgentAdapter {
  readonly name: string;
  /** May write files to `stateFolder` only. */
  command(task: AgentTask): Promise<AgentCommand>;
  reader(): AgentReader;
}
