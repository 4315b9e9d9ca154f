import { join, relative } from 'node:path';
import { PROJECT_VARIABLE } from '../files/task-place.ts';
import type { AgentAdapter, AgentTask } from './adapter.ts';
import { codexReader } from './codex-reader.ts';

/**
 * Codex keeps what agents do within its own sandbox: they write nowhere but in the workspace, and reach no network unless
 * the user's configuration lets them. It has no lists of paths or commands that can be given for one run.
 *
 * Its databases get a place of their own, for those lock when several run; login, configuration and the files of sessions
 * stay where they are, so that a token that is renewed is renewed for all.
 */
export const codexAdapter: AgentAdapter = {
  name: 'codex',
  command: async (task) => ({
    argv: [
      'codex',
      'exec',
      '--json',
      '--skip-git-repo-check',
      '--sandbox',
      'workspace-write',
      '--cd',
      task.cwd,
      ...tasksFolder(task),
      // A login shell would set `PATH` anew, and `volley` could not be found.
      '--config',
      'allow_login_shell=false',
      ...(task.model === undefined ? [] : ['--model', task.model]),
      '-',
    ],
    env: { CODEX_SQLITE_HOME: task.stateFolder },
    input: task.prompt,
  }),
  reader: codexReader,
};

/** In a workspace of its own an agent could not say that it is done, for that is written in the project. */
function tasksFolder({ cwd, env }: AgentTask): readonly string[] {
  const project = env[PROJECT_VARIABLE];
  return !project || relative(project, cwd) === '' ? [] : ['--add-dir', join(project, '.tmp/tasks')];
}
