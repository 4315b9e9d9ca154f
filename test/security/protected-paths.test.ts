import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it, onTestFinished } from 'vitest';
import { buildProgram } from '../e2e/support/built-program.ts';
import { endOf, startBuilt } from '../e2e/support/built-volley.ts';
import { casesOf } from '../support/depth.ts';
import {
  type Attack,
  HostileCaller,
  PROTECTED_FILES,
  pathWithoutBubblewrap,
  writing,
} from './support/hostile-caller.ts';

const { main, moduleUrl } = await buildProgram();
const SLOW = { timeout: 300_000 };
/** What is hidden is refused before anybody asks whether it may be written. */
const codeFor = (path: string) => (path.includes('.volley/') ? 'PATH_NOT_ALLOWED' : 'PATH_PROTECTED');
/** Those that every workspace has. */
const PRESENT = ['volley.toml', '.volley/attack.txt'];

/** A way to write to a path, and how many of the protected ones it tries between releases: most start a process. */
interface Way {
  readonly name: string;
  readonly quick: number;
  attackOn(path: string, agent: HostileCaller): Attack;
}

const COMMAND: Way = { name: 'a command', quick: 7, attackOn: (path) => writing(path) };
const PROCESS: Way = {
  name: 'a tool in a process',
  quick: 7,
  attackOn: (path, { folder }) => ({ function: 'puppet', params: { path: join(folder, path) } }),
};
const WRITE_FILE: Way = {
  name: 'write_file',
  quick: PROTECTED_FILES.length,
  attackOn: (path) => ({
    function: 'write_file',
    params: { path, content: 'hostile', create_directories: true },
  }),
};
const WAYS = [COMMAND, PROCESS, WRITE_FILE];

/** Attacks paths in several ways, one after the other, and gives the results with the way and the path of each. */
async function attackAll(
  agent: HostileCaller,
  ways: readonly Way[],
  pathsFor: (way: Way) => readonly string[],
) {
  const attacks = ways.flatMap((way) => pathsFor(way).map((path) => ({ way, path })));
  const results = await agent.attack(...attacks.map(({ way, path }) => way.attackOn(path, agent)));
  return results.map((result, index) => ({ ...attacks[index]!, ...result }));
}

/** The rule is the same in every folder: one way shows it. */
describe.each([
  ['', WAYS],
  ['sub/', [COMMAND]],
] as const)('by a command, a tool in a process and write_file, in "%s"', (place, ways) => {
  it('nothing changes that is protected and exists', SLOW, async () => {
    const agent = new HostileCaller();
    const isAttacked = (path: string) => path !== 'volley.toml';
    const paths = PROTECTED_FILES.map((path) => place + path).filter(isAttacked);
    for (const path of paths) agent.write(path, 'original');
    // Neither what is there, nor a file next to it.
    const nextTo = (path: string) => path.replace(/attack\.txt$/, 'new.txt');
    const results = await attackAll(agent, ways, ({ quick }) => {
      const attacked = casesOf(PROTECTED_FILES, quick)
        .map((path) => place + path)
        .filter(isAttacked);
      return [...attacked, ...attacked.map(nextTo).filter((path) => !attacked.includes(path))];
    });
    expect(paths.map((path) => [path, agent.read(path)])).toEqual(paths.map((path) => [path, 'original']));
    expect(
      paths.map(nextTo).filter((path) => !paths.includes(path) && agent.read(path) !== undefined),
    ).toEqual([]);
    const done = results.filter(
      ({ status, result }) => status === 'completed' && !/^E[A-Z]+$/.test(String(result)),
    );
    expect(done).toEqual([]);
  });

  it('nothing is made that is protected and does not exist', SLOW, async () => {
    const agent = new HostileCaller();
    const results = await attackAll(agent, ways, ({ quick }) =>
      casesOf(PROTECTED_FILES, quick)
        .map((path) => place + path)
        .filter((path) => !PRESENT.includes(path)),
    );
    expect(results.filter(({ path }) => existsSync(join(agent.folder, path)))).toEqual([]);
    expect(results.map(({ way, path, code }) => [way.name, path, code])).toEqual(
      results.map(({ way, path }) => [way.name, path, 'PATH_PROTECTED']),
    );
  });
});

describe('by a command, a tool in a process and write_file', () => {
  it('what is not protected is still written', SLOW, async () => {
    const agent = new HostileCaller();
    const results = await attackAll(agent, WAYS, ({ name }) =>
      ['a.txt', 'src/deep/b.txt', '.github/c.txt', 'package.json'].map((path) => join(name, path)),
    );
    expect(results.map(({ path, status }) => [path, status, agent.read(path)?.trim()])).toEqual(
      results.map(({ path }) => [path, 'completed', 'hostile']),
    );
  });

  it('what the user has made writable is written, but nothing of Volley itself', SLOW, async () => {
    const agent = new HostileCaller(
      'writable = [".vscode/**", ".git/objects", "node_modules", "volley.toml", ".volley/**"]\nprotected = ["kept/**"]',
    );
    const kept = ['.git/config', 'kept/a.txt', 'volley.toml', '.volley/a.txt'];
    const places = ['.vscode', '.git/objects', 'node_modules'];
    const existing = WAYS.map(({ name }) => `.vscode/${name}.txt`);
    for (const path of [...existing, '.git/objects/a.txt', '.git/config', 'kept/a.txt'])
      agent.write(path, 'original');
    const results = await attackAll(agent, WAYS, ({ name }) => [
      ...places.map((folder) => `${folder}/${name}.txt`),
      ...kept,
    ]);
    const [refused, written] = [true, false].map((isKept) =>
      results.filter(({ path }) => kept.includes(path) === isKept),
    );
    expect(written!.map(({ path, status }) => [path, status, agent.read(path)?.trim()])).toEqual(
      written!.map(({ path }) => [path, 'completed', 'hostile']),
    );
    expect(
      refused!.filter(({ status, result }) => status !== 'failed' && !/^E/.test(String(result))),
    ).toEqual([]);
    expect(refused).toHaveLength(WAYS.length * kept.length);
    expect([agent.read('.git/config'), agent.read('kept/a.txt')]).toEqual(['original', 'original']);
    expect(agent.read('volley.toml')).toContain('[tools]');
    expect(agent.read('.volley/a.txt')).toBeUndefined();
  });
});

async function connect({ folder, environment }: HostileCaller): Promise<Client> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [main, 'mcp'],
    cwd: folder,
    env: { ...(process.env as Record<string, string>), ...environment },
    stderr: 'ignore',
  });
  const client = new Client({ name: 'hostile', version: '1.0.0' });
  onTestFinished(() => client.close());
  await client.connect(transport, { timeout: 120_000 });
  return client;
}

describe('export', () => {
  it('writes to nothing that is protected', SLOW, async () => {
    const agent = new HostileCaller();
    const paths = PROTECTED_FILES.filter((path) => path !== 'volley.toml');
    for (const path of paths) agent.write(path, 'original');
    await agent.attack({ function: 'list_directory', params: {} });
    const client = await connect(agent);
    for (const output_file of paths) {
      const answer = await client.callTool({
        name: 'batch_executor_tool',
        arguments: { action: 'export', batch: 'attack-1', output_file },
      });
      expect([output_file, JSON.stringify(answer)]).toEqual([
        output_file,
        expect.stringContaining(codeFor(output_file)),
      ]);
    }
    expect(paths.filter((path) => agent.read(path) !== 'original')).toEqual([]);
  });
});

describe('a command in the sandbox', () => {
  const shell = (command: string): Attack => ({ function: 'shell', params: { command } });

  it(
    'gets neither at the module, the configuration and the hooks, nor at the token of the server',
    SLOW,
    async () => {
      const agent = new HostileCaller('shell.network = true');
      agent.write('.git/hooks/pre-commit', 'original');
      await agent.trust();
      const server = startBuilt(agent.folder, ['serve', '--port', '0'], { env: agent.environment });
      const ended = endOf(server);
      onTestFinished(async () => {
        server.kill();
        await ended;
      });
      await expect.poll(() => agent.read('.volley/volley.db-server.json'), SLOW).toContain('token');
      const module = agent.read('tools/puppet.mjs');
      const [, , , ...reading] = await agent.attack(
        shell(
          `echo "import { writeFileSync } from 'node:fs'; writeFileSync('pwned', '')" > tools/puppet.mjs`,
        ),
        shell('echo hostile > .git/hooks/pre-commit'),
        shell('printf "[tools]\\nmodules = [\\"evil.mjs\\"]\\n" > volley.toml'),
        shell('cat .volley/volley.db-server.json'),
        shell('mv .volley moved && cat moved/volley.db-server.json'),
        shell('ls -A .volley'),
        { function: 'puppet', params: { read: join(agent.folder, '.volley/volley.db-server.json') } },
        { function: 'read_file', params: { path: '.volley/volley.db-server.json' } },
        { function: 'search_files', params: { pattern: '**', include_all: true } },
        { function: 'list_directory', params: { path: '.' } },
      );
      expect(agent.read('tools/puppet.mjs')).toBe(module);
      expect(agent.read('.git/hooks/pre-commit')).toBe('original');
      expect(agent.read('volley.toml')).not.toContain('evil');
      expect((await agent.run('tools')).status).toBe(0);
      expect(agent.read('pwned')).toBeUndefined();
      expect(reading.slice(0, 2).map(({ code }) => code)).toEqual(['COMMAND_FAILED', 'COMMAND_FAILED']);
      expect(reading[2]).toMatchObject({ result: { stdout: '' } });
      expect(reading[3]).toMatchObject({ result: 'ENOENT' });
      expect(reading[4]).toMatchObject({ code: 'PATH_NOT_ALLOWED' });
      expect(reading[5]?.status).toBe('completed');
      expect(JSON.stringify(reading)).not.toContain('volley_token_');
      expect(JSON.stringify([reading[5]?.result, reading[6]?.result])).not.toContain('.volley"');
      expect(JSON.stringify(reading[5]?.result)).not.toContain('.volley/');
    },
  );

  it('can neither rename the folder around a protected path, nor lead to it by a link', SLOW, async () => {
    const agent = new HostileCaller();
    agent.write('a/b/.git/config', 'original');
    agent.write('elsewhere/settings.json', 'original');
    symlinkSync('elsewhere', join(agent.folder, '.vscode'));
    const results = await agent.attack(
      shell('mv a moved'),
      shell('mv a/b a/moved'),
      shell('rm -rf a/b/.git'),
      shell('ln a/b/.git/config config && echo hostile > config'),
      shell('ln -s a/b/.git link && echo hostile > link/config'),
      shell('echo hostile > elsewhere/settings.json'),
      shell('rm .vscode && mkdir .vscode && echo hostile > .vscode/settings.json'),
      shell('rm .vscode'),
      { function: 'write_file', params: { path: 'elsewhere/settings.json', content: 'hostile' } },
    );
    expect(results.map(({ status }) => status)).toEqual(results.map(() => 'failed'));
    expect(agent.read('a/b/.git/config')).toBe('original');
    expect(agent.read('.vscode/settings.json')).toBe('original');
  });

  it('cannot have Volley move files of others by a link to them', SLOW, async () => {
    const agent = new HostileCaller();
    mkdirSync(join(agent.home, 'workflows'));
    const [named, around] = await agent.attack(
      shell(`ln -s ${agent.home} .vscode`),
      shell(`mkdir -p sub && ln -s ${agent.home} sub/.github`),
    );
    expect([named?.code, around?.code]).toEqual(['PATH_PROTECTED', 'PATH_PROTECTED']);
    expect(existsSync(join(agent.home, 'workflows'))).toBe(true);
    expect([
      existsSync(join(agent.folder, '.vscode')),
      existsSync(join(agent.folder, 'sub/.github')),
    ]).toEqual([false, false]);
  });

  it(
    'fails with the others that ran when something protected was made, each told where it is',
    SLOW,
    async () => {
      const agent = new HostileCaller('[limits]\ncpu = 8\nmemory_mb = 8000');
      const tasks = [1, 2, 3, 4].map((number) => ({
        id: `t${number}`,
        function: 'shell',
        params: {
          command:
            'touch ready-$(cat /proc/sys/kernel/random/uuid); while [ $(ls ready-* | wc -l) -lt 4 ]; do sleep 0.02; done; mkdir -p .husky',
        },
      }));
      const results = await agent.attackAtOnce(...tasks);
      expect(results.map(({ code }) => code)).toEqual(tasks.map(() => 'PATH_PROTECTED'));
      for (const { message } of results) expect(message).toContain('.volley/quarantine/.husky-');
      expect(existsSync(join(agent.folder, '.husky'))).toBe(false);
    },
  );

  it('is told what it made, and where that was moved; nothing else is left behind', SLOW, async () => {
    const agent = new HostileCaller();
    const before = readdirSync(agent.folder);
    const [result] = await agent.attack(writing('.husky/pre-commit'));
    expect(result).toMatchObject({ code: 'PATH_PROTECTED' });
    expect(result?.message).toContain('tools.writable');
    const [moved, ...others] = readdirSync(join(agent.folder, '.volley/quarantine'));
    expect(others).toEqual([]);
    expect(result?.message).toContain(join(agent.folder, '.volley/quarantine', moved!));
    expect(readdirSync(agent.folder)).toEqual([...before, '.volley', 'attack-1.json'].sort());
  });

  it('leaves the folder of a program without a store as it was', SLOW, async () => {
    const agent = new HostileCaller();
    const before = readdirSync(agent.folder);
    writeFileSync(
      join(agent.home, 'program.mjs'),
      `import { createCoordinator } from '${moduleUrl('coordinator/coordinator.js')}';
       import { loadConfig } from '${moduleUrl('config/load.js')}';
       const coordinator = await createCoordinator((await loadConfig({ trusted: true })).config);
       const [made] = await coordinator.executeParallel([
         { name: 'shell', arguments: { command: 'ls -A .volley' } },
       ]);
       console.log(made.status);
       await coordinator.close();`,
    );
    const node = spawnSync(process.execPath, [join(agent.home, 'program.mjs')], {
      cwd: agent.folder,
      env: { ...process.env, ...agent.environment },
      encoding: 'utf8',
    });
    expect(node.stdout.trim()).toBe('completed');
    expect(readdirSync(agent.folder)).toEqual(before);
  });
});

describe('without bubblewrap', () => {
  it('what a command changes is found afterwards', SLOW, async () => {
    const agent = new HostileCaller('', { PATH: pathWithoutBubblewrap() });
    for (const path of ['.git/hooks/pre-commit', '.git/index', '.vscode/tasks.json', 'sub/.mcp.json'])
      agent.write(path, 'original');
    const attacked = [
      '.git/hooks/pre-commit',
      '.git/hooks/new',
      '.vscode/tasks.json',
      'sub/.mcp.json',
      '.husky/new',
      'new/volley.toml',
      'tools/new.txt',
      'volley.toml',
    ];
    const [, ...results] = await agent.attack(
      writing('a.txt'),
      ...attacked.map((path) => ({
        function: 'shell',
        params: { command: `mkdir -p new .husky && echo '# hostile' >> ${path}` },
      })),
    );
    expect(results.map(({ code }, index) => [attacked[index], code])).toEqual(
      attacked.map((path) => [path, 'PATH_PROTECTED']),
    );
    expect([agent.read('.husky/new'), agent.read('new/volley.toml')]).toEqual([undefined, undefined]);
  });

  it('what others do to the repository meanwhile fails no command', SLOW, async () => {
    const agent = new HostileCaller('', { PATH: pathWithoutBubblewrap() });
    agent.write('.git/index', 'original');
    const [result] = await agent.attack({ function: 'shell', params: { command: 'echo new > .git/index' } });
    expect(result?.status).toBe('completed');
  });
});
