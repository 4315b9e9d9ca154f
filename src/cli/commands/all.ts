import type { CommandName } from '../output/wording.ts';
import type { CommandEntry } from '../program/command.ts';

/** In the order of the help. */
export const COMMANDS: readonly CommandEntry[] = [
  ...under('Run work:', [
    {
      name: 'run',
      summary: 'run the tasks in a file, or one task per file; the same command resumes',
      load: async () => (await import('./run.ts')).runBatchCommand,
    },
    {
      name: 'add',
      summary: 'add a task to a batch',
      load: async () => (await import('./add.ts')).addCommand,
    },
    {
      name: 'add-batch',
      summary: 'add the tasks in a file to a batch without running it',
      load: async () => (await import('./add-batch.ts')).addBatchCommand,
    },
    {
      name: 'start',
      summary: 'run the open tasks of a batch',
      load: async () => (await import('./start.ts')).startCommand,
    },
    {
      name: 'retry',
      summary: 'reopen failed, cancelled and skipped tasks',
      load: async () => (await import('./retry.ts')).retryCommand,
    },
    {
      name: 'stop',
      summary: 'stop a running batch after its running tasks',
      load: async () => (await import('./stop.ts')).stopCommand,
    },
    {
      name: 'cancel',
      summary: 'cancel tasks of a batch',
      load: async () => (await import('./cancel.ts')).cancelCommand,
    },
    {
      name: 'clear',
      summary: 'delete a batch, or its tasks with some status',
      load: async () => (await import('./clear.ts')).clearCommand,
    },
    {
      name: 'recover',
      summary: 'recover tasks of a process that died',
      load: async () => (await import('./recover.ts')).recoverCommand,
    },
    {
      name: 'simulate',
      summary: 'estimate how long a batch takes with different limits',
      onlyShows: true,
      load: async () => (await import('./simulate.ts')).simulateCommand,
    },
  ]),
  ...under('Follow work:', [
    {
      name: 'status',
      summary: 'show the progress of a batch, and what is running',
      onlyShows: true,
      load: async () => (await import('./status.ts')).statusCommand,
    },
    {
      name: 'watch',
      summary: 'watch a batch that another process runs',
      onlyShows: true,
      load: async () => (await import('./watch.ts')).watchCommand,
    },
    {
      name: 'wait',
      summary: 'wait until a batch that another process runs has ended',
      load: async () => (await import('./wait.ts')).waitCommand,
    },
    {
      name: 'list',
      summary: 'list the batches of this folder',
      onlyShows: true,
      load: async () => (await import('./list.ts')).listCommand,
    },
    {
      name: 'explain',
      summary: 'explain why a task does not run, or how it ended',
      onlyShows: true,
      load: async () => (await import('./explain.ts')).explainCommand,
    },
    {
      name: 'results',
      summary: 'show the results of a batch, or a whole result',
      onlyShows: true,
      load: async () => (await import('./results.ts')).resultsCommand,
    },
    {
      name: 'export',
      summary: 'write the results of a batch to a file',
      load: async () => (await import('./export.ts')).exportCommand,
    },
  ]),
  ...under('Features for coding agents:', [
    {
      name: 'tasks',
      summary: 'run features with many agents at once, and verify their work',
      // Its commands say for themselves whether they do more.
      onlyShows: true,
      load: async () => (await import('./tasks.ts')).tasksCommand,
    },
  ]),
  ...under('Integrations:', [
    {
      name: 'mcp',
      summary: 'serve an agent over MCP (stdio), or set one up: mcp install CLIENT',
      load: async () => (await import('./mcp.ts')).mcpCommand,
    },
    {
      name: 'serve',
      summary: 'serve the dashboard and the HTTP API',
      load: async () => (await import('./serve.ts')).serveCommand,
    },
    {
      name: 'dashboard',
      summary: 'print a link to the dashboard of the running server',
      onlyShows: true,
      load: async () => (await import('./dashboard.ts')).dashboardCommand,
    },
    {
      name: 'token',
      summary: 'create a token for a program that uses the server',
      onlyShows: true,
      load: async () => (await import('./token.ts')).tokenCommand,
    },
  ]),
  ...under('Setup:', [
    {
      name: 'init',
      summary: 'write a commented volley.toml and an example batch',
      load: async () => (await import('./init.ts')).initCommand,
    },
    {
      name: 'trust',
      summary: "approve what this folder's volley.toml may run",
      load: async () => (await import('./trust.ts')).trustCommand,
    },
    {
      name: 'tools',
      summary: 'list the tools that tasks can call',
      onlyShows: true,
      load: async () => (await import('./tools.ts')).toolsCommand,
    },
    {
      name: 'doctor',
      summary: 'check the configuration and the sandbox',
      onlyShows: true,
      load: async () => (await import('./doctor.ts')).doctorCommand,
    },
    {
      name: 'completion',
      summary: 'print a completion script for your shell',
      onlyShows: true,
      load: async () => (await import('./completion.ts')).completionCommand,
    },
  ]),
];

function under(
  group: string,
  commands: readonly (CommandEntry & { readonly name: CommandName })[],
): CommandEntry[] {
  return commands.map((command) => ({ ...command, group }));
}
