import { ACTIONS, type ActionName } from '../batch/actions/all.ts';
import type { Action, ActionGroup } from '../batch/actions/define-action.ts';
import type { CliCommand } from './command.ts';

/** A command as the help lists it; all else of it is loaded when it is asked for, so that every command starts quickly. */
export interface CommandEntry {
  readonly name: string;
  /** In one line. */
  readonly summary: string;
  /** The heading that it stands under. */
  readonly group?: string;
  /** Whether what it prints is all that it is for: nobody needs it any more when nobody reads that. */
  readonly onlyShows?: boolean;
  load(): Promise<CliCommand>;
}

/** Commands of actions that do more than send a request. */
const OWN_COMMANDS: Partial<Record<ActionName, () => Promise<CliCommand>>> = {
  add_batch: async () => (await import('./commands/add-batch.ts')).addBatchCommand,
  start: async () => (await import('./commands/start.ts')).startCommand,
  status: async () => (await import('./commands/status.ts')).statusCommand,
  wait: async () => (await import('./commands/wait.ts')).waitCommand,
  results: async () => (await import('./commands/results.ts')).resultsCommand,
};

/** In the order in which the help lists them. */
export const COMMANDS: readonly CommandEntry[] = [
  ...under('Run work:', [
    {
      name: 'run',
      summary:
        'add the tasks of a file, or one for each of many files, and run them; the same command resumes',
      load: async () => (await import('./commands/run.ts')).runCommand,
    },
    ...actionCommands('run'),
    {
      name: 'recover',
      summary: 'see to tasks that were running in a process that died',
      load: async () => (await import('./commands/recover.ts')).recoverCommand,
    },
    {
      name: 'simulate',
      summary: 'what a batch would take with other limits, on paper',
      onlyShows: true,
      load: async () => (await import('./commands/simulate.ts')).simulateCommand,
    },
  ]),
  ...under('See how it goes:', [
    ...actionCommands('look'),
    {
      name: 'watch',
      summary: 'watch a batch that another process runs, until it ends',
      onlyShows: true,
      load: async () => (await import('./commands/watch.ts')).watchCommand,
    },
    {
      name: 'explain',
      summary: 'why a task does not run, or what became of it',
      onlyShows: true,
      load: async () => (await import('./commands/explain.ts')).explainCommand,
    },
  ]),
  ...under('Features for coding agents:', [
    {
      name: 'tasks',
      summary: 'features and their subtasks: many agents at once, and only verified work counts',
      // Each of its own says whether it does more.
      onlyShows: true,
      load: async () => (await import('./commands/tasks.ts')).tasksCommand,
    },
  ]),
  ...under('Doors for agents, browsers and programs:', [
    {
      name: 'mcp',
      summary: 'serve an agent over MCP (stdio), or write that into its configuration: mcp install CLIENT',
      load: async () => (await import('./commands/mcp.ts')).mcpCommand,
    },
    {
      name: 'serve',
      summary: 'serve the dashboard and the HTTP API',
      load: async () => (await import('./commands/serve.ts')).serveCommand,
    },
    {
      name: 'dashboard',
      summary: 'print an address that opens the dashboard of the running server',
      onlyShows: true,
      load: async () => (await import('./commands/dashboard.ts')).dashboardCommand,
    },
    {
      name: 'token',
      summary: 'make a token for a program that uses the server',
      onlyShows: true,
      load: async () => (await import('./commands/token.ts')).tokenCommand,
    },
  ]),
  ...under('This folder and this machine:', [
    {
      name: 'init',
      summary: 'write a commented volley.toml and an example batch',
      load: async () => (await import('./commands/init.ts')).initCommand,
    },
    {
      name: 'trust',
      summary: "approve what this folder's volley.toml can run; it is off until then",
      load: async () => (await import('./commands/trust.ts')).trustCommand,
    },
    {
      name: 'tools',
      summary: 'what can be called',
      onlyShows: true,
      load: async () => (await import('./commands/tools.ts')).toolsCommand,
    },
    {
      name: 'doctor',
      summary: 'what works on this system: the configuration and each layer of the sandbox',
      onlyShows: true,
      load: async () => (await import('./commands/doctor.ts')).doctorCommand,
    },
    {
      name: 'completion',
      summary: 'print a script that lets your shell complete commands, options and names',
      onlyShows: true,
      load: async () => (await import('./commands/completion.ts')).completionCommand,
    },
  ]),
];

function under(group: string, commands: readonly CommandEntry[]): CommandEntry[] {
  return commands.map((command) => ({ ...command, group }));
}

/** A command for each action, whose definition says how it is called. */
function actionCommands(group: ActionGroup): CommandEntry[] {
  return ACTIONS.filter(({ cli }) => cli.group === group).map(({ name, cli, hints, load }) => ({
    name: name.replaceAll('_', '-'),
    summary: `${cli.summary[0]!.toLowerCase()}${cli.summary.slice(1)}`,
    // Whoever waits wants the exit status, even if nobody reads the text.
    onlyShows: 'readOnly' in hints && name !== 'wait',
    load:
      OWN_COMMANDS[name] ??
      (async () => {
        const [{ actionCommand }, action] = await Promise.all([import('./action-command.ts'), load()]);
        return actionCommand(action as Action);
      }),
  }));
}
