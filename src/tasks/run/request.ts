import type { TaskBudget, TaskSettings } from '../../config/config.ts';

/** What somebody asks of a run; what is left out is as the configuration says. */
export interface RunRequest {
  readonly feature: string;
  /** An explicit batch: these, and nothing after them. */
  readonly subtasks?: readonly string[];
  /** The same by the number of a batch of the whole feature, from 1. */
  readonly batch?: number;
  /** The agent for all of them, whatever they suggest. */
  readonly agent?: string;
  /** Whether a person chose the agent: then it may be any that is known. */
  readonly isPersonal?: boolean;
  /** A file with what agents should know of the session. */
  readonly session?: string;
  /** Whether a wave begins only when the one before it is done. */
  readonly waves?: boolean;
  /** Whether what may write to the same files runs one after the other, instead of being refused. */
  readonly serialize?: boolean;
  readonly worktrees?: boolean;
  readonly maxConcurrent?: number;
  readonly maxRetries?: number;
  readonly timeoutMs?: number;
  readonly stallMs?: number;
  readonly budget?: TaskBudget;
}

/** How a run treats each subtask. */
export interface RunTerms {
  readonly maxConcurrent: number;
  readonly maxRetries: number;
  readonly timeoutMs: number;
  readonly stallMs: number;
  readonly budget: TaskBudget;
  readonly worktrees: boolean;
}

export function termsOf(request: RunRequest, settings: TaskSettings): RunTerms {
  return {
    maxConcurrent: request.maxConcurrent ?? settings.maxConcurrent,
    maxRetries: request.maxRetries ?? settings.maxRetries,
    timeoutMs: request.timeoutMs ?? settings.timeoutMs,
    stallMs: request.stallMs ?? settings.stallMs,
    budget: { ...settings.budget, ...request.budget },
    worktrees: request.worktrees ?? settings.worktrees,
  };
}
