import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  Cgroup,
  CgroupHome,
  findCgroupMounts,
  foldersUpwards,
  openCgroupTree,
  parseCgroupMounts,
} from '../../../src/runners/process/cgroup.ts';
import { expectedLayers } from '../support/expected-layers.ts';

describe('mounts of cgroups', () => {
  test('of a machine with both versions are found with the folder of this process in each', () => {
    const mountinfo = [
      '31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755',
      '33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct',
      '35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory',
      '41 31 0:38 / /sys/fs/cgroup/uni\\040fied rw,relatime - cgroup2 cgroup2 rw',
    ].join('\n');
    const mounts = parseCgroupMounts(mountinfo, '4:memory:/job/7\n2:cpu,cpuacct:/\n0::/user.slice/a\n');
    expect(mounts.map(({ version, ownFolder }) => [version, ownFolder])).toEqual([
      [1, '/sys/fs/cgroup/cpu,cpuacct'],
      [1, '/sys/fs/cgroup/memory/job/7'],
      [2, '/sys/fs/cgroup/uni fied/user.slice/a'],
    ]);
    expect(mounts[0]!.controllers).toContain('cpuacct');
  });

  test('of a container show only its part of the tree', () => {
    const line = (root: string) => `35 31 0:32 ${root} /sys/fs/cgroup rw - cgroup2 cgroup2 rw`;
    const folder = (root: string, path: string) =>
      parseCgroupMounts(line(root), `0::${path}\n`)[0]!.ownFolder;
    expect(folder('/docker/ab', '/docker/ab/inner')).toBe('/sys/fs/cgroup/inner');
    expect(folder('/docker/ab', '/docker/ab')).toBe('/sys/fs/cgroup');
    expect(folder('/docker/ab', '/elsewhere')).toBe('/sys/fs/cgroup');
  });

  test('are walked upwards as far as the mount', () => {
    const [mount] = parseCgroupMounts('35 31 0:32 / /cg rw - cgroup2 cgroup2 rw', '0::/a/b\n');
    expect(foldersUpwards(mount!)).toEqual(['/cg/a/b', '/cg/a', '/cg']);
    const [top] = parseCgroupMounts('35 31 0:32 / /cg/top rw - cgroup2 cgroup2 rw', '0::/\n');
    expect(foldersUpwards(top!)).toEqual(['/cg/top']);
  });
});

/** A shell in the group, which then runs the script. */
function startIn(entrances: readonly string[], script: string) {
  const enter = entrances.map((file) => `echo $$ > ${file}`).join('\n');
  return spawn('/bin/sh', ['-c', `${enter}\n${script}`], { stdio: ['ignore', 'pipe', 'inherit'] });
}

const hasCgroups = expectedLayers().includes('cgroup-memory');

describe.runIf(hasCgroups)('a group of a call', () => {
  let home: CgroupHome;

  beforeEach(async () => {
    home = await CgroupHome.open();
  });

  afterEach(async () => {
    await home.close();
  });

  test('counts the CPU time of all its processes', async () => {
    const group = await home.create({});
    const before = group.cpuMs!;
    const child = startIn(group.entrances, '(i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done); true');
    await once(child, 'exit');
    expect(group.cpuMs!).toBeGreaterThan(before);
    await group.remove();
  });

  test('that needs too much memory is ended, and that can be told', async () => {
    const group = await home.create({ memoryBytes: 16 * 2 ** 20 });
    expect(group.oomKills).toBe(0);
    const child = startIn(group.entrances, 'exec dd if=/dev/zero of=/dev/null bs=64M count=1');
    const [, signal] = await once(child, 'exit');
    expect(signal).toBe('SIGKILL');
    expect(group.oomKills).toBe(1);
    await group.remove();
  });

  test('is killed with everything in it, also what left its process group, and removed', async () => {
    const group = await home.create({});
    // All of them are there when it says so.
    const child = startIn(group.entrances, 'setsid sh -c "sleep 1000 & echo up; wait" & wait');
    await once(child.stdout, 'data');
    expect(group.pids.length).toBeGreaterThanOrEqual(3);
    const { pids, entrances } = group;
    await group.remove();
    expect(entrances.map((file) => existsSync(dirname(file)))).toEqual(entrances.map(() => false));
    // Gone, or only waiting to be noticed by this process, their parent.
    await vi.waitUntil(() => pids.every((pid) => !existsSync(`/proc/${pid}/exe`)), { timeout: 60_000 });
  });

  test('that is used again ends with everything in it, however soon it was looked at before', async () => {
    const first = await home.create({});
    await first.release();
    const group = await home.create({});
    expect(group).toBe(first);
    const child = startIn(group.entrances, 'setsid sleep 100 > /dev/null & echo $!');
    const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
    if (child.exitCode === null) await once(child, 'exit');
    const pid = Number(chunk.toString());
    expect(existsSync(`/proc/${pid}/exe`)).toBe(true);
    await group.release();
    // Gone, or only waiting to be noticed by its parent.
    await vi.waitUntil(() => !existsSync(`/proc/${pid}/exe`), { timeout: 60_000 });
  });

  test('does not get in the way of another copy of this package in the same process', async () => {
    vi.resetModules();
    const copy = await import('../../../src/runners/process/cgroup.ts');
    const other = await copy.CgroupHome.open();
    expect([...other.problems]).toEqual([]);
    await other.close();
  });

  test('leaves nothing behind when the runner is closed', async () => {
    const group = await home.create({ tasks: 10 });
    const folders = group.entrances.map((file) => dirname(dirname(file)));
    await group.remove();
    expect(folders.every((folder) => existsSync(folder))).toBe(true);
    await home.close();
    expect(folders.some((folder) => existsSync(folder))).toBe(false);
  });

  test('of a host that died is cleared away by the next one, with the processes in it', async () => {
    // It lives until all is there: other tests clear away what the dead left, too.
    const host = spawn('/bin/sleep', ['1000']);
    const own = (await home.create({})).entrances.map((file) => dirname(dirname(file)));
    const stale = own.map((folder) => folder.replace(`-${process.pid}-`, `-${host.pid}-`));
    for (const folder of stale) mkdirSync(join(folder, 'call-1'), { recursive: true });
    const child = spawn('/bin/sleep', ['1000']);
    const exited = once(child, 'exit');
    for (const folder of stale) writeFileSync(join(folder, 'call-1', 'cgroup.procs'), String(child.pid));
    const died = once(host, 'exit');
    host.kill('SIGKILL');
    await died;
    await vi.waitUntil(
      async () => {
        await (await CgroupHome.open()).close();
        return !stale.some((folder) => existsSync(folder));
      },
      { timeout: 60_000 },
    );
    expect((await exited)[1]).toBe('SIGKILL');
    expect(own.every((folder) => existsSync(folder))).toBe(true);
    for (const folder of own) expect(existsSync(join(folder, 'call-1'))).toBe(true);
  });
});

const unified = findCgroupMounts().find(({ version }) => version === 2);

test.runIf(hasCgroups && unified !== undefined)(
  'a group of version 2 counts CPU time and is killed as a whole too',
  async () => {
    const tree = await openCgroupTree(unified!, ['cpu']);
    const group = new Cgroup(
      [{ ...tree!, folder: join(tree!.folder, 'call-1') }],
      {},
      { keep: () => false, removed: () => {} },
    );
    await group.make();
    const child = startIn(group.entrances, 'setsid sleep 1000 & echo up; sleep 1000');
    const exited = once(child, 'exit');
    await once(child.stdout, 'data');
    expect(group.cpuMs!).toBeGreaterThan(0);
    await group.remove();
    expect((await exited)[1]).toBe('SIGKILL');
    rmdirSync(tree!.folder);
  },
);

test('this machine has cgroups, or the tests above mean nothing', () => {
  const hasTree = findCgroupMounts().some(
    ({ version, controllers }) => version === 1 && controllers.includes('memory'),
  );
  expect(hasCgroups).toBe(hasTree && process.getuid?.() === 0);
});
