import type { CommandEntry } from '../../program/command.ts';

/** In the order in which the help lists them. */
export const TASKS_COMMANDS: readonly CommandEntry[] = [
  {
    name: 'status',
    summary: 'show the progress of features and their subtasks',
    onlyShows: true,
    load: async () => (await import('./show.ts')).featureStatusCommand,
  },
  {
    name: 'next',
    summary: 'list subtasks that are ready to start',
    onlyShows: true,
    load: async () => (await import('./show.ts')).nextCommand,
  },
  {
    name: 'parallel',
    summary: 'list ready subtasks that can run at the same time',
    onlyShows: true,
    load: async () => (await import('./show.ts')).parallelCommand,
  },
  {
    name: 'blocked',
    summary: 'list subtasks that are blocked or waiting, and why',
    onlyShows: true,
    load: async () => (await import('./show.ts')).blockedCommand,
  },
  {
    name: 'deps',
    summary: 'show the dependencies of a subtask as a tree',
    onlyShows: true,
    load: async () => (await import('./show.ts')).depsCommand,
  },
  {
    name: 'plan',
    summary: 'show the waves, critical path and conflicts of a feature',
    onlyShows: true,
    load: async () => (await import('./show.ts')).featurePlanCommand,
  },
  {
    name: 'graph',
    summary: 'show all dependencies, as text or as a picture',
    onlyShows: true,
    load: async () => (await import('./show.ts')).graphCommand,
  },
  {
    name: 'validate',
    summary: 'find problems in task files, and how to fix them',
    load: async () => (await import('./show.ts')).validateCommand,
  },
  {
    name: 'run',
    summary: 'run agents on the subtasks of a feature, in parallel where safe, and verify their work',
    load: async () => (await import('./run.ts')).runFeatureCommand,
  },
  {
    name: 'report',
    summary: 'show the report of the last run of a feature',
    onlyShows: true,
    load: async () => (await import('./run.ts')).reportCommand,
  },
  {
    name: 'logs',
    summary: 'show what the agent of a subtask said and did',
    onlyShows: true,
    load: async () => (await import('./logs.ts')).subtaskLogsCommand,
  },
  {
    name: 'attach',
    summary: 'follow the agent that is working on a subtask',
    onlyShows: true,
    load: async () => (await import('./logs.ts')).attachCommand,
  },
  {
    name: 'worktrees',
    summary: 'list kept worktrees and their unmerged work, or remove them',
    load: async () => (await import('./worktrees.ts')).worktreesCommand,
  },
  {
    name: 'diff',
    summary: 'show the work of a subtask that waits for review',
    onlyShows: true,
    load: async () => (await import('./review.ts')).diffCommand,
  },
  {
    name: 'approve',
    summary: 'merge work that waits for review',
    load: async () => (await import('./review.ts')).approveCommand,
  },
  {
    name: 'reject',
    summary: 'send work that waits for review back to an agent, with a reason',
    load: async () => (await import('./review.ts')).rejectCommand,
  },
  {
    name: 'claim',
    summary: 'claim a subtask, or renew the claim',
    load: async () => (await import('./change.ts')).claimCommand,
  },
  {
    name: 'release',
    summary: 'release a claimed subtask',
    load: async () => (await import('./change.ts')).releaseCommand,
  },
  {
    name: 'verify',
    summary: 'check the deliverables of subtasks and run their checks',
    load: async () => (await import('./verify.ts')).verifyCommand,
  },
  {
    name: 'complete',
    summary: 'verify a subtask and mark it as completed',
    load: async () => (await import('./verify.ts')).completeCommand,
  },
  {
    name: 'block',
    summary: 'block a subtask, with a reason',
    load: async () => (await import('./change.ts')).blockCommand,
  },
  {
    name: 'unblock',
    summary: 'unblock a subtask',
    load: async () => (await import('./change.ts')).unblockCommand,
  },
  {
    name: 'archive',
    summary: 'archive a finished feature',
    load: async () => (await import('./change.ts')).archiveCommand,
  },
  {
    name: 'new',
    summary: 'create a feature from a description in Markdown or YAML',
    load: async () => (await import('./create.ts')).newCommand,
  },
  {
    name: 'draft',
    summary: 'have an agent plan a feature from a description or an issue',
    load: async () => (await import('./draft.ts')).draftCommand,
  },
  {
    name: 'import',
    summary: 'create a feature from a tasks.json of claude-task-master',
    load: async () => (await import('./create.ts')).importCommand,
  },
];
