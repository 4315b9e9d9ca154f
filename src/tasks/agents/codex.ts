import type { AgentAdapter } from './adapter.ts';
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
      '--add-dir',
      task.mailbox,
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
