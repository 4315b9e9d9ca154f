import type { TaskSettings } from '../../config/config.ts';
import type { WorkspaceTrust } from '../../config/trust.ts';
import type { Launcher } from '../../runners/process/launcher.ts';
import type { AgentUsage } from '../agents/adapter.ts';
import type { ChosenAgent } from '../agents/choose-agents.ts';
import type { Subtask } from '../files/feature.ts';
import type { TaskFolder } from '../files/task-folder.ts';
import type { CommandRunner } from '../verify/command-runner.ts';
import type { Evidence } from '../verify/verify.ts';
import type { DeniedPaths } from '../workspace/denied-paths.ts';
import type { Workspaces } from '../workspace/workspace.ts';
import type { RunTerms } from './run-request.ts';
import type { TamperGuard } from './tamper-guard.ts';

/** The name under which an agent of a run claims its subtasks. */
export function claimNameOf({ id }: Pick<RunContext, 'id'>, { name }: ChosenAgent): string {
  return `${name}-${id}`;
}

/** What the attempts of a run share. */
export interface RunContext {
  /** What it reads there is what Volley wrote. */
  readonly folder: TaskFolder;
  readonly tamperGuard: TamperGuard;
  readonly feature: string;
  /** Tells the agents of this run from those of others. */
  readonly id: string;
  readonly terms: RunTerms;
  readonly settings: TaskSettings;
  /** What no agent may touch. */
  readonly denied: DeniedPaths;
  /** Of the folder whose configuration names the agents. */
  readonly trust: WorkspaceTrust;
  readonly agents: ReadonlyMap<string, ChosenAgent>;
  readonly workspaces: Workspaces;
  readonly launcher: Launcher;
  /** What runs verification commands. */
  readonly commands: CommandRunner;
  readonly attempts: AttemptLog;
  /** What is being worked on now, by sequence. */
  readonly working: Map<string, { readonly subtask: Subtask; readonly record: SubtaskAttempt }>;
  /** What this run has brought into the project, in that order. */
  readonly merged: Subtask[];
  /** The environment that agents start with. */
  readonly env: Readonly<Record<string, string>>;
  /** For what lives no longer than the run. */
  readonly scratch: string;
  /** The file with the context of the session, absolute. */
  readonly session: string | undefined;
  /** The text of the user's own template of the prompt. */
  readonly template: string | undefined;
  /** What an earlier run has left of a subtask's work in the project. */
  pathsFromLastRun(seq: string): readonly string[];
  /** Takes secrets out. */
  redact(text: string): string;
}

/** Where an agent had nothing to do with it in the end. */
export const COMPLETED_ELSEWHERE = 'Somebody else completed it: what its agent did does not count.';

/** What one attempt at a subtask came to. */
export interface SubtaskAttempt {
  readonly agent: string;
  readonly startedAt: number;
  endedAt: number;
  usage: AgentUsage;
  /** What the agent said at its end. */
  lastMessage: string | undefined;
  evidence: readonly Evidence[];
  /** All paths that were touched, as far as they can be told apart. */
  touched: readonly string[];
  /** Those of them that are no deliverables. */
  outside: readonly string[];
  denied: readonly string[];
  /** What it or another that worked at the same time changed of what Volley or git runs; it was restored. */
  readonly tampered: string[];
  /** What of that could not be restored, or was moved, in words. */
  readonly notRestored: string[];
  /** Subtasks that others worked on in the same folder meanwhile. */
  readonly concurrentWith: Set<string>;
  conflicts: readonly string[];
  /** Where the work is that could not be brought in. */
  kept: string | undefined;
  branch: string | undefined;
  /** Where the agent's word and the evidence differ. */
  discrepancy: string | undefined;
  /** Why it was not enough; undefined where it was. */
  error: string | undefined;
}

/** What is known of the subtasks of a run, by sequence. */
export class AttemptLog {
  private readonly records = new Map<string, SubtaskAttempt[]>();

  open(seq: string, agent: string): SubtaskAttempt {
    const now = Date.now();
    const record: SubtaskAttempt = {
      agent,
      startedAt: now,
      endedAt: now,
      usage: {},
      lastMessage: undefined,
      evidence: [],
      touched: [],
      outside: [],
      denied: [],
      tampered: [],
      notRestored: [],
      concurrentWith: new Set(),
      conflicts: [],
      kept: undefined,
      branch: undefined,
      discrepancy: undefined,
      error: undefined,
    };
    this.records.set(seq, [...this.of(seq), record]);
    return record;
  }

  of(seq: string): readonly SubtaskAttempt[] {
    return this.records.get(seq) ?? [];
  }
}
