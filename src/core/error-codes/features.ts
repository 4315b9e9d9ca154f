import type { ErrorTable } from './table.ts';

/** Errors of features and their subtasks. */
export const FEATURE_ERRORS = {
  UNKNOWN_FEATURE: {
    meaning: 'There is no feature of this name in `.tmp/tasks`; it may have been put away.',
    remedy: 'Check the name; the message gives the nearest.',
  },
  UNKNOWN_SUBTASK: {
    meaning: 'The feature has no subtask with this sequence number.',
    remedy: 'Check the number; the message gives the nearest.',
  },
  INVALID_FEATURE: {
    meaning:
      'The files of a feature, or a description of one, are not valid; the message says which and where.',
    remedy: 'Correct what the message names; `volley tasks validate` checks all of a feature.',
  },
  SUBTASK_REFUSED: {
    meaning:
      'What was asked for is not possible with the subtask or feature as it stands: claimed, blocked, done, waiting.',
    remedy: 'Read the message: it says what stands in the way.',
  },
  VERIFICATION_FAILED: {
    meaning: 'A subtask cannot be completed, for its deliverables or checks do not show that it is done.',
    remedy: 'Finish what the message lists, or use `--force`, which is written into the file.',
  },
  TASKS_LOCKED: {
    meaning: 'Another process has kept the folder of tasks locked for too long, or it cannot be locked.',
    remedy: 'See what the process that the message names does, then try again; nothing was written.',
  },
  TASKS_UNAVAILABLE: {
    meaning: 'A file of the folder of tasks cannot be read or written; what was there before is unchanged.',
    remedy: 'Read the message: it names the path and what the system says.',
  },
  WORKSPACE_UNAVAILABLE: {
    meaning:
      'Agents cannot work there as the project stands: worktrees need git and a branch without uncommitted changes.',
    remedy: 'Do what the message says, or run without worktrees.',
  },
  WORKTREE_FAILED: {
    meaning: 'A worktree could not be made or removed: git or the set-up command failed.',
    remedy: 'Read what it wrote, which is in the message; nothing of the work is lost.',
  },
  AGENT_NOT_ALLOWED: {
    meaning: 'A subtask cannot be delegated: its agent is not known, or nobody has allowed it.',
    remedy:
      'Describe the agent under `[tasks.agents.NAME]` of `volley.toml`, or choose one for all with `--agent`.',
  },
  AGENT_NOT_INSTALLED: {
    meaning: 'The program of an agent cannot be found, or may not be run. Nothing was started.',
    remedy: 'Install it, or name another with `command` under `[tasks.agents.NAME]` of `volley.toml`.',
  },
  FEATURE_RUNNING: {
    meaning: 'Another process runs the feature.',
    remedy: 'Wait for its end, or follow it: the message says how. Nothing was started.',
  },
} as const satisfies ErrorTable;
