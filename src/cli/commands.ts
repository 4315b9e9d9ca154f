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

/** In the order in which the help lists them. */
export const COMMANDS: readonly CommandEntry[] = [
  ...under('Run work:', [
    {
      name: 'run',
      summary:
        'add the tasks of a file, or one for each of many files, and run them; the same command resumes',
      load: async () => (await import('./commands/run.ts')).runCommand,
    },
    {
      name: 'add',
      summary: 'add a task to a batch',
      load: async () => (await import('./commands/add.ts')).addCommand,
    },
    {
      name: 'add-batch',
      summary: 'add the tasks of a file to a batch, without running it',
      load: async () => (await import('./commands/add-batch.ts')).addBatchCommand,
    },
    {
      name: 'start',
      summary: 'run all open tasks of a batch',
      load: async () => (await import('./commands/start.ts')).startCommand,
    },
    {
      name: 'retry',
      summary: 'open failed, cancelled and skipped tasks again',
      load: async () => (await import('./commands/retry.ts')).retryCommand,
    },
    {
      name: 'stop',
      summary: 'let a running batch finish what runs, and start no more',
      load: async () => (await import('./commands/stop.ts')).stopCommand,
    },
    {
      name: 'cancel',
      summary: 'end tasks of a batch',
      load: async () => (await import('./commands/cancel.ts')).cancelCommand,
    },
    {
      name: 'clear',
      summary: 'forget a batch, or its tasks of some status',
      load: async () => (await import('./commands/clear.ts')).clearCommand,
    },
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
    {
      name: 'status',
      summary: 'how far a batch is, what runs, what waits and why',
      onlyShows: true,
      load: async () => (await import('./commands/status.ts')).statusCommand,
    },
    {
      name: 'watch',
      summary: 'watch a batch that another process runs, until it ends',
      onlyShows: true,
      load: async () => (await import('./commands/watch.ts')).watchCommand,
    },
    {
      name: 'wait',
      summary: 'wait for the end of a batch that another process runs',
      load: async () => (await import('./commands/wait.ts')).waitCommand,
    },
    {
      name: 'list',
      summary: 'all batches of this folder',
      onlyShows: true,
      load: async () => (await import('./commands/list.ts')).listCommand,
    },
    {
      name: 'explain',
      summary: 'why a task does not run, or what became of it',
      onlyShows: true,
      load: async () => (await import('./commands/explain.ts')).explainCommand,
    },
    {
      name: 'results',
      summary: 'the results of a batch, or one of them whole',
      onlyShows: true,
      load: async () => (await import('./commands/results.ts')).resultsCommand,
    },
    {
      name: 'export',
      summary: 'write the results of a batch to a file',
      load: async () => (await import('./commands/export.ts')).exportCommand,
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
