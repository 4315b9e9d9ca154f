import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';

/** Reads process group ids from its input, and kills them when the input ends. */
const SCRIPT = `
trap '' HUP INT QUIT TERM
groups=' '
while read -r change group; do
  case $change in
    +) groups="$groups$group " ;;
    -) groups="\${groups%% $group *} \${groups#* $group }" ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done 2>/dev/null
`;

/** A shell that outlives this process briefly to kill its remaining process groups, however it died. */
export class Guard {
  private shell: ChildProcess | undefined;

  start(): void {
    if (this.shell !== undefined) return;
    const shell = spawn('/bin/sh', ['-c', SCRIPT], {
      cwd: '/',
      env: {},
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    // Without a guard, running programs end only if this process exits normally.
    shell.on('error', () => {});
    shell.stdin!.on('error', () => {});
    shell.unref();
    (shell.stdin as Socket).unref();
    this.shell = shell;
  }

  add(pid: number): void {
    this.shell?.stdin?.write(`+ ${pid}\n`);
  }

  remove(pid: number): void {
    this.shell?.stdin?.write(`- ${pid}\n`);
  }

  async stop(): Promise<void> {
    const { shell } = this;
    if (shell === undefined || shell.pid === undefined) return;
    this.shell = undefined;
    shell.ref();
    const ended = new Promise((resolve) => shell.once('close', resolve));
    shell.stdin!.end();
    await ended;
  }
}
