import { Coalesced } from '../../engine/coalesced.ts';
import { GitGuard } from '../../git/git-guard.ts';
import { RefGuard } from '../../git/ref-guard.ts';
import type { Repository } from '../../git/repository.ts';
import type { TaskFolder } from '../files/task-folder.ts';
import type { Tampering, WorkingSubtasks } from './run-context.ts';

/** A clock may be behind the times of files. */
const CLOCK_STEP_MS = 100;
const MAX_TAMPERINGS = 100;

/**
 * Restores what no agent of a run may change, whatever its sandbox: the task files, what git runs, and branches of others.
 * If only one agent can have done it, its attempt fails. Among several, nobody is blamed, and the report names them all.
 */
export class TamperGuard {
  readonly tamperings: Tampering[] = [];
  private readonly checking = new Coalesced(
    () => this.repository?.exclusive(() => this.checkNow()) ?? this.checkNow(),
  );

  private constructor(
    /** Guarded: it returns only what Volley wrote. */
    readonly folder: TaskFolder,
    private readonly git: GitGuard | undefined,
    private readonly refs: RefGuard | undefined,
    /** Undefined without worktrees. */
    private readonly repository: Repository | undefined,
    private readonly working: WorkingSubtasks,
  ) {}

  static async open(
    folder: TaskFolder,
    feature: string,
    working: WorkingSubtasks,
    repository: Repository | undefined,
  ): Promise<TamperGuard> {
    const git = await GitGuard.of(folder.project);
    const refs = repository ? RefGuard.of(folder.project) : undefined;
    let guard: TamperGuard | undefined;
    const guarded = await folder.guarded(feature, (paths, changedAt) =>
      guard?.blame({ paths, problems: [], changedAt }),
    );
    guard = new TamperGuard(guarded, git, refs, repository, working);
    return guard;
  }

  /** Patterns that agents may not touch in this repository. */
  get deniedPaths(): string[] {
    const hooks = this.git?.hooksInProject;
    return hooks === undefined ? [] : [`${hooks}/**`];
  }

  /** Restores what was changed. Not while a worktree is being made: half of one looks as if somebody had changed it. */
  check(): Promise<void> {
    return this.checking.request();
  }

  /** The same for a caller that has the repository for itself. */
  checkInside(): Promise<void> {
    return this.repository === undefined ? this.check() : this.checkNow();
  }

  private async checkNow(): Promise<void> {
    for (const guard of [this.git, this.refs]) {
      const found = await guard?.restore();
      if (found !== undefined && found.paths.length > 0) this.blame(found);
    }
    await this.folder.restoreTampered();
  }

  async close(): Promise<void> {
    await this.check().catch(() => undefined);
    await this.folder.endGuard();
  }

  private blame(found: {
    readonly paths: readonly string[];
    readonly problems: readonly string[];
    readonly changedAt: number | undefined;
  }): void {
    const { paths, problems, changedAt = Number.POSITIVE_INFINITY } = found;
    const suspects = [...this.working.values()].filter(
      ({ record }) => record.isActive && record.startedAt <= changedAt + CLOCK_STEP_MS,
    );
    const [only, ...others] = suspects;
    if (only !== undefined && others.length === 0) {
      only.record.tampered.push(...paths);
      only.record.notRestored.push(...problems);
    }
    if (this.tamperings.length < MAX_TAMPERINGS)
      this.tamperings.push({ paths, problems, suspects: suspects.map(({ subtask }) => subtask.seq) });
  }
}
