import { mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import fc from 'fast-check';
import { parse } from 'smol-toml';
import { describe, expect, test } from 'vitest';
import { MCP_CLIENTS } from '../../../src/cli/mcp/clients.ts';
import { readJsonc, setInJsonc, setInToml } from '../../../src/cli/mcp/edit-config.ts';
import { installMcp, startFor } from '../../../src/cli/mcp/install.ts';
import type { Io } from '../../../src/cli/output/io.ts';
import { runBuilt } from '../../e2e/support/built-volley.ts';
import { project } from '../../e2e/support/project.ts';
import { outputTo, say, textOf } from '../support/program.ts';

const LIMIT = { timeout: 180_000 };
const ENTRY = { command: 'npx' };

describe('a value is set in JSON with comments', () => {
  test.each([
    ['{}', '{\n  "s": {\n    "v": {\n      "command": "npx"\n    }\n  }\n}'],
    [
      '// mine\n{\n    "a": 1, // one\n    "s": {\n        "other": { "x": [1, 2,], }, /* two */\n    },\n}\n',
      '// mine\n{\n    "a": 1, // one\n    "s": {\n        "other": { "x": [1, 2,], }, /* two */\n        "v": {\n            "command": "npx"\n        },\n    },\n}\n',
    ],
    [
      '{\r\n\t"s": {\r\n\t\t"o": true // last\r\n\t\t// end\r\n\t}\r\n}\r\n',
      '{\r\n\t"s": {\r\n\t\t"o": true, // last\r\n\t\t"v": {\r\n\t\t\t"command": "npx"\r\n\t\t}\r\n\t\t// end\r\n\t}\r\n}\r\n',
    ],
    ['{ "s": { "o": 1 } }', '{ "s": { "o": 1, "v": {"command":"npx"} } }'],
    [
      '{\n  "s": {\n    // nothing yet\n  }\n}\n',
      '{\n  "s": {\n    // nothing yet\n    "v": {\n      "command": "npx"\n    }\n  }\n}\n',
    ],
    ['{\n  "s": { "v": 5 } // five\n}', '{\n  "s": { "v": {\n    "command": "npx"\n  } } // five\n}'],
    ['\uFEFF{"http://": "a // b"}', '\uFEFF{"http://": "a // b", "s": {"v":{"command":"npx"}}}'],
  ])('%j', (before, after) => {
    expect(setInJsonc(before, ['s', 'v'], ENTRY)).toBe(after);
  });

  test('whatever else is there means the same afterwards', () => {
    fc.assert(
      fc.property(fc.json(), fc.json(), (a, b) => {
        const before = `{ // c\n  "a": ${a},\n  "s": { "b": ${b} /* d */ }\n}`;
        const found = readJsonc(setInJsonc(before, ['s', 'v'], ENTRY));
        expect(found).toEqual({ a: JSON.parse(a), s: { b: JSON.parse(b), v: ENTRY } });
      }),
    );
  });

  test.each(['', '{', '{"a": }', '[1]', '{"a": 1} x', '{"a" 1}', '{"s": [1]}', '{/*', '{"a": 1 "b": 2}'])(
    'a text that is no object is refused: %j',
    (text) => expect(() => setInJsonc(text, ['s', 'v'], ENTRY)).toThrow(SyntaxError),
  );
});

test('a table is added to TOML, or its values are changed, and comments stay', () => {
  const before = '# mine\nmodel = "x" # one\n\n[mcp_servers.other]\ncommand = "o"\n';
  const added = setInToml(before, ['mcp_servers', 'volley'], { command: 'npx', args: ['a'] });
  expect(added).toBe(`${before}\n[mcp_servers.volley]\ncommand = "npx"\nargs = [ "a" ]\n`);
  const table = '[mcp_servers.volley] # ours\ncommand = "old" # why\n[mcp_servers.volley.env]\nA = "1"\n';
  expect(setInToml(table, ['mcp_servers', 'volley'], { command: 'npx', args: ['a'] })).toBe(
    '[mcp_servers.volley] # ours\ncommand = "npx" # why\nargs = [ "a" ]\n[mcp_servers.volley.env]\nA = "1"\n',
  );
  expect(setInToml('[mcp_servers.volley]', ['mcp_servers', 'volley'], ENTRY)).toBe(
    '[mcp_servers.volley]\ncommand = "npx"',
  );
});

/** A folder in which Volley is installed, as far as npx looks. */
const INSTALLED = { 'node_modules/.bin/volley': '' };

const homeIn = (folder: string) => ({ HOME: join(folder, 'home'), CODEX_HOME: '', XDG_CONFIG_HOME: '' });

/** The command with a home of its own, in this process. */
function install(folder: string, ...args: string[]) {
  return say(folder, ['mcp', 'install', ...args], '', undefined, homeIn(folder));
}

describe('volley mcp install', LIMIT, () => {
  test.each([
    [
      'claude-code',
      '.mcp.json',
      ['mcpServers', 'volley'],
      { type: 'stdio', command: 'npx', args: ['--no', 'volley', 'mcp'] },
    ],
    [
      'gemini',
      '.gemini/settings.json',
      ['mcpServers', 'volley'],
      { command: 'npx', args: ['--no', 'volley', 'mcp'], timeout: 600_000 },
    ],
    [
      'qwen',
      '.qwen/settings.json',
      ['mcpServers', 'volley'],
      { command: 'npx', args: ['--no', 'volley', 'mcp'], timeout: 600_000 },
    ],
    [
      'opencode',
      'opencode.json',
      ['mcp', 'volley'],
      { type: 'local', command: ['npx', '--no', 'volley', 'mcp'], enabled: true, timeout: 600_000 },
    ],
    [
      'cursor',
      '.cursor/mcp.json',
      ['mcpServers', 'volley'],
      { type: 'stdio', command: 'npx', args: ['--no', 'volley', 'mcp'] },
    ],
    [
      'vscode',
      '.vscode/mcp.json',
      ['servers', 'volley'],
      { type: 'stdio', command: 'npx', args: ['--no', 'volley', 'mcp'] },
    ],
  ] as const)(
    '%s: writes a new file, adds to one that is there, and changes nothing twice',
    async (client, name, path, entry) => {
      const folder = project(INSTALLED);
      const file = join(folder, name);
      const find = () =>
        path.reduce<unknown>(
          (value, key) => (value as Record<string, unknown>)[key],
          readJsonc(readFileSync(file, 'utf8')),
        );
      expect(await install(folder, client, '--yes')).toMatchObject({ status: 0 });
      expect(find()).toEqual(entry);

      const mine = `{\n  // mine\n  "${path[0]}": {\n    "other": {} // theirs\n  }\n}\n`;
      writeFileSync(file, mine);
      const { stdout, status } = await install(folder, client, '--yes');
      expect(status).toBe(0);
      expect(stdout).toContain('+     "volley": {');
      expect(find()).toEqual(entry);
      expect(readFileSync(file, 'utf8')).toContain('"other": {}, // theirs');
      expect(readFileSync(`${file}.before-volley`, 'utf8')).toBe(mine);

      const written = readFileSync(file, 'utf8');
      expect((await install(folder, client, '--yes')).stdout).toContain('already');
      expect(readFileSync(file, 'utf8')).toBe(written);
      expect(readdirSync(dirname(file)).filter((one) => one.includes('before-volley'))).toHaveLength(1);
    },
  );

  test('codex: writes for the user by default, with this very program', async () => {
    const folder = project({ 'codex/config.toml': '# mine\nmodel = "m"\n' });
    const run = () =>
      runBuilt(folder, ['mcp', 'install', 'codex', '--yes'], { env: { CODEX_HOME: join(folder, 'codex') } });
    expect(await run()).toMatchObject({ status: 0 });
    const text = readFileSync(join(folder, 'codex/config.toml'), 'utf8');
    expect(text.startsWith('# mine\nmodel = "m"\n')).toBe(true);
    const { mcp_servers } = parse(text) as { mcp_servers: { volley: { command: string; args: string[] } } };
    expect(mcp_servers.volley).toMatchObject({ command: process.execPath, tool_timeout_sec: 600 });
    expect(mcp_servers.volley.args).toEqual([expect.stringMatching(/main\.js$/), 'mcp']);
    expect((await run()).stdout).toContain('already');
  });

  test('codex: says which approval and which trust it still needs', async () => {
    const folder = project();
    const needs = async (...args: string[]) =>
      JSON.parse((await install(folder, 'codex', '--print', '--json', ...args)).stdout).needs;
    expect(await needs()).toContain('default_tools_approval_mode = "approve"');
    expect(await needs()).not.toContain('trust_level');
    expect(await needs('--scope', 'project')).toMatch(/\[projects\."[^"]+"\] with trust_level = "trusted"/);
    const { stderr } = await install(folder, 'codex', '--yes');
    expect(stderr).toContain('default_tools_approval_mode');
    expect(JSON.parse((await install(folder, 'qwen', '--print', '--json')).stdout).needs).toBeNull();
  });

  test('a project without Volley gets an entry that starts this very program, and that is said', async () => {
    const folder = project();
    const words = ['mcp', 'install', 'claude-code', '--yes'];
    const { status, stdout, stderr } = await runBuilt(folder, words, { env: homeIn(folder) });
    expect({ status, stdout }).toMatchObject({ status: 0, stdout: expect.stringContaining('Restart') });
    expect(stderr).toContain('not installed in this project');
    const { mcpServers } = JSON.parse(readFileSync(join(folder, '.mcp.json'), 'utf8'));
    const { command, args } = mcpServers.volley;
    expect([command, args]).toEqual([process.execPath, [expect.stringMatching(/main\.js$/), 'mcp']]);

    const { start } = startFor('user', folder);
    for (const { name, format, path, scope } of MCP_CLIENTS) {
      const printed = await install(folder, name, '--print', '--json');
      const { entry, remark } = JSON.parse(printed.stdout);
      const content = format === 'json' ? JSON.parse(entry) : parse(entry);
      const written = path({}).reduce((value, key) => value[key], content);
      expect([written.command, written.args ?? []].flat(), name).toEqual([start.command, ...start.args]);
      expect(remark === null, name).toBe(scope === 'user');
    }
  });

  test('what npx has only downloaded is no place to name without a warning', () => {
    const folder = project({ '_npx/1a2b/node_modules/volley/main.js': '' });
    const program = join(folder, '_npx/1a2b/node_modules/volley/main.js');
    expect(startFor('project', folder, program).remark).toContain('npm install --save-dev volley');
    expect(startFor('user', folder, program).remark).toContain('npm install --global volley');
  });

  test('the guide has the entries that are written', async () => {
    const guide = readFileSync(new URL('../../../docs/agents.md', import.meta.url), 'utf8');
    const folder = project(INSTALLED);
    for (const { name, title, format } of MCP_CLIENTS) {
      const [, block = ''] =
        new RegExp(`\\*\\*${title}\\*\\*[^]*?\\n\`\`\`${format}\\n([^]*?)\`\`\``).exec(guide) ?? [];
      const { stdout } = await install(folder, name, '--print', '--scope', 'project');
      const read = (text: string): unknown => (format === 'json' ? JSON.parse(text) : parse(text));
      expect(read(block), name).toEqual(read(stdout.replace(/^#.*\n/, '')));
    }
  });

  test('shows only what it would do with --print, and asks where nobody said yes', async () => {
    const folder = project();
    const printed = await install(folder, 'claude-code', '--print');
    expect(printed).toMatchObject({ status: 0 });
    expect(JSON.parse(printed.stdout.replace(/^#.*\n/, ''))).toHaveProperty('mcpServers.volley');
    const asked = await install(folder, 'cursor');
    expect(asked.status).toBe(2);
    expect(asked.stdout).toContain('+ ');
    expect(asked.stderr).toContain('--yes');
    expect(readdirSync(folder)).toEqual([]);
    // Who says no has had what was wanted; so has who closes the input, and Ctrl-C is no error either.
    for (const [typed, status] of [
      ['n\n', 0],
      ['\u0004', 0],
      ['', 0],
      ['\u0003', 130],
    ] as const) {
      const terminal = { isTTY: true, columns: 80 };
      const stdout = Object.assign(new PassThrough(), terminal);
      const stdin = Object.assign(Readable.from([typed]), terminal);
      const io = { stdin, stdout: outputTo(stdout), env: {}, cwd: folder } as unknown as Io;
      expect(await installMcp('cursor', {}, io)).toBe(status);
      expect(textOf(stdout)).toMatch(/Write this\? .*\nNothing was written\.\n$/s);
      expect(readdirSync(folder)).toEqual([]);
    }
    const data = await install(folder, 'vscode', '--yes', '--json');
    expect(JSON.parse(data.stdout)).toMatchObject({ ok: true, changed: true, backup: null });
  });

  test('refuses what it cannot change safely, and leaves it as it was', async () => {
    const folder = project({
      '.mcp.json': '{ "mcpServers": ',
      '.cursor/mcp.json': '{ "mcpServers": [] }',
      'codex/config.toml': 'mcp_servers = { other = { command = "x" } }\n',
    });
    for (const [client, name] of [
      ['claude-code', '.mcp.json'],
      ['cursor', '.cursor/mcp.json'],
    ] as const) {
      const before = readFileSync(join(folder, name), 'utf8');
      const refused = await install(folder, client, '--yes');
      expect(refused.status).toBe(2);
      expect(refused.stderr).toContain('--print');
      expect(readFileSync(join(folder, name), 'utf8')).toBe(before);
    }
    const env = { CODEX_HOME: join(folder, 'codex') };
    expect((await say(folder, ['mcp', 'install', 'codex', '--yes'], '', undefined, env)).status).toBe(2);
    expect((await install(folder, 'cusor')).stderr).toContain('Did you mean cursor?');
    expect((await install(folder)).stderr).toContain('claude-code, codex, gemini, qwen');
    expect((await install(folder, 'cursor', '--scope', 'all')).stderr).toContain('"project" or "user"');
  });

  test('keeps links, fields that a person added, and the newer form of opencode', async () => {
    const folder = project({
      ...INSTALLED,
      'dotfiles/mcp.json': '{"mcpServers":{"volley":{"command":"old","env":{"A":"1"}}}}',
    });
    mkdirSync(join(folder, '.cursor'));
    symlinkSync(join(folder, 'dotfiles/mcp.json'), join(folder, '.cursor/mcp.json'));
    expect(await install(folder, 'cursor', '--yes')).toMatchObject({ status: 0 });
    expect(realpathSync(join(folder, '.cursor/mcp.json'))).toBe(
      realpathSync(join(folder, 'dotfiles/mcp.json')),
    );
    expect(JSON.parse(readFileSync(join(folder, '.cursor/mcp.json'), 'utf8')).mcpServers.volley).toEqual({
      type: 'stdio',
      command: 'npx',
      args: ['--no', 'volley', 'mcp'],
      env: { A: '1' },
    });
    writeFileSync(join(folder, 'opencode.jsonc'), '{\n  "mcp": { "servers": {} },\n}\n');
    expect(await install(folder, 'opencode', '--yes')).toMatchObject({ status: 0 });
    expect(readJsonc(readFileSync(join(folder, 'opencode.jsonc'), 'utf8'))).toEqual({
      mcp: {
        servers: {
          volley: {
            type: 'local',
            command: ['npx', '--no', 'volley', 'mcp'],
            timeout: { request: 600_000 },
          },
        },
      },
    });
  });
});
