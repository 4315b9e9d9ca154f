import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFINE } from '../e2e/support/built-volley.ts';
import { connect, type HostileRepository, hostileRepository } from './support/hostile-repository.ts';

async function callerOf(repository: HostileRepository) {
  const client = await connect(repository);
  const run = async (name: string, params: object = {}) =>
    JSON.stringify(
      await client.callTool({
        name: 'run_batch',
        arguments: {
          batch: `b${Math.random()}`.replace('.', ''),
          tasks: [{ id: 'a', function: name, params }],
        },
      }),
    );
  return { run };
}

/** The names of the files that an approval covers. */
async function approvedFiles(repository: HostileRepository): Promise<string[]> {
  const { stdout } = await repository.say('trust', '--yes', '--json');
  return (JSON.parse(stdout) as { files: string[] }).files;
}

describe('an approved module that loads a file which is not there', () => {
  const tool = (isolation: string, name: string) => `${DEFINE}
import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
const load = () => { try { require('./overrides-${isolation}.cjs'); } catch {} try { require('./shadowed-${isolation}'); } catch {} };
${isolation === 'inline' ? '' : 'load();'}
export default defineTool({ name: '${name}', description: 'A tool.', isolation: '${isolation}', run: () => { load(); return 'it ran'; } });
`;

  it.each(['inline', 'thread', 'process'])('never runs one that appears later (%s)', async (isolation) => {
    const marks: { code?: string } = {};
    const repository = await hostileRepository(({ mark }) => {
      marks.code = mark('overridden').replace(
        "import { writeFileSync } from 'node:fs'",
        "const { writeFileSync } = require('node:fs')",
      );
      return {
        'volley.toml': '[tools]\nmodules = ["own.mjs"]\n[processes]\nsandbox = "off"\n',
        'own.mjs': tool(isolation, 'own_tool'),
        [`shadowed-${isolation}.js`]: '',
      };
    });
    expect(await approvedFiles(repository)).toEqual([
      `overrides-${isolation}.cjs`,
      'own.mjs',
      `shadowed-${isolation}.js`,
      'volley.toml',
    ]);
    const { run } = await callerOf(repository);
    for (const name of [`overrides-${isolation}.cjs`, `shadowed-${isolation}`, `shadowed-${isolation}.js`]) {
      const written = await run('write_file', { path: name, content: marks.code! });
      expect(written).toContain('write-protected');
    }
    expect(existsSync(join(repository.folder, `overrides-${isolation}.cjs`))).toBe(false);
    expect(await run('own_tool')).toContain('it ran');
    // However it came there.
    repository.write({ [`shadowed-${isolation}`]: marks.code! });
    expect(await run('own_tool')).toContain(`volley trust ${repository.folder}`);
    expect(repository.marks()).toEqual([]);
  });
});

describe('what an approval covers', () => {
  it('is every file that code loads by a path that stands in it, however it is written', async () => {
    const repository = await hostileRepository(() => ({
      'volley.toml':
        '[tools]\nmodules = ["own.mjs"]\n[mcp.servers.a]\ncommand = "node"\nargs = [".volley/server.mjs"]\n[mcp.servers.b]\ncommand = "node"\nargs = ["plain"]\n',
      'own.mjs': `
import "\\x2e/f/esc.mjs";
import './f/p%65rc.mjs';
import { createRequire } from 'node:module';
const require = createRequire(import.meta.url);
const other = createRequire(import.meta.url);
import(\`./f/tpl.mjs\`);
import(('./f/par.mjs'));
import(1 > 0 ? './f/one.mjs' : './f/two.mjs');
require(\`./f/reqtpl.cjs\`);
require?.('./f/opt.cjs');
require.resolve('./f/resolved.cjs');
other('./f/other.cjs');
createRequire(import.meta.url)('./f/made.cjs');
module?.require?.('./f/module.cjs');
require('./f/lib');
require('./f/both');
new URL('./f/url.mjs', import.meta.url);
new Worker('./f/worker.mjs');
new URL('./f/data.txt', import.meta.url);
`,
      ...Object.fromEntries(
        [
          ...['esc.mjs', 'perc.mjs', 'tpl.mjs', 'par.mjs', 'one.mjs', 'two.mjs', 'reqtpl.cjs', 'opt.cjs'],
          ...['resolved.cjs', 'other.cjs', 'made.cjs', 'module.cjs', 'lib/impl.js', 'lib/index.js'],
          ...['both.cjs', 'both/index.js', 'url.mjs', 'worker.mjs', 'data.txt'],
        ].map((name) => [`f/${name}`, '']),
      ),
      'f/lib/package.json': '{"main":"impl"}',
      '.volley/server.mjs': "import './part.mjs';",
      '.volley/part.mjs': '',
      plain: "#!/usr/bin/env node\nrequire('./f/plain-part.cjs')",
      'f/plain-part.cjs': '',
    }));
    expect(await approvedFiles(repository)).toEqual(
      [
        ...['esc.mjs', 'perc.mjs', 'tpl.mjs', 'par.mjs', 'one.mjs', 'two.mjs', 'reqtpl.cjs', 'opt.cjs'],
        ...['resolved.cjs', 'other.cjs', 'made.cjs', 'module.cjs', 'lib/impl.js', 'lib/index.js'],
        ...['both.cjs', 'both/index.js', 'url.mjs', 'worker.mjs', 'lib/package.json', 'plain-part.cjs'],
      ]
        .map((name) => `f/${name}`)
        .concat('.volley/part.mjs', '.volley/server.mjs', 'own.mjs', 'plain', 'volley.toml')
        .sort(),
    );
  });
});
