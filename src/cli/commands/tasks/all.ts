import type { CommandEntry } from '../../program/command.ts';

/** In the order in which the help lists them. */
export const TASKS_COMMANDS: readonly CommandEntry[] = [
  {
    name: 'status',
    summary: 'how far features are, with a line for each subtask',
    onlyShows: true,
    load: async () => (await import('./status.ts')).statusCommand,
  },
  {
    name: 'next',
    summary: 'what can be started now',
    onlyShows: true,
    load: async () => (await import('./next.ts')).nextCommand,
  },
  {
    name: 'parallel',
    summary: 'what can be started now and at the same time',
    onlyShows: true,
    load: async () => (await import('./parallel.ts')).parallelCommand,
  },
  {
    name: 'blocked',
    summary: 'what cannot be started, and why',
    onlyShows: true,
    load: async () => (await import('./blocked.ts')).blockedCommand,
  },
  {
    name: 'deps',
    summary: 'what a subtask waits for, as a tree',
    onlyShows: true,
    load: async () => (await import('./deps.ts')).depsCommand,
  },
  {
    name: 'plan',
    summary: 'in which waves a feature can be run, its critical path and its conflicts',
    onlyShows: true,
    load: async () => (await import('./plan.ts')).planCommand,
  },
  {
    name: 'graph',
    summary: 'what waits for what, as text or as a picture',
    onlyShows: true,
    load: async () => (await import('./graph.ts')).graphCommand,
  },
  {
    name: 'validate',
    summary: 'everything that is wrong with features, and what to do about it',
    load: async () => (await import('./validate.ts')).validateCommand,
  },
  {
    name: 'run',
    summary: 'let agents do the subtasks of a feature, at once where that is safe, and verify their work',
    load: async () => (await import('./run.ts')).runCommand,
  },
  {
    name: 'report',
    summary: 'what the last run of a feature came to',
    onlyShows: true,
    load: async () => (await import('./report.ts')).reportCommand,
  },
  {
    name: 'worktrees',
    summary: 'worktrees that are kept because of the work in them, and removing them',
    load: async () => (await import('./worktrees.ts')).worktreesCommand,
  },
  {
    name: 'claim',
    summary: 'take a subtask for a while; again, to keep it',
    load: async () => (await import('./claim.ts')).claimCommand,
  },
  {
    name: 'release',
    summary: 'give a subtask back',
    load: async () => (await import('./release.ts')).releaseCommand,
  },
  {
    name: 'verify',
    summary: 'look whether the work of subtasks is there',
    load: async () => (await import('./verify.ts')).verifyCommand,
  },
  {
    name: 'complete',
    summary: 'mark a subtask as done, if its work is there',
    load: async () => (await import('./complete.ts')).completeCommand,
  },
  {
    name: 'block',
    summary: 'take a subtask out of what can be started, and say why',
    load: async () => (await import('./block.ts')).blockCommand,
  },
  {
    name: 'unblock',
    summary: 'open a blocked subtask again',
    load: async () => (await import('./unblock.ts')).unblockCommand,
  },
  {
    name: 'archive',
    summary: 'put a finished feature away',
    load: async () => (await import('./archive.ts')).archiveCommand,
  },
  {
    name: 'new',
    summary: 'make a feature of a description in Markdown or YAML',
    load: async () => (await import('./new.ts')).newCommand,
  },
  {
    name: 'import',
    summary: 'make a feature of a tasks.json of claude-task-master',
    load: async () => (await import('./import.ts')).importCommand,
  },
];
