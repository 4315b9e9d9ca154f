import type { AgentSettings, TaskSettings } from '../config/config.ts';
import type { AgentAdapter, AgentCommand } from './adapter.ts';
import { adapterFor, commandAdapter } from './adapters.ts';

/** An agent that is configured, or known by name. */
export interface ChosenAgent {
  /** As subtasks and the configuration call it. */
  readonly name: string;
  readonly adapter: AgentAdapter;
  readonly model: string | undefined;
  /** Replaces the adapter's own program, if set. */
  readonly program: readonly string[] | undefined;
  /** The program that is started in the end: a path, or a name to look up. */
  readonly starts: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Finds an agent by name. Undefined if it has neither a known adapter nor a command. */
export function agentOf(name: string, settings: TaskSettings): ChosenAgent | undefined {
  const own: AgentSettings = Object.hasOwn(settings.agents, name) ? settings.agents[name]! : { env: {} };
  const { command, model, env } = own;
  const kind = own.adapter ?? (command === undefined ? name : 'command');
  const known = adapterFor(kind);
  if (known !== undefined)
    return { name, adapter: known, model, program: command, starts: command?.[0] ?? known.name, env };
  if (kind !== 'command' || command === undefined) return undefined;
  const argv = command as [string, ...string[]];
  return { name, adapter: commandAdapter(argv), model, program: undefined, starts: argv[0], env };
}

/** The user's own command replaces the adapter's program. */
export function withProgram(command: AgentCommand, { program }: ChosenAgent): AgentCommand {
  if (program === undefined) return command;
  return { ...command, argv: [...program, ...command.argv.slice(1)] as [string, ...string[]] };
}

/** The quota that an agent uses: that of its account. Another program or environment may have another account. */
export function agentQuota({ name, adapter, program, env }: ChosenAgent): string {
  const isOwn = adapter.name === 'command' || program !== undefined || Object.keys(env).length > 0;
  return `agent:${isOwn ? name : adapter.name}`;
}
