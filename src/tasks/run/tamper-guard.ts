import type { TaskFolder } from '../files/task-folder.ts';
import { GitGuard } from '../workspace/git-guard.ts';
import type { RunContext } from './run-context.ts';

/**
 * What no agent of a run may change, whatever sandbox it has: the files of tasks, and what git runs. Whose change it
 * was cannot be told, so it counts against all that were at work when it was found.
 */
export class TamperGuard {
  private constructor(
    /** For the run itself: what it reads there is what Volley wrote. */
    readonly folder: TaskFolder,
    private readonly git: GitGuard | undefined,
    private readonly blame: (paths: readonly string[], problems?: readonly string[]) => void,
  ) {}

  static async open(
    folder: TaskFolder,
    feature: string,
    working: RunContext['working'],
  ): Promise<TamperGuard> {
    const blame = (paths: readonly string[], problems: readonly string[] = []) => {
      for (const { record } of working.values()) {
        record.tampered.push(...paths);
        record.notRestored.push(...problems);
      }
    };
    const git = await GitGuard.of(folder.project);
    return new TamperGuard(await folder.guarded(feature, blame), git, blame);
  }

  /** What agents may not touch in this repository besides. */
  get deniedPaths(): string[] {
    const hooks = this.git?.hooksInProject;
    return hooks === undefined ? [] : [`${hooks}/**`];
  }

  /** Puts back what was changed. */
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
