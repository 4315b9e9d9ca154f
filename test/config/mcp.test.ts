import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { folderWith } from './support/folder.ts';
import { messageOf } from './support/problems.ts';

test('a server has either a command or an address, and the address is one of HTTP', async () => {
  expect(await messageOf('[mcp.servers.a]\nmax_concurrent = 1')).toContain('mcp.servers.a ');
  expect(await messageOf('[mcp.servers.a]\ncommand = "x"\nurl = "https://x.org"')).toContain(
    'mcp.servers.a.url ',
  );
  expect(await messageOf('[mcp.servers.a]\nurl = "ftp://x.org"')).toContain('mcp.servers.a.url ');
});

test('the name of a server can be the first part of the name of a function', async () => {
  const message = await messageOf('[mcp.servers."a.b"]\ncommand = "x"');
  expect(message).toContain('mcp.servers."a.b"');
});

test('a choice that was nearly right is told, in a server and in one of its tools', async () => {
  expect(await messageOf('[mcp.servers.a]\ncommand = "x"\nparallel = "readonly"')).toContain('"read-only"');
  expect(await messageOf('[mcp.servers.a]\ncommand = "x"\n[mcp.servers.a.tools.b]\nlok = "x"')).toContain(
    'mcp.servers.a.tools.b.lok',
  );
});

test('a key of a server can be set by a variable', async () => {
  const folder = folderWith({ 'volley.toml': '[mcp.servers.my-files]\ncommand = "x"' });
  const { config } = await loadConfig({
    cwd: folder,
    env: { VOLLEY_MCP_SERVERS_MY_FILES_MAX_CONCURRENT: '3' },
    trusted: true,
  });
  expect(config.mcp.servers['my-files']).toMatchObject({ maxConcurrent: 3 });
});
