import { spawnSync } from 'node:child_process';

const INSTALL = 'apt-get install -y --no-install-recommends bubblewrap';

/**
 * The tests of the process runner need bubblewrap, for a sandbox that is not there is not tested. Where Debian's
 * packages can be had and we may install them, it is installed.
 */
export function setup(): void {
  if (process.platform !== 'linux' || succeeds('bwrap', '--version')) return;
  if (process.getuid?.() === 0 && succeeds('apt-get', '--version')) {
    console.log(`bubblewrap is missing and is installed now: ${INSTALL}`);
    if (install() || (succeeds('apt-get', 'update') && install())) return;
  }
  throw new Error(
    'The tests need bubblewrap. Install it: `apt-get install bubblewrap` (Debian, Ubuntu), `dnf install bubblewrap` (Fedora), `apk add bubblewrap` (Alpine).',
  );
}

function install(): boolean {
  const [program, ...args] = INSTALL.split(' ') as [string, ...string[]];
  return succeeds(program, ...args) && succeeds('bwrap', '--version');
}

function succeeds(program: string, ...args: string[]): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync(program, args, { env, stdio: 'ignore' }).status === 0;
}
