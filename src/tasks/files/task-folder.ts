import { type Dirent, existsSync, statSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join, posix, resolve } from 'node:path';
import type { EnvironmentVariables } from '../../config/environment.ts';
import { replaceFileIn } from '../../config/regular-file.ts';
import { VolleyError } from '../../core/errors.ts';
import { withFolderLock } from '../../store/folder-lock.ts';
import { livesAsSeenBy, ownIdentity } from '../../store/process-identity.ts';
import { codeOf, fileFailure } from '../../tools/builtin/refusal.ts';
import type { Feature } from './feature.ts';
import { editJson } from './json-edit.ts';
import { type FeatureTexts, parseFeature, readTexts, TASK_FILE } from './parse-feature.ts';
import type { Moment } from './readiness.ts';
import { counterFields, type TaskFileChange } from './subtask-changes.ts';
import { archivedFeature, unknownFeature } from './subtask-reference.ts';
import { TaskCopies } from './task-copies.ts';
import { TaskGuard } from './task-guard.ts';

const PLACE = join('.tmp', 'tasks');
/** Archived features; no feature may have this name. */
const ARCHIVE = 'completed';

/** Called with files that were restored, and when they were changed. */
type OnTampered = (paths: readonly string[], changedAt: number | undefined) => void;

/** The features of a project, in its `.tmp/tasks`. All changes to task files go through this class. */
export class TaskFolder {
  readonly path: string;
  /** Serializes changes within this process, so that only other processes compete for the lock. */
  private turn: Promise<unknown> = Promise.resolve();

  constructor(
    /** The folder that deliverables and other paths are relative to. */
    readonly project: string,
    private readonly now: () => number = Date.now,
    private readonly guard?: TaskGuard,
    /** Called after these files of a guarded folder were restored. */
    private readonly onTampered: OnTampered = () => undefined,
  ) {
    this.path = join(project, PLACE);
  }

  /** Searches upwards for a folder with tasks, as far as the repository's root. Falls back to `cwd`. */
  static nearest(cwd: string): TaskFolder {
    for (let folder = cwd; ; folder = dirname(folder)) {
      if (existsSync(join(folder, PLACE))) return new TaskFolder(folder);
      if (existsSync(join(folder, '.git')) || dirname(folder) === folder) return new TaskFolder(cwd);
    }
  }

  moment(): Moment {
    const self = ownIdentity();
    return { now: this.now(), isGone: (process) => livesAsSeenBy(self, process) === false };
  }

  /** The sorted names of all features that are not archived. */
  async names(): Promise<string[]> {
    const entries = await readdir(this.path, { withFileTypes: true }).catch((error) => {
      if (codeOf(error) === 'ENOENT') return [];
      throw asVolleyError('read', this.path, error);
    });
    return entries
      .filter((entry) => entry.name !== ARCHIVE && !entry.name.startsWith('.') && this.isFolder(entry))
      .map(({ name }) => name)
      .sort();
  }

  private isFolder(entry: Dirent): boolean {
    if (!entry.isSymbolicLink()) return entry.isDirectory();
    return statSync(join(this.path, entry.name), { throwIfNoEntry: false })?.isDirectory() === true;
  }

  async read(name: string): Promise<Feature> {
    return this.parse(name, await this.texts(name));
  }

  /** The same folder for a run: files that anyone but Volley changes meanwhile are restored. */
  async guarded(feature: string, onTampered: OnTampered): Promise<TaskFolder> {
    const guard = new TaskGuard(this.path, await TaskCopies.make(this.project, feature));
    await this.locked(feature, async () => {
      for (const name of await this.names()) await guard.add(name, await readTexts(join(this.path, name)));
    });
    return new TaskFolder(this.project, this.now, guard, onTampered);
  }

  /** Restores the files of a guarded folder that were changed by anyone but Volley. */
  async restoreTampered(): Promise<void> {
    const { guard } = this;
    if (guard === undefined || (await guard.differing()).length === 0) return;
    // Again under the lock: another process of Volley may have been writing.
    await this.inTurn(async () => {
      for (const one of await guard.differing()) await this.restore(one);
    });
  }

  /** Ends the guard of {@link guarded}, after a last look at every file. */
  async endGuard(): Promise<void> {
    this.guard?.distrust();
    await this.restoreTampered().catch(() => undefined);
    await this.guard?.close();
  }

  /** Reads a feature, decides on a change and writes it under the lock. Also updates the counters in `task.json`. */
  async change(
    name: string,
    decide: (feature: Feature, moment: Moment) => TaskFileChange | undefined,
  ): Promise<Feature> {
    return this.locked(name, async () => {
      const texts = new Map(await this.texts(name));
      const moment = this.moment();
      const change = decide(this.parse(name, texts), moment);
      if (change !== undefined) await this.edit(name, texts, change);
      const feature = this.parse(name, texts);
      const fields = counterFields(feature, moment.now);
      if (Object.keys(fields).length === 0) return feature;
      await this.edit(name, texts, { file: TASK_FILE, fields });
      return this.parse(name, texts);
    });
  }

  /** Creates a feature from the texts of its files, atomically. Refuses if it exists. */
  async create(name: string, files: ReadonlyMap<string, string>): Promise<Feature> {
    await mkdir(this.path, { recursive: true });
    return withFolderLock(this.path, async () => {
      if (name === ARCHIVE || existsSync(join(this.path, name))) throw taken(name, join(this.path, name));
      const draft = `.new-${name}`;
      await rm(join(this.path, draft), { recursive: true, force: true });
      for (const [file, text] of files) await this.write(draft, file, text, name);
      await rename(join(this.path, draft), join(this.path, name));
      return parseFeature(name, files);
    });
  }

  /** Updates a feature's `task.json` and moves the feature to the archive. Returns its new path. */
  async archive(
    name: string,
    decide: (feature: Feature, moment: Moment) => Record<string, unknown>,
  ): Promise<string> {
    return this.locked(name, async () => {
      const target = join(this.path, ARCHIVE, name);
      const texts = new Map(await this.texts(name));
      const feature = parseFeature(name, texts);
      const fields = decide(feature, this.moment());
      if (existsSync(target)) throw taken(name, target);
      if (feature.task !== undefined) await this.edit(name, texts, { file: TASK_FILE, fields });
      await mkdir(dirname(target), { recursive: true });
      for (const copies of TaskCopies.of(this.project)) await copies.remove(name);
      await rename(join(this.path, name), target);
      return target;
    });
  }

  private parse(name: string, texts: FeatureTexts): Feature {
    return this.guard?.parse(name, texts) ?? parseFeature(name, texts);
  }

  private async texts(name: string): Promise<FeatureTexts> {
    const written = await this.guard?.textsOf(name);
    if (written !== undefined) return written;
    const names = await this.names();
    if (!names.includes(name)) throw this.missing(name, names);
    return readTexts(join(this.path, name)).catch((error) => {
      // Archived just now.
      const others = names.filter((one) => one !== name);
      if (codeOf(error) === 'ENOENT') throw this.missing(name, others);
      throw asVolleyError('read', join(this.path, name), error);
    });
  }

  private missing(name: string, names: readonly string[]): VolleyError {
    const archived = join(PLACE, ARCHIVE, name);
    const isArchived = !/[\\/]|^\.*$/.test(name) && existsSync(join(this.project, archived));
    return isArchived ? archivedFeature(name, archived) : unknownFeature(name, names);
  }

  private async restore({ feature, file, text }: Awaited<ReturnType<TaskGuard['differing']>>[number]) {
    const path = join(this.path, feature, file);
    const changedAt = statSync(path, { throwIfNoEntry: false })?.ctimeMs;
    // Kept, since a person may have written it.
    await rename(path, `${path}.rejected`).catch(() => undefined);
    if (text !== undefined) await this.replace(join(feature, file), text);
    this.onTampered([posix.join('.tmp/tasks', feature, file)], changedAt);
  }

  private async locked<T>(name: string, work: () => Promise<T>): Promise<T> {
    // Guarded files are restored, even if an agent removed all of them.
    if ((await this.guard?.textsOf(name)) === undefined) {
      const names = await this.names();
      if (!names.includes(name)) throw this.missing(name, names);
    }
    return this.inTurn(work);
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.turn.then(async () => {
      // An agent may have removed all of it.
      if (this.guard !== undefined) await mkdir(this.path, { recursive: true });
      return withFolderLock(this.path, work);
    });
    this.turn = done.catch(() => undefined);
    return done;
  }

  private async edit(
    name: string,
    texts: Map<string, string | Error>,
    { file, fields }: TaskFileChange,
  ): Promise<void> {
    const text = editJson(texts.get(file) as string, fields);
    const tampered = await this.guard?.differs(name, file);
    if (tampered !== undefined) await this.restore(tampered);
    await this.write(name, file, text);
    this.guard?.wrote(name, file, text);
    texts.set(file, text);
  }

  private async write(name: string, file: string, text: string, feature = name): Promise<void> {
    for (const copies of TaskCopies.of(this.project)) await copies.write(feature, file, text);
    await this.replace(join(name, file), text);
  }

  private async replace(path: string, text: string): Promise<void> {
    try {
      await replaceFileIn(this.path, path, text, true);
    } catch (error) {
      throw asVolleyError('write', path, error);
    }
  }
}

function taken(name: string, path: string): VolleyError {
  const message = `${path} already exists. Nothing was written.`;
  return new VolleyError('INVALID_VALUE', message, { feature: name, path });
}

function asVolleyError(action: string, path: string, error: unknown): VolleyError {
  if (error instanceof VolleyError) return error;
  const { message } = fileFailure(action, path, error);
  return new VolleyError('TASKS_UNAVAILABLE', message, { path }, { cause: error });
}

/** Where the task files are, and where the work is done. */
export interface TaskLocation {
  readonly folder: TaskFolder;
  /** The folder that deliverables are relative to. */
  readonly workspace: string;
}

/** With these, an agent of a run knows where the tasks and its workspace are, whatever folder it changes to. */
export const PROJECT_VARIABLE = 'VOLLEY_TASKS_PROJECT';
export const WORKSPACE_VARIABLE = 'VOLLEY_WORKSPACE';
/** The name that holds the claim on its subtask. */
export const AGENT_VARIABLE = 'VOLLEY_AGENT';

/** Finds the tasks from the current folder, or from the environment of an agent of a run. */
export function locateTasks(cwd: string, env: EnvironmentVariables): TaskLocation {
  const { [PROJECT_VARIABLE]: project, [WORKSPACE_VARIABLE]: workspace } = env;
  const folder = project ? new TaskFolder(resolve(project)) : TaskFolder.nearest(cwd);
  return { folder, workspace: project && workspace ? resolve(workspace) : folder.project };
}
