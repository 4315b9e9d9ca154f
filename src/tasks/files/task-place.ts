import { resolve } from 'node:path';
import { TaskFolder } from './task-folder.ts';

/** Where the files of tasks are, and where the work on them is. */
export interface TaskPlace {
  readonly folder: TaskFolder;
  /** The folder that deliverables count from. */
  readonly workspace: string;
}

/** What tells an agent in a workspace of its own where the tasks are, and where it began: agents go where they like. */
export const PROJECT_VARIABLE = 'VOLLEY_TASKS_PROJECT';
export const WORKSPACE_VARIABLE = 'VOLLEY_WORKSPACE';
/** The name under which its subtask is claimed. */
export const AGENT_VARIABLE = 'VOLLEY_AGENT';

/** The tasks of the nearest folder; for an agent of a run, those of the project that it works for. */
export function taskPlaceOf(cwd: string, env: Readonly<Record<string, string | undefined>>): TaskPlace {
  const { [PROJECT_VARIABLE]: project, [WORKSPACE_VARIABLE]: workspace } = env;
  const folder = project ? new TaskFolder(resolve(project)) : TaskFolder.nearest(cwd);
  return { folder, workspace: project && workspace ? resolve(workspace) : folder.project };
}
