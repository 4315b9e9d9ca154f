import type { Action } from '../context.ts';

/** An action as it is told to a model; what it does is loaded when somebody asks for it. */
export interface ActionEntry {
  readonly name: string;
  /** In one line, for a model. */
  readonly summary: string;
  load(): Promise<Action>;
}

/** What `batch_executor_tool` can be asked for, in the order in which it is told. */
export const ACTIONS: readonly ActionEntry[] = [
  {
    name: 'add',
    summary: 'adds one task to a batch',
    load: async () => (await import('./add.ts')).addAction,
  },
  {
    name: 'add_batch',
    summary: 'adds many tasks to a batch, all of them or none',
    load: async () => (await import('./add-batch.ts')).addBatchAction,
  },
  {
    name: 'start',
    summary: 'runs all open tasks of a batch in parallel',
    load: async () => (await import('./start.ts')).startAction,
  },
  {
    name: 'status',
    summary: 'how far a batch has come: counts, rate, time left, what runs, what failed, what waits and why',
    load: async () => (await import('./status.ts')).statusAction,
  },
  {
    name: 'results',
    summary: 'what came of the tasks: a summary, a list in pages, or one result as a whole or in parts',
    load: async () => (await import('./results.ts')).resultsAction,
  },
  {
    name: 'export',
    summary: 'writes all tasks with their results to a file',
    load: async () => (await import('./export.ts')).exportAction,
  },
  {
    name: 'clear',
    summary: 'forgets a batch with all its results, or its tasks of some statuses',
    load: async () => (await import('./clear.ts')).clearAction,
  },
  {
    name: 'stop',
    summary: 'starts nothing more of a batch; what runs may finish, what is left stays open',
    load: async () => (await import('./stop.ts')).stopAction,
  },
  {
    name: 'cancel',
    summary: 'ends tasks for good, whether they run or wait; what depends on them is skipped',
    load: async () => (await import('./cancel.ts')).cancelAction,
  },
  {
    name: 'retry',
    summary: 'opens again what failed, was cancelled or was skipped; what completed stays as it is',
    load: async () => (await import('./retry.ts')).retryAction,
  },
  {
    name: 'wait',
    summary: 'waits for the end of a batch, or for so many seconds',
    load: async () => (await import('./wait.ts')).waitAction,
  },
  {
    name: 'list',
    summary: 'names all batches with their counts',
    load: async () => (await import('./list.ts')).listAction,
  },
];
