import type { AgentUsage } from '../../agents/adapter.ts';
import type { DeniedPaths } from '../../agents/denied-paths.ts';
import type { ChosenAgent } from '../../agents/find-agent.ts';
import type { TaskSettings } from '../../config/config.ts';
import type { WorkspaceTrust } from '../../config/trust.ts';
import type { Launcher } from '../../runners/process/launcher.ts';
import type { Subtask } from '../files/feature.ts';
import type { TaskFolder } from '../files/task-folder.ts';
import type { CommandRunner } from '../verify/command-runner.ts';
import type { Evidence } from '../verify/verify.ts';
import type { Workspace, Workspaces } from '../workspace/workspace.ts';
import type { AgentPlan } from './choose-agents.ts';
import type { ReviewQueue } from './review-queue.ts';
import type { RunTerms } from './run-request.ts';
import type { TamperGuard } from './tamper-guard.ts';

/** The subtasks that are being worked on, by sequence number. */
export type WorkingSubtasks = Map<string, { readonly subtask: Subtask; readonly record: SubtaskAttempt }>;

/** What the attempts of a run share. */
export interface RunContext {
  /** Guarded: it returns only what Volley wrote. */
  readonly folder: TaskFolder;
  readonly tamperGuard: TamperGuard;
  readonly feature: string;
  /** Distinguishes the agents of this run from those of others. */
  readonly id: string;
  readonly terms: RunTerms;
  readonly settings: TaskSettings;
  readonly denied: DeniedPaths;
  /** Of the folder whose configuration names the agents. */
  readonly trust: WorkspaceTrust;
  readonly agents: AgentPlan;
  readonly workspaces: Workspaces;
  readonly launcher: Launcher;
  /** Runs verification commands. */
  readonly commands: CommandRunner;
  readonly attempts: AttemptLog;
  readonly working: WorkingSubtasks;
  /** The subtasks that this run merged into the project, in order. */
  readonly merged: Subtask[];
  /** Set if verified work waits for review. */
  readonly reviews: ReviewQueue | undefined;
  /** Worktrees of failed attempts, for the next attempt at the same subtask. */
  readonly left: Map<string, Workspace[]>;
  /** The environment of agents. */
  readonly env: Readonly<Record<string, string>>;
  /** The repository of the project, if agents run on workers that have clones of it. */
  readonly repository: { readonly repository: string; readonly prefix: string } | undefined;
  /** A temporary folder that is removed after the run. */
  readonly scratch: string;
  /** The absolute path of the session's context file. */
  readonly session: string | undefined;
  /** The user's own prompt template. */
  readonly template: string | undefined;
  /** Paths that the last run changed for a subtask and that are unchanged since. */
  pathsFromLastRun(seq: string): readonly string[];
  /** The number of the last attempt at a subtask in earlier runs. */
  lastAttempt(seq: string): number;
  /** Removes secrets. */
  redact(text: string): string;
}

/** Protected files of Volley or git that were changed during a run. */
export interface Tampering {
  readonly paths: readonly string[];
  /** What could not be restored, in words. */
  readonly problems: readonly string[];
  /** The subtasks whose agents may have done it. */
  readonly suspects: readonly string[];
}

/** The name under which an agent of a run claims subtasks. */
export function claimNameOf({ id }: Pick<RunContext, 'id'>, { name }: ChosenAgent): string {
  return `${name}-${id}`;
}

/** The discrepancy of an attempt whose subtask was completed by someone else. */
export const COMPLETED_ELSEWHERE =
  'Someone else completed the subtask, so the work of this agent does not count.';

/** One attempt at a subtask. */
export interface SubtaskAttempt {
  /** Counts over all runs, from 1. */
  readonly number: number;
  readonly agent: string;
  /** The worker that ran the agent, if that was on another machine. */
  worker: string | undefined;
  readonly startedAt: number;
  endedAt: number;
  usage: AgentUsage;
  /** The agent's final message. */
  lastMessage: string | undefined;
  evidence: readonly Evidence[];
  /** The changed paths, as far as they can be attributed. */
  touched: readonly string[];
  /** The changed paths that are not deliverables. */
  outside: readonly string[];
  denied: readonly string[];
  /** Whether its agent, or a check of its work, may be running. */
  isActive: boolean;
  /** Whether it repairs work that did not fit the project. Such attempts are not counted as retries. */
  isRepair: boolean;
  /** Whether it was lost with its worker. Such attempts do not count. */
  wasLost: boolean;
  /** Whether a limit of the agent, an outage, or the loss of its worker, ended it. Such attempts do not count. */
  isRefused: boolean;
  /** When its verified work was handed over for review. */
  inReviewSince: number | undefined;
  /** Whether a person rejected its work. Such attempts are not counted as retries. */
  isRejected: boolean;
  /** Whether its work still waited for review when the run ended. */
  isLeftInReview: boolean;
  /** The commit of its work, if that does not fit the project and another attempt may repair it. */
  repairable: string | undefined;
  /** How many subtasks of this run were merged when its worktree was made. */
  mergedBefore: number;
  /** The path of its transcript, relative to the project. */
  transcript: string | undefined;
  /** Protected files of Volley or git that only this agent can have changed. They were restored. */
  readonly tampered: string[];
  /** What could not be restored, in words. */
  readonly notRestored: string[];
  /** Subtasks that ran at the same time. */
  readonly concurrentWith: Set<string>;
  conflicts: readonly string[];
  /** The path of work that was not merged. */
  kept: string | undefined;
  branch: string | undefined;
  /** How the agent's report differs from the evidence. */
  discrepancy: string | undefined;
  /** Why the attempt failed, if it did. */
  error: string | undefined;
  reason: string | undefined;
}

/** The attempts of a run, by sequence number. */
export class AttemptLog {
  private readonly records = new Map<string, SubtaskAttempt[]>();

  open(seq: string, agent: string, number: number): SubtaskAttempt {
    const now = Date.now();
    const record: SubtaskAttempt = {
      number,
      agent,
      worker: undefined,
      startedAt: now,
      endedAt: now,
      usage: {},
      lastMessage: undefined,
      evidence: [],
      touched: [],
      outside: [],
      denied: [],
      isActive: false,
      isRepair: false,
      wasLost: false,
      isRefused: false,
      inReviewSince: undefined,
      isRejected: false,
      isLeftInReview: false,
      repairable: undefined,
      mergedBefore: 0,
      transcript: undefined,
      tampered: [],
      notRestored: [],
      concurrentWith: new Set(),
      conflicts: [],
      kept: undefined,
      branch: undefined,
      discrepancy: undefined,
      error: undefined,
      reason: undefined,
    };
    this.records.set(seq, [...this.of(seq), record]);
    return record;
  }

  of(seq: string): readonly SubtaskAttempt[] {
    return this.records.get(seq) ?? [];
  }
}
