import { chmod, mkdir, mkdtemp, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ToolCode } from '../../../src/runners/runner.ts';
import { useProcessRunner } from '../support/process-runner.ts';

const rig = useProcessRunner();
let folder: string;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'sandbox-test-')));
  await writeFile(join(folder, 'secret.txt'), 'secret');
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** Tries to read and to write; gives `ok` or the code of the error for each. */
const attempt: ToolCode = {
  kind: 'module',
  url: new URL('../fixtures/sandboxed.mjs', import.meta.url).href,
  exportName: 'attempt',
};

describe('files', () => {
  test('a process sees nothing of folders that the policy does not name', async () => {
    const secret = join(folder, 'secret.txt');
    const home = join(process.env['HOME'] ?? '/root', '.profile');
    const input = { read: [secret, home, '/etc/shadow', '/etc/hostname'], write: [] };
    expect(await rig.run(attempt, { input })).toEqual({
      [`read ${secret}`]: 'ENOENT',
      [`read ${home}`]: 'ENOENT',
      'read /etc/shadow': 'ENOENT',
      'read /etc/hostname': 'ENOENT',
    });
  });

  test('a folder to read can be read and not written', async () => {
    const secret = join(folder, 'secret.txt');
    const found = await rig.run(attempt, {
      input: { read: [secret], write: [secret] },
      sandbox: { read: [folder] },
    });
    expect(found).toEqual({ [`read ${secret}`]: 'ok', [`write ${secret}`]: 'EROFS' });
    expect(await readFile(secret, 'utf8')).toBe('secret');
  });

  test('what a process writes in a folder to write belongs to the user who runs Volley', async () => {
    const file = join(folder, 'new.txt');
    const found = await rig.run(attempt, {
      input: { read: [], write: [file] },
      sandbox: { write: [folder] },
    });
    expect(found).toEqual({ [`write ${file}`]: 'ok' });
    expect((await stat(file)).uid).toBe(process.getuid!());
    await chmod(file, 0o600);
    await writeFile(file, 'written again');
  });

  test('a link in a folder to write leads nowhere outside it', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'sandbox-outside-'));
    try {
      await symlink(outside, join(folder, 'link'));
      const target = join(folder, 'link', 'file.txt');
      const found = await rig.run(attempt, {
        input: { read: [], write: [target] },
        sandbox: { write: [folder] },
      });
      expect(found).toEqual({ [`write ${target}`]: 'ENOENT' });
    } finally {
      await rm(outside, { recursive: true });
    }
  });

  test("the system's folders and the tool's own code can be read, and nothing of them written", async () => {
    const code = join(process.cwd(), 'package.json');
    const found = await rig.run(attempt, {
      input: { read: ['/usr/bin/env', code], write: ['/usr/new', code, '/new', '/dev/new', '/etc/new'] },
    });
    expect(found).toEqual({
      'read /usr/bin/env': 'ok',
      [`read ${code}`]: 'ok',
      'write /usr/new': 'EROFS',
      [`write ${code}`]: 'EROFS',
      'write /new': 'EROFS',
      'write /dev/new': 'EROFS',
      'write /etc/new': 'EROFS',
    });
  });

  test('a policy that shows everything still leaves a process its own /proc and temporary files', async () => {
    const look = async ({ file }: { file: string }) => {
      const { existsSync, readdirSync } = await import('node:fs');
      return [readdirSync('/proc').filter((name) => /^\d+$/.test(name)).length, existsSync(file)];
    };
    const file = join('/tmp', `volley-of-the-host-${process.pid}.txt`);
    await writeFile(file, '');
    try {
      expect(await rig.run(look, { input: { file }, sandbox: { read: ['/'] } })).toEqual([2, false]);
    } finally {
      await rm(file);
    }
  });

  test('a folder to write may hold the code of the tool, and stays writable', async () => {
    await writeFile(join(folder, 'package.json'), '{}');
    await writeFile(
      join(folder, 'tool.mjs'),
      `import { writeFileSync } from 'node:fs';
       export default ({ file }) => writeFileSync(file, 'written');`,
    );
    const file = join(folder, 'result.txt');
    const url = pathToFileURL(join(folder, 'tool.mjs')).href;
    const code = { kind: 'module', url, exportName: 'default' } as const;
    await rig.run(code, { input: { file }, sandbox: { write: [folder] } });
    expect(await readFile(file, 'utf8')).toBe('written');
    await expect(rig.run(code, { input: { file } })).rejects.toMatchObject({ code: 'EROFS' });
  });

  test('modules of another checkout can be shared by a link, which shows nothing else', async () => {
    const other = await mkdtemp(join(tmpdir(), 'sandbox-other-'));
    try {
      // Or whatever package there may be above the folder for temporary files would be its own.
      await writeFile(join(folder, 'package.json'), '{}');
      await mkdir(join(other, 'node_modules/shared'), { recursive: true });
      await writeFile(join(other, 'node_modules/shared/index.js'), 'module.exports = "loaded";');
      await writeFile(join(other, 'secret.txt'), 'secret');
      await writeFile(
        join(folder, 'tool.mjs'),
        `export default async () => (await import('shared')).default;`,
      );
      const url = pathToFileURL(join(folder, 'tool.mjs')).href;
      const code = { kind: 'module', url, exportName: 'default' } as const;
      const link = join(folder, 'node_modules');
      await symlink(join(other, 'node_modules'), link);
      expect(await rig.run(code, { sandbox: { write: [folder] } })).toBe('loaded');
      // As a tool could do that may write there.
      await rm(link);
      await symlink(other, link);
      await writeFile(
        join(folder, 'tool.mjs'),
        `import { readFileSync } from 'node:fs';
         export default () => readFileSync(${JSON.stringify(join(link, 'secret.txt'))}, 'utf8');`,
      );
      await expect(rig.run(code, { sandbox: { write: [folder] } })).rejects.toMatchObject({ code: 'ENOENT' });
    } finally {
      await rm(other, { recursive: true });
    }
  });

  test('temporary files are private and vanish', async () => {
    const leave = async () => {
      const { readdir, writeFile } = await import('node:fs/promises');
      const { homedir, tmpdir } = await import('node:os');
      const before = [...(await readdir(tmpdir())), ...(await readdir(homedir()))];
      await writeFile(`${tmpdir()}/left.txt`, 'left');
      return before.filter((name) => name.endsWith('.txt'));
    };
    expect(await rig.run(leave)).toEqual([]);
    expect(await rig.run(leave)).toEqual([]);
  });
});

describe('privileges', () => {
  test('a process has no capabilities and cannot get any', async () => {
    const look = async () => {
      const { readFileSync } = await import('node:fs');
      const { spawnSync } = await import('node:child_process');
      const status = readFileSync('/proc/self/status', 'utf8');
      return {
        effective: /CapEff:\s*(\w+)/.exec(status)![1],
        bounding: /CapBnd:\s*(\w+)/.exec(status)![1],
        noNewPrivileges: /NoNewPrivs:\s*(\d)/.exec(status)![1],
        newNamespace: spawnSync('unshare', ['--user', '--map-root-user', 'true']).status,
      };
    };
    const found = await rig.run(look);
    expect(found).toEqual({
      effective: '0000000000000000',
      bounding: '0000000000000000',
      noNewPrivileges: '1',
      newNamespace: 1,
    });
  });

  test("a process cannot change the kernel's settings, not even as root", async () => {
    // Only opened: a write would be felt by the whole machine if the sandbox failed.
    const look = async () => {
      const { openSync } = await import('node:fs');
      return ['/proc/sys/kernel/core_pattern', '/proc/sys/kernel/hostname', '/proc/sysrq-trigger'].map(
        (path) => {
          try {
            return openSync(path, 'r+');
          } catch (error) {
            return (error as { code: string }).code;
          }
        },
      );
    };
    const [pattern, hostname, trigger] = (await rig.run(look)) as string[];
    // An ordinary user may not open them in the first place.
    const refused = process.getuid?.() === 0 ? 'EROFS' : 'EACCES';
    expect([pattern, hostname]).toEqual([refused, refused]);
    expect(trigger).toMatch(/^E/);
  });

  test('a process sees only its own processes', async () => {
    const look = async () => {
      const { readdirSync, readFileSync } = await import('node:fs');
      const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
      return pids.map((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim());
    };
    const seen = (await rig.run(look)) as string[];
    expect(seen).toHaveLength(2);
    // The first process of the sandbox, and this one.
    expect(['bwrap', 'perl']).toContain(seen[0]);
  });

  test('a process gets no variable of the environment that the call does not name', async () => {
    process.env['VOLLEY_TEST_SECRET'] = 'hidden';
    try {
      const env = await rig.run(() => process.env, { env: { NAMED: 'yes' } });
      const names = Object.keys(env as object).sort();
      expect(names.filter((name) => name !== 'PWD')).toEqual(['HOME', 'LANG', 'NAMED', 'PATH', 'TMPDIR']);
      expect(env).toMatchObject({ HOME: '/tmp', TMPDIR: '/tmp', NAMED: 'yes' });
    } finally {
      delete process.env['VOLLEY_TEST_SECRET'];
    }
  });
});

describe('network', () => {
  const connect = async ({ port }: { port: number }) => {
    const { connect } = await import('node:net');
    return new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.on('connect', () => {
        socket.destroy();
        resolve('connected');
      });
      socket.on('error', (error: { code?: string }) => resolve(error.code));
    });
  };

  test('a process without leave cannot reach even this machine; with leave it can', async () => {
    const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    try {
      const { port } = server.address() as { port: number };
      expect(await rig.run(connect, { input: { port } })).toBe('ECONNREFUSED');
      expect(await rig.run(connect, { input: { port }, sandbox: { network: true } })).toBe('connected');
    } finally {
      server.close();
    }
  });
});

test('without a sandbox a process can read what its user can, but its environment and folders stay private', async () => {
  const secret = join(folder, 'secret.txt');
  const look = async ({ secret }: { secret: string }) => {
    const { readFileSync, readdirSync, writeFileSync } = await import('node:fs');
    const { homedir, tmpdir } = await import('node:os');
    const files = readdirSync(tmpdir());
    writeFileSync(`${tmpdir()}/left.txt`, 'left');
    return { text: readFileSync(secret, 'utf8'), files, home: homedir(), tmp: tmpdir() };
  };
  const found = (await rig.run(look, { input: { secret }, sandbox: { mode: 'off' } })) as Record<
    string,
    string
  >;
  expect(found).toMatchObject({ text: 'secret', files: [] });
  expect(found['home']).toBe(found['tmp']);
  await expect(stat(found['tmp']!)).rejects.toMatchObject({ code: 'ENOENT' });
});
