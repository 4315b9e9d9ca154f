import { readFileSync } from 'node:fs';
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

/** Writes down which packages are loaded. */
const RECORDER = `
const { appendFileSync } = require('node:fs');
const nodeModule = require('node:module');
const load = nodeModule._load;
nodeModule._load = function (name, ...rest) {
  const isPackage = /^[@a-z]/.test(name) && !nodeModule.isBuiltin(name);
  if (isPackage) appendFileSync(process.env.LOADED, name + '\\n');
  return load.call(this, name, ...rest);
};
`;

it('a run of shell commands loads no package but those of its store', async () => {
  const tasks = [{ id: 'one', function: 'shell', params: { command: 'exit 0' } }];
  const folder = project({ 'tasks.json': JSON.stringify({ tasks }), 'recorder.cjs': RECORDER });
  const loaded = join(folder, 'loaded');
  const env = {
    VOLLEY_TOOLS_SHELL_ENABLED: 'true',
    NODE_OPTIONS: `--require=${join(folder, 'recorder.cjs')}`,
    LOADED: loaded,
  };
  expect(await runBuilt(folder, ['run', 'tasks.json'], { env })).toMatchObject({ status: 0 });
  expect(new Set(readFileSync(loaded, 'utf8').trim().split('\n'))).toEqual(
    new Set(['@photostructure/sqlite', 'node-gyp-build']),
  );
});
