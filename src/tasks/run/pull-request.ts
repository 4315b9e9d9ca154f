import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { oneLine } from '../../batch/text.ts';
import { VolleyError } from '../../core/errors.ts';
import { childEnvironment } from '../../git/child-environment.ts';
import { Git, gitFailureText } from '../../git/git.ts';
import { branchOf, shortName } from '../../git/repository.ts';
import type { BranchReport, RunReport } from './report.ts';
import { reportText } from './report-text.ts';

const MAX_COMMITS = 10_000;
const MAX_BODY_LENGTH = 60_000;
const MAX_TITLE_LENGTH = 200;
const GH_TIMEOUT_MS = 5 * 60_000;
const SHOWN_LENGTH = 1000;

/** What a branch has that the checked-out one does not. */
export async function branchReport(project: string, name: string): Promise<BranchReport> {
  const range = ['--reverse', '--first-parent', '--no-merges', `--max-count=${MAX_COMMITS}`];
  const tip = `refs/heads/${name}`;
  const log = await new Git(project).run(['log', '--format=%H %s', ...range, tip, '--not', 'HEAD', '--']);
  const lines = log.stdout.split('\n').filter((line) => line !== '');
  return {
    name,
    commits: lines.map((line) => {
      const [commit = '', ...subject] = line.split(' ');
      return { commit, subject: subject.join(' ') };
    }),
  };
}

/** Throws unless `gh` is installed. */
export async function requireGh(env: NodeJS.ProcessEnv): Promise<void> {
  try {
    await runGh(['--version'], process.cwd(), env);
  } catch (error) {
    const message = 'A pull request needs gh, the command line of GitHub, which could not be started.';
    throw new VolleyError('INVALID_VALUE', message, {}, { cause: error });
  }
}

/**
 * Pushes the branch of a run and opens a pull request with the report as its text. Returns a sentence with its address, or
 * why there is none.
 */
export async function createPullRequest(
  project: string,
  report: RunReport,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly ok: boolean; readonly text: string }> {
  const { branch, next, name: title } = report;
  if (branch === null || branch.commits.length === 0)
    return { ok: true, text: 'No pull request was opened: the branch has no commits of its own.' };
  if (!next.feature_completed)
    return { ok: true, text: 'No pull request was opened: not all subtasks are completed.' };
  const git = new Git(project);
  const current = await branchOf(git);
  const base = current && shortName(current);
  const configured = base && (await git.run(['config', `branch.${base}.remote`])).stdout.trim();
  const ref = `refs/heads/${branch.name}`;
  const pushed = await git.run(['push', '-q', '--', configured || 'origin', `${ref}:${ref}`]);
  if (pushed.exitCode !== 0)
    return { ok: false, text: `No pull request was opened: git push failed: ${gitFailureText(pushed)}` };
  const body = reportText(report).slice(0, MAX_BODY_LENGTH);
  const words = ['pr', 'create', '--head', branch.name, ...(base ? ['--base', base] : [])];
  const texts = ['--title', oneLine(title, MAX_TITLE_LENGTH), '--body', body];
  try {
    const { stdout } = await runGh([...words, ...texts], project, env);
    return { ok: true, text: `Pull request: ${oneLine(stdout, SHOWN_LENGTH)}` };
  } catch (error) {
    const { stderr } = error as { readonly stderr?: string };
    const why = oneLine(stderr || (error as Error).message, SHOWN_LENGTH);
    return { ok: false, text: `The branch was pushed, but gh pr create failed: ${why}` };
  }
}

function runGh(words: readonly string[], cwd: string, given: NodeJS.ProcessEnv) {
  const env = { ...childEnvironment(given), GH_PROMPT_DISABLED: '1' };
  return promisify(execFile)('gh', words, { cwd, env, timeout: GH_TIMEOUT_MS, maxBuffer: 1024 * 1024 });
}
