import { ACTIONS, type ActionName } from '../../batch/actions/all.ts';
import type { Action, ActionGroup } from '../../batch/actions/define-action.ts';
import type { CliCommand, CommandEntry } from '../program/command.ts';

/** Commands of actions that do more than send a request. */
const OWN_COMMANDS: Partial<Record<ActionName, () => Promise<CliCommand>>> = {
  add_batch: async () => (await import('./add-batch.ts')).addBatchCommand,
  start: async () => (await import('./start.ts')).startCommand,
  status: async () => (await import('./status.ts')).statusCommand,
  wait: async () => (await import('./wait.ts')).waitCommand,
  results: async () => (await import('./results.ts')).resultsCommand,
  logs: async () => (await import('./logs.ts')).logsCommand,
};

/** In the order of the help. */
export const COMMANDS: readonly CommandEntry[] = [
  ...under('Run work:', [
    {
      name: 'run',
      summary: 'run the tasks in a file, or one task for each matching file; run it again to resume',
      load: async () => (await import('./run.ts')).runBatchCommand,
    },
    ...actionCommands('run'),
    {
      name: 'cache',
      summary: 'show cached results; "cache clear" deletes them',
      load: async () => (await import('./cache.ts')).cacheCommand,
    },
    {
      name: 'recover',
      summary: 'recover the tasks of a process that died',
      load: async () => (await import('./recover.ts')).recoverCommand,
    },
    {
      name: 'store',
      summary: 'copy a store: "store copy FROM TO"',
      load: async () => (await import('./store.ts')).storeCommand,
    },
    {
      name: 'plan',
      summary: 'show the planned schedule of a batch, and what limits it',
      onlyShows: true,
      load: async () => (await import('./plan.ts')).planCommand,
    },
    {
      name: 'simulate',
      summary: 'estimate how long a batch would take with different limits',
      onlyShows: true,
      load: async () => (await import('./simulate.ts')).simulateCommand,
    },
  ]),
  ...under('Follow work:', [
    ...actionCommands('look'),
    {
      name: 'watch',
      summary: 'watch a batch in another process',
      onlyShows: true,
      load: async () => (await import('./watch.ts')).watchCommand,
    },
    {
      name: 'explain',
      summary: 'explain why a task is not running, or how it ended',
      onlyShows: true,
      load: async () => (await import('./explain.ts')).explainCommand,
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
      summary: 'serve an agent over MCP (stdio), or set one up with "mcp install CLIENT"',
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
  ...under('Many machines:', [
    {
      name: 'worker',
      summary: 'run calls for a coordinator on another machine, or drain a worker',
      load: async () => (await import('./worker.ts')).workerCommand,
    },
    {
      name: 'servers',
      summary: 'list the servers on this store, and which one leads',
      onlyShows: true,
      load: async () => (await import('./servers.ts')).serversCommand,
    },
    {
      name: 'workers',
      summary: 'list the workers of the cluster',
      onlyShows: true,
      load: async () => (await import('./workers.ts')).workersCommand,
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

function under(group: string, commands: readonly CommandEntry[]): CommandEntry[] {
  return commands.map((command) => ({ ...command, group }));
}

/** A command for each action, whose definition says how it is called. */
function actionCommands(group: ActionGroup): CommandEntry[] {
  return ACTIONS.filter(({ cli }) => cli.group === group).map(({ name, cli, hints, load }) => ({
    name: name.replaceAll('_', '-'),
    summary: `${cli.summary[0]!.toLowerCase()}${cli.summary.slice(1)}`,
    // The point of `wait` is its exit status, even if nobody reads its output.
    onlyShows: 'readOnly' in hints && name !== 'wait',
    load:
      OWN_COMMANDS[name] ??
      (async () => {
        const [{ actionCommand }, action] = await Promise.all([
          import('../session/action-command.ts'),
          load(),
        ]);
        return actionCommand(action as Action);
      }),
  }));
}
