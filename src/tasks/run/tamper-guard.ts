import type { TaskFolder } from '../files/task-folder.ts';
import { GitGuard } from '../workspace/git-guard.ts';
import type { WorkingSubtasks } from './run-context.ts';

/**
 * Restores what no agent of a run may change, whatever its sandbox: the task files, and what git runs. A change cannot be
 * attributed to one agent, so it counts against all that were working when it was found.
 */
export class TamperGuard {
  private constructor(
    /** Guarded: it returns only what Volley wrote. */
    readonly folder: TaskFolder,
    private readonly git: GitGuard | undefined,
    private readonly blame: (paths: readonly string[], problems?: readonly string[]) => void,
  ) {}

  static async open(folder: TaskFolder, feature: string, working: WorkingSubtasks): Promise<TamperGuard> {
    const blame = (paths: readonly string[], problems: readonly string[] = []) => {
      for (const { record } of working.values()) {
        record.tampered.push(...paths);
        record.notRestored.push(...problems);
      }
    };
    const git = await GitGuard.of(folder.project);
    return new TamperGuard(await folder.guarded(feature, blame), git, blame);
  }

  /** Patterns that agents may not touch in this repository. */
  get deniedPaths(): string[] {
    const hooks = this.git?.hooksInProject;
    return hooks === undefined ? [] : [`${hooks}/**`];
  }

  /** Restores what was changed. */
  async check(): Promise<void> {
    const { paths, problems } = (await this.git?.restore()) ?? { paths: [], problems: [] };
    if (paths.length > 0) this.blame(paths, problems);
    await this.folder.restoreTampered();
  }

  async close(): Promise<void> {
    await this.check().catch(() => undefined);
    await this.folder.endGuard();
  }
}
