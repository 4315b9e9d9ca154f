import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runBuilt } from './support/built-volley.ts';
import { project } from './support/project.ts';

it('the command line finds what a package exports by default: the driver of PostgreSQL', async () => {
  const server = createServer((socket) => socket.end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const { status, stdout } = await runBuilt(project(), ['list', '--json'], {
    env: { VOLLEY_STORE_URL: `postgres://nobody@127.0.0.1:${port}/none` },
  });
  server.close();
  expect(status).toBe(2);
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: 'STORE_UNAVAILABLE' } });
});

/** Writes the packages that a process has loaded, as its last words. */
const NOTE_PACKAGES = `process.on('exit', () => {
  const packages = Object.keys(require.cache).map((file) => /.*node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(file)?.[1]);
  process.stderr.write('loaded: ' + JSON.stringify([...new Set(packages)].filter(Boolean).sort()));
});`;

const INITIALIZE = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
};

const OF_THE_STORE = ['@photostructure/sqlite', 'node-gyp-build'];

/** Which modules share a file of the bundle decides on this, too: their imports alone do not show it. */
it('a command loads no package that it does not use', async () => {
  const folder = project({
    'packages.cjs': NOTE_PACKAGES,
    'work.json': JSON.stringify([
      { function: 'list_directory', params: { path: '.' } },
      { function: 'shell', params: { command: 'exit 0' } },
    ]),
  });
  const env = {
    VOLLEY_TOOLS_SHELL_ENABLED: 'true',
    NODE_OPTIONS: `--require ${join(folder, 'packages.cjs')}`,
  };
  const others = async (command: readonly string[], input?: string) => {
    const { status, stdout, stderr } = await runBuilt(folder, command, {
      env,
      ...(input !== undefined && { input }),
    });
    expect([command, status], stdout + stderr).toEqual([command, 0]);
    const loaded = JSON.parse(/loaded: (.*)$/m.exec(stderr)![1]!) as string[];
    return loaded.filter((name) => !OF_THE_STORE.includes(name));
  };
  for (const command of [['run', 'work.json'], ['list'], ['results'], ['tools'], ['trust', '--list']])
    expect([command, await others(command)]).toEqual([command, []]);
  const hello = { jsonrpc: '2.0', id: 1, method: 'initialize', params: INITIALIZE };
  expect(await others(['mcp'], `${JSON.stringify(hello)}\n`)).toEqual([
    '@modelcontextprotocol/core',
    '@modelcontextprotocol/server',
    'zod',
  ]);
});
