import { existsSync, readlinkSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Launcher } from './launcher.ts';
import { type Bubblewrap, sandboxArguments, USER_FLAGS } from './sandbox.ts';
import { problemOf, runTrial } from './trial.ts';

export interface SandboxTrial {
  readonly bubblewrap: Bubblewrap | undefined;
  readonly problem: string | undefined;
  readonly remedy: string | undefined;
}

const INSTALL =
  'Install bubblewrap: `apt-get install bubblewrap` (Debian, Ubuntu), `dnf install bubblewrap` (Fedora), `apk add bubblewrap` (Alpine).';
const ALLOW =
  'Allow user namespaces: set the sysctl kernel.unprivileged_userns_clone to 1, or kernel.apparmor_restrict_unprivileged_userns to 0; in a container they need the leave of its seccomp profile.';

const SYSTEM_PATH = '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin';

/** Tells from inside what the sandbox is like. */
const LOOK_AROUND = [
  'readlink /proc/self/ns/pid /proc/self/ns/net /proc/self/ns/mnt',
  'while read -r key value; do if [ "$key" = CapEff: ]; then echo "$value"; fi; done < /proc/self/status',
  'if [ -w /proc/sys/kernel/core_pattern ]; then echo writable; else echo protected; fi',
].join('\n');

/** Runs a shell in the sandbox, in the strictest form that works, and has it look around. */
export async function trySandbox(launcher: Launcher): Promise<SandboxTrial> {
  if (process.platform !== 'linux') return failed('bubblewrap exists only on Linux', undefined);
  const program = findProgram('bwrap');
  if (program === undefined) return failed('bubblewrap (bwrap) is not installed', INSTALL);
  let problem = '';
  for (const userFlags of USER_FLAGS) {
    const bubblewrap: Bubblewrap = { program, userFlags };
    const trial = await runTrial(launcher, {
      argv: [
        ...(sandboxArguments(bubblewrap, {
          policy: { read: [], write: [], network: false },
          code: [],
          cwd: '/',
          temporaryBytes: 2 ** 20,
        }) as [string, ...string[]]),
        '/bin/sh',
        '-c',
        LOOK_AROUND,
      ],
      // The shell must find its commands also where the PATH of this process has none of the system's folders.
      env: { PATH: [SYSTEM_PATH, process.env['PATH'] ?? ''].join(delimiter), LC_ALL: 'C' },
    });
    const found = problemOf(trial) ?? weakness(trial.stdout);
    if (found === undefined) return { bubblewrap, problem: undefined, remedy: undefined };
    problem ||= found;
  }
  return failed(problem, ALLOW);
}

/** Its place, so that a call with another PATH still gets the same one. */
function findProgram(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '/usr/bin:/bin').split(delimiter).filter(isAbsolute);
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
}

/** What the sandbox does not keep apart, if anything. */
function weakness(report: string): string | undefined {
  const lines = report.trim().split('\n');
  if (lines.length !== 5) return 'what it is like inside could not be found out';
  const [pid, net, mnt, capabilities, settings] = lines;
  if (pid === readlinkSync('/proc/self/ns/pid')) return 'it shares the processes of the host';
  if (net === readlinkSync('/proc/self/ns/net')) return 'it shares the network of the host';
  if (mnt === readlinkSync('/proc/self/ns/mnt')) return 'it shares the folders of the host';
  if (!/^0+$/.test(capabilities ?? '')) return `a process in it has capabilities (${capabilities})`;
  return settings === 'protected' ? undefined : "a process in it can change the kernel's settings";
}

function failed(problem: string, remedy: string | undefined): SandboxTrial {
  return { bubblewrap: undefined, problem, remedy };
}
