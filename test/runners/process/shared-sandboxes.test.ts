import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type CommandResult, runConfined } from '../../../src/runners/process/command.ts';
import { Confinement } from '../../../src/runners/process/confinement.ts';
import { createLauncher, type HelperLauncher } from '../../../src/runners/process/helper-launcher.ts';
import type { Launcher } from '../../../src/runners/process/launcher.ts';
import type { Cover } from '../../../src/runners/runner.ts';

let folder: string;
let launcher: Launcher;
let confinement: Confinement;
let covers: Cover[];

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'shared-test-')));
  launcher = createLauncher();
  confinement = new Confinement(launcher);
  covers = [];
});

afterEach(async () => {
  await confinement.close();
  await launcher.close();
  rmSync(folder, { recursive: true });
});

function run(
  command: string,
  argv = ['/bin/sh', '-c', command],
  words?: [string, ...string[]],
): Promise<CommandResult> {
  return runConfined(
    confinement,
    {
      argv: argv as [string, ...string[]],
      words,
      cwd: folder,
      env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
      limits: { memoryMb: 256, processes: 32, cpuMs: 60_000, openFiles: 128, diskMb: 100 },
    },
    {
      mode: 'required',
      read: [],
      write: [folder],
      network: false,
      guard: { begin: async () => ({ covers, end: async () => [] }) },
    },
  );
}

const output = async (command: string) => {
  const { stdout, stderr } = await run(command);
  return stdout + stderr;
};

/** bubblewrap starts the first calls, and our own helper those in a sandbox that was kept. */
async function untilShared(): Promise<void> {
  await expect.poll(() => output('cat /proc/1/comm')).toBe('perl\n');
}

/** What a program can find out about its sandbox. */
const REPORT = [
  'id',
  'pwd',
  'env | sort',
  'umask; ulimit -a',
  "grep -h '^Cap\\|^NoNewPrivs\\|^Seccomp:\\|^Uid\\|^Gid\\|^Groups' /proc/self/status",
  // The mount on top at each path is what counts.
  `awk '{ top[$5] = substr($6, 1, 15) } END { for (path in top) print path, top[path] }' /proc/self/mountinfo | sort`,
  'ls -A / /etc /dev /dev/shm /dev/pts /tmp . /proc/self/fd',
  'cat /proc/self/uid_map /proc/self/gid_map /proc/self/setgroups /proc/self/cgroup',
  'cat /proc/net/dev | cut -d: -f1',
  // Not as a pipe, whose second program may or may not be there yet.
  'found=$(ls /proc); echo "$found" | grep -c "^[0-9]"',
  'unshare -U true; unshare -m true; mount -t tmpfs x /tmp; umount /tmp; umount /proc',
  'touch /x /dev/x /usr/x; echo 1 > /proc/sys/kernel/core_pattern; echo 1 > /proc/sysrq-trigger',
  'hostname x; kill -9 1; echo alive',
].join('; ');

/** Programs that send something in their network, and one whose child keeps a socket. */
const USES_OF_NETWORK = [
  'socket S, 2, 2, 0; send S, "x", 0, pack "S n C4 x8", 2, 9, 127, 0, 0, 1 or die',
  'socket S, 2, 1, 0; listen S, 1 or die; socket C, 2, 1, 0; connect C, getsockname S or die',
  'socket S, 1, 1, 0; bind S, pack "S a*", 1, "\\0name" or die; fork or sleep 1000',
];

describe('a call in a sandbox that was kept', () => {
  test('can see and do what a call in its own sandbox can', async () => {
    const own = await run(`${REPORT}; cat /proc/1/comm`);
    expect(own.stdout).toMatch(/alive\nbwrap\n$/);
    await untilShared();
    const shared = await run(`${REPORT}; cat /proc/1/comm`);
    expect(shared.stdout).toMatch(/alive\nperl\n$/);
    // bubblewrap makes these read-only only for users who could write them.
    const alike = (text: string) => text.replace(/^\/proc\/(bus|irq) ro,.*\n/gm, '');
    expect(alike(shared.stdout.replace(/perl\n$/, 'bwrap\n'))).toBe(alike(own.stdout));
    expect(shared.stderr).toBe(own.stderr);
  });

  test('finds nothing of the calls before it, nor of those beside it', async () => {
    await untilShared();
    const own = await output('ls -A /tmp /dev/shm');
    expect(own).toContain(`\n${basename(folder)}\n`);
    const beside = run('mkfifo fifo; read -r _ < fifo');
    await run('echo x > /tmp/x; echo x > /dev/shm/x; (sleep 1000 &)');
    const found = await output('ls -A /tmp /dev/shm; for p in /proc/[0-9]*; do cat $p/comm; done');
    expect(found).toBe(`${own}perl\nsh\n`);
    await run('until [ -p fifo ]; do :; done; echo > fifo');
    await beside;
  });

  test('has a network in which nothing was ever sent, for itself', async () => {
    await untilShared();
    const look = 'readlink /proc/self/ns/net; grep -c ":.*[1-9]" /proc/net/dev; head -n1 /proc/net/sockstat';
    const fresh = /^net:\[\d+\]\n0\nsockets: used 0\n$/;
    for (const use of USES_OF_NETWORK) {
      expect(await output(`perl -e '${use}; print "used"'`)).toBe('used');
      const [one, other] = await Promise.all([
        output(`${look}; mkfifo fifo; read -r _ < fifo`),
        output(`until [ -p fifo ]; do :; done; ${look}; echo > fifo`),
      ]);
      rmSync(join(folder, 'fifo'));
      expect(one).toMatch(fresh);
      expect(other).toMatch(fresh);
      expect(one).not.toBe(other);
    }
  });

  test('cannot look into its first process, which has seen other calls', async () => {
    await untilShared();
    const files = ['environ', 'mem', 'maps', 'fd/0', 'cwd/', 'root/', 'fdinfo/0'];
    const look = files.map(
      (file) => `ls /proc/1/${file} > /dev/null 2>&1 && cat /proc/1/${file} && echo ${file}`,
    );
    expect((await run(look.join('; '))).stdout).toBe('');
  });

  test('ends like any other', async () => {
    await untilShared();
    expect(await run('exit 3')).toMatchObject({ exitCode: 3, signal: undefined });
    expect(await run('kill -9 $$')).toMatchObject({ exitCode: 137 });
    await expect(run('', ['/bin/missing'])).rejects.toMatchObject({ code: 'PROCESS_NOT_STARTED' });
    await expect(run('a=x; while :; do a=$a$a; done')).rejects.toMatchObject({ reason: 'memory' });
    expect(await run('exit 0')).toMatchObject({ exitCode: 0 });
    // Where no cgroup limits its memory, the sandbox ends with the call, and another takes its place.
    await untilShared();
  });

  test('starts a program instead of the shell that would only start it, if there is such a program', async () => {
    const shell = ['/bin/sh', '-c', 'exit 3'];
    await untilShared();
    expect(await run('', shell, ['cat', '/proc/self/comm'])).toMatchObject({ exitCode: 0, stdout: 'cat\n' });
    for (const missing of ['missing', '/missing', folder])
      expect(await run('', shell, [missing, 'x'])).toMatchObject({ exitCode: 3, stdout: '', stderr: '' });
  });

  test('sees the files that are there now', async () => {
    mkdirSync(join(folder, 'inner'));
    covers = [{ path: join(folder, 'inner'), as: 'read-only' }];
    await untilShared();
    renameSync(join(folder, 'inner'), join(folder, 'old'));
    mkdirSync(join(folder, 'inner'));
    writeFileSync(join(folder, 'inner/new'), 'new');
    expect(await output('cat inner/new; touch inner/x')).toMatch(/^new.*Read-only file system\n$/s);
  });

  test.each([
    [
      'replaced',
      (file: string) => {
        writeFileSync(`${file}.new`, 'original');
        renameSync(`${file}.new`, file);
      },
    ],
    [
      'deleted and put back',
      (file: string) => {
        linkSync(file, `${file}.kept`);
        unlinkSync(file);
        renameSync(`${file}.kept`, file);
      },
    ],
  ])('cannot write a covered file that was %s meanwhile', async (_, change) => {
    const file = join(folder, 'protected');
    writeFileSync(file, 'original');
    covers = [{ path: file, as: 'read-only' }];
    await untilShared();
    change(file);
    expect(await run('echo hostile > protected')).not.toMatchObject({ exitCode: 0 });
    expect(readFileSync(file, 'utf8')).toBe('original');
    await untilShared();
    expect(await run('echo hostile > protected')).not.toMatchObject({ exitCode: 0 });
  });

  test('is started by bubblewrap if the helper that kept the sandbox is gone', async () => {
    await untilShared();
    process.kill((launcher as HelperLauncher).helperPid!, 'SIGKILL');
    await expect.poll(() => output('cat /proc/1/comm').catch(() => undefined)).toBe('bwrap\n');
    await untilShared();
  });
});
