/** What an agent says of its own work while it goes on. It is shown and noted, never believed. */
export type AgentEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool'; readonly name: string; readonly detail?: string }
  /** All that was used since the start of the process, as far as the agent tells. */
  | ({ readonly type: 'usage' } & AgentUsage)
  /** Its last word: whether it calls its work done. */
  | { readonly type: 'result'; readonly ok: boolean; readonly text: string };

export interface AgentUsage {
  readonly turns?: number;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly costUsd?: number;
}

/** What an agent is asked to do, and within which bounds. */
export interface AgentTask {
  readonly prompt: string;
  /** Where it works. */
  readonly cwd: string;
  /** A folder that is its own, outside `cwd`, removed afterwards: for agents that break when several share their state. */
  readonly stateFolder: string;
  /** A folder outside `cwd` that it must be able to write: there it tells its run that it is done. */
  readonly mailbox: string;
  /** The environment that it starts with: where its own configuration and login are found. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly model: string | undefined;
  /** Globs relative to `cwd`, passed on where the agent can keep to them. */
  readonly deniedPaths: readonly string[];
  /** Shell commands that it may run, as prefixes such as `npm test`; undefined where all are allowed. */
  readonly allowedCommands: readonly string[] | undefined;
  readonly maxTurns: number | undefined;
}

export interface AgentCommand {
  /** The program comes first, by its plain name: a command of the user's may take its place. */
  readonly argv: readonly [string, ...string[]];
  /** On top of the environment that all agents get. */
  readonly env: Readonly<Record<string, string>>;
  readonly input: string | undefined;
}

/** Turns what one process of an agent writes to its standard output into events. */
export interface AgentReader {
  /** One line without its end. A line that means nothing gives no events. */
  line(text: string): readonly AgentEvent[];
  /** After the last line. */
  end(): readonly AgentEvent[];
}

/** How one kind of agent is started without a person, and what its output means. */
export interface AgentAdapter {
  readonly name: string;
  /** May write files into `stateFolder`, and into nothing else. */
  command(task: AgentTask): Promise<AgentCommand>;
  reader(): AgentReader;
}
