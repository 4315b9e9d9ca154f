import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildProgram } from '../test/e2e/support/built-program.ts';
import { buildRunners } from '../test/runners/support/built.ts';
import { offerPostgres, stopSharedPostgres } from '../test/support/postgres.ts';
import { buildDashboard } from './build-dashboard.ts';
import { postgresProgram } from './start-postgres.ts';

/** Programs that tests cannot do without, and Debian's packages of them. */
const NEEDED = [
  { program: 'bwrap', packageName: 'bubblewrap', what: 'the tests of the process runner' },
  { program: 'curl', packageName: 'curl', what: 'the tests of live events' },
  { program: 'redis-server', packageName: 'redis-server', what: 'the tests of clusters' },
  { program: 'chromium', packageName: 'chromium', what: 'the tests of the dashboard' },
  { program: 'postgres', packageName: 'postgresql', what: 'the tests of stores' },
] as const;

/** The user's configuration, for all tests: what they approve must not be approved for the user who runs them. */
const home = mkdtempSync(join(tmpdir(), 'volley-test-home-'));

export async function teardown(): Promise<void> {
  rmSync(home, { recursive: true, force: true });
  await stopSharedPostgres();
}

/**
 * A sandbox or a page that is not there is not tested. Where Debian's packages can be had and we may install them, what is
 * missing is installed. What tests use built is built here, once, where its sources have changed.
 */
export async function setup(): Promise<void> {
  // Programs that tests start write as they do when started from a shell.
  for (const name of ['npm_command', 'npm_lifecycle_event']) delete process.env[name];
  // A git hook that runs the tests must not tie them to its repository.
  for (const name of ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_PREFIX']) delete process.env[name];
  process.env['XDG_CONFIG_HOME'] = home;
  offerPostgres(mkdtempSync(join(tmpdir(), 'volley-test-pg-')));
  await Promise.all([buildDashboard(), buildProgram(), buildRunners()]);
  if (process.platform !== 'linux') return;
  for (const { program, packageName, what } of NEEDED) {
    if (succeeds(program === 'postgres' ? postgresProgram(program) : program, '--version')) continue;
    if (canInstall() && (install(packageName) || (succeeds('apt-get', 'update') && install(packageName))))
      continue;
    throw new Error(
      `${what} need ${program}. Install it: \`apt-get install ${packageName}\` (Debian, Ubuntu), \`dnf install ${packageName}\` (Fedora), \`apk add ${packageName}\` (Alpine).`,
    );
  }
}

function canInstall(): boolean {
  return process.getuid?.() === 0 && succeeds('apt-get', '--version');
}

function install(packageName: string): boolean {
  // A machine that has just started may be busy with its updates.
  const patient = ['-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=3'];
  const command = ['apt-get', 'install', '-y', '--no-install-recommends', ...patient, packageName] as const;
  console.log(`${packageName} is missing and is installed now: ${command.join(' ')}`);
  const [program, ...args] = command;
  return succeeds(program, ...args);
}

function succeeds(program: string, ...args: string[]): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync(program, args, { env, stdio: 'ignore' }).status === 0;
}
