import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Attack, HostileCaller, pathWithoutBubblewrap } from './support/hostile-caller.ts';

const SLOW = { timeout: 300_000 };
const shell = (command: string): Attack => ({ function: 'shell', params: { command } });
const reading = (read: string): Attack => ({ function: 'puppet', params: { read } });

describe('a program in the sandbox', () => {
  it('reads no file of the system but those that programs need', SLOW, async () => {
    const agent = new HostileCaller();
    const hidden = ['/etc/shadow', '/etc/hostname', '/etc/machine-id', '/etc/ssh/sshd_config', '/etc/fstab'];
    const [users, groups, usersOfCommand, folders, ...rest] = await agent.attack(
      reading('/etc/passwd'),
      reading('/etc/group'),
      shell('cat /etc/passwd'),
      shell(
        'for each in /home /root /var /tmp /etc /opt /srv /run /mnt; do ls -A $each 2>/dev/null; done; true',
      ),
      ...hidden.map(reading),
    );
    const names = String(users?.result)
      .trim()
      .split('\n')
      .map((line) => line.split(':')[0]);
    expect(names).toContain('root');
    expect(names.length).toBeLessThanOrEqual(3);
    expect(String(groups?.result).trim().split('\n').length).toBeLessThanOrEqual(3);
    expect(usersOfCommand).toMatchObject({ result: { stdout: users?.result } });
    const { stdout } = folders!.result as { stdout: string };
    const allowed =
      `alternatives ca-certificates group hosts ld.so.cache ld.so.conf ld.so.conf.d localtime mime.types
      nsswitch.conf passwd pki services ssl`.split(/\s+/);
    const roots = [agent.folder, process.execPath].map((path) => path.split('/')[2]!);
    expect(
      stdout
        .trim()
        .split('\n')
        .filter((name) => !allowed.includes(name) && !roots.includes(name)),
    ).toEqual([]);
    expect(rest.map(({ result }) => result)).toEqual(hidden.map(() => 'ENOENT'));
  });

  it('runs the usual programs', SLOW, async () => {
    const agent = new HostileCaller();
    const commands = [
      'node -e "console.log(require(\'os\').userInfo().username)"',
      'git --version && git init -q /tmp/x && git -C /tmp/x status -s',
      'npm --version',
      'perl -e "print scalar getpwuid(\\$<)"',
      'id',
      'sh -c true',
    ];
    const results = await agent.attack(...commands.map(shell));
    expect(results.map(({ status, message }, index) => [commands[index], status, message])).toEqual(
      commands.map((command) => [command, 'completed', null]),
    );
  });

  it('does not get the approval of the user', SLOW, async () => {
    const agent = new HostileCaller('shell.env = ["PATH", "VOLLEY_TRUST"]', {
      VOLLEY_TRUST: 'approved-by-the-user',
    });
    const [result] = await agent.attack(shell('env'));
    expect(result?.status).toBe('completed');
    expect(JSON.stringify(result)).not.toContain('approved-by-the-user');
  });

  it('cannot fill the disk, neither with one file nor with many', SLOW, async () => {
    const agent = new HostileCaller('[processes]\ndisk_mb = 8');
    const [fits, large, many] = await agent.attack(
      shell('dd if=/dev/zero of=fits bs=1M count=4'),
      shell('exec dd if=/dev/zero of=large bs=1M count=64'),
      shell('i=0; while :; do i=$((i+1)); dd if=/dev/zero of=many-$i bs=1M count=1 2>/dev/null; done; true'),
    );
    expect(fits?.status).toBe('completed');
    expect(large?.status).toBe('failed');
    expect(large?.message).toContain('disk_mb');
    expect(statSync(join(agent.folder, 'large')).size).toBeLessThanOrEqual(8 * 2 ** 20);
    expect(many?.status).toBe('failed');
    expect(many?.message).toContain('disk_mb');
  });
});

describe('doctor', () => {
  const attacks = async (agent: HostileCaller) => {
    await agent.trust();
    return JSON.parse((await agent.run('doctor', '--json')).stdout).open_attacks as string[];
  };

  it('says which attacks are open without a sandbox, and that none is with one', SLOW, async () => {
    expect(await attacks(new HostileCaller())).toEqual([]);
    const bare = await attacks(new HostileCaller('', { PATH: pathWithoutBubblewrap() }));
    expect(bare).toHaveLength(4);
    const off = await attacks(new HostileCaller('[processes]\nsandbox = "off"'));
    expect(off).toHaveLength(4);
    expect(off).not.toEqual(bare);
    const agent = new HostileCaller('[processes]\nsandbox = "off"');
    await agent.trust();
    const { stdout } = await agent.run('doctor');
    for (const attack of off) expect(stdout).toContain(attack);
  });
});

describe("Volley's own folder", () => {
  const modes = (folder: string) =>
    Object.fromEntries(
      ['.', ...readdirSync(folder)]
        .filter((name) => name !== '.gitignore')
        .map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]),
    );

  it("is the user's alone, whatever the umask", SLOW, async () => {
    const agent = new HostileCaller();
    const before = process.umask(0);
    try {
      await agent.attack(shell('true'));
    } finally {
      process.umask(before);
    }
    expect(modes(join(agent.folder, '.volley'))).toEqual({ '.': '700', 'volley.db': '600' });
  });

  it('is tightened when it is opened for writing', SLOW, async () => {
    const agent = new HostileCaller();
    const folder = join(agent.folder, '.volley');
    mkdirSync(folder);
    writeFileSync(join(folder, 'volley.db'), '');
    chmodSync(folder, 0o755);
    chmodSync(join(folder, 'volley.db'), 0o644);
    await agent.attack(shell('true'));
    expect(modes(folder)).toEqual({ '.': '700', 'volley.db': '600' });
  });
});
