import type { TaskSettings } from '../../config/config.ts';
import type { WorkspaceTrust } from '../../config/trust.ts';
import type { Launcher } from '../../runners/process/launcher.ts';
import type { Subtask } from '../feature.ts';
import type { TaskFolder } from '../files/task-folder.ts';
import type { DeniedPaths } from '../permissions/denied.ts';
import type { CommandRunner } from '../verify/command-runner.ts';
import type { Workspaces } from '../workspace/workspace.ts';
import type { ChosenAgent } from './choose-agents.ts';
import type { AttemptRecord, Ledger } from './ledger.ts';
import type { RunTerms } from './request.ts';
import type { Safeguard } from './safeguard.ts';

/** The name under which an agent of a run claims its subtasks. */
export function claimantOf({ id }: Pick<RunParts, 'id'>, { name }: ChosenAgent): string {
  return `${name}-${id}`;
}

/** What the attempts of a run share. */
export interface RunParts {
  /** What it reads there is what Volley wrote. */
  readonly folder: TaskFolder;
  readonly safeguard: Safeguard;
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
  readonly ledger: Ledger;
  /** What is being worked on now, by sequence. */
  readonly working: Map<string, { readonly subtask: Subtask; readonly record: AttemptRecord }>;
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
  leftBefore(seq: string): readonly string[];
  /** Takes secrets out. */
  redact(text: string): string;
}
