// Generated from the definitions in this folder by `npx tsx scripts/generate-actions.ts`: do not edit.

import type { ActionEntry } from './define-action.ts';

/** What `batch_executor_tool` can be asked for. Definitions are loaded on demand, so that commands start quickly. */
export const ACTIONS = [
  {
    name: 'add',
    summary: 'Add one task to a batch',
    scope: 'run',
    hints: { creates: true },
    cli: { summary: 'Add one task to a batch', group: 'run' },
    load: async () => (await import('./add.ts')).addAction,
  },
  {
    name: 'add_batch',
    summary: 'Add many tasks to a batch, all or none',
    scope: 'run',
    hints: { creates: true },
    cli: { summary: 'Add the tasks in a file to a batch without running it', group: 'run' },
    load: async () => (await import('./add-batch.ts')).addBatchAction,
  },
  {
    name: 'start',
    summary: 'Run all open tasks in a batch in parallel',
    scope: 'run',
    hints: {},
    cli: { summary: 'Run all open tasks in a batch in parallel', group: 'run' },
    load: async () => (await import('./start.ts')).startAction,
  },
  {
    name: 'retry',
    summary: 'Reopen failed, cancelled and skipped tasks; completed tasks keep their results',
    scope: 'run',
    hints: { askHolder: true },
    cli: { summary: 'Reopen failed, cancelled and skipped tasks', group: 'run' },
    load: async () => (await import('./retry.ts')).retryAction,
  },
  {
    name: 'stop',
    summary: 'Stop a batch: running tasks finish, and the rest stay open',
    scope: 'run',
    hints: { askHolder: true },
    cli: { summary: 'Stop a batch: running tasks finish, and the rest stay open', group: 'run' },
    load: async () => (await import('./stop.ts')).stopAction,
  },
  {
    name: 'cancel',
    summary: 'Cancel tasks for good, running or waiting; tasks that depend on them are skipped',
    scope: 'run',
    hints: { destructive: true, askHolder: true },
    cli: { summary: 'Cancel tasks in a batch', group: 'run' },
    load: async () => (await import('./cancel.ts')).cancelAction,
  },
  {
    name: 'clear',
    summary: 'Delete a batch with all its results, or only tasks with certain statuses',
    scope: 'admin',
    hints: { destructive: true },
    cli: {
      summary: 'Delete a batch with all its results, or only tasks with certain statuses',
      group: 'run',
    },
    load: async () => (await import('./clear.ts')).clearAction,
  },
  {
    name: 'status',
    summary: 'Show progress: counts, rate, time left, running, failed and waiting tasks, and why they wait',
    scope: 'read',
    hints: { readOnly: true, askHolder: true },
    cli: { summary: 'Show the progress of a batch, its running tasks, and why others wait', group: 'look' },
    load: async () => (await import('./status.ts')).statusAction,
  },
  {
    name: 'wait',
    summary: 'Wait until a batch ends, or for a number of seconds',
    scope: 'read',
    hints: { readOnly: true, askHolder: true },
    cli: { summary: 'Wait for a batch in another process to end', group: 'look' },
    load: async () => (await import('./wait.ts')).waitAction,
  },
  {
    name: 'list',
    summary: 'List all batches with their state, counts and times',
    scope: 'read',
    hints: { readOnly: true },
    cli: { summary: 'List all batches with their state, counts and times', group: 'look' },
    load: async () => (await import('./list.ts')).listAction,
  },
  {
    name: 'results',
    summary: 'Read results: a summary, a page of tasks, or all or part of one result',
    scope: 'read',
    hints: { readOnly: true },
    cli: { summary: 'Show the results of a batch, or one full result', group: 'look' },
    load: async () => (await import('./results.ts')).resultsAction,
  },
  {
    name: 'logs',
    summary: 'Read what a task printed and logged: the last lines, a page, or lines with a text',
    scope: 'read',
    hints: { readOnly: true },
    cli: { summary: 'Show what a task printed and logged', group: 'look' },
    load: async () => (await import('./logs.ts')).logsAction,
  },
  {
    name: 'export',
    summary: 'Write all tasks with their results to a file',
    scope: 'run',
    hints: {},
    cli: { summary: 'Write the results of a batch to a file', group: 'look' },
    load: async () => (await import('./export.ts')).exportAction,
  },
] as const satisfies readonly ActionEntry[];

export type ActionName = (typeof ACTIONS)[number]['name'];
