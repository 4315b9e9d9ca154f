import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { folderWith } from './support/folder.ts';
import { messageOf } from './support/problems.ts';

test('a server has either a command or an address, and the address is one of HTTP', async () => {
  expect(await messageOf('[mcp.servers.a]\nmax_concurrent = 1')).toContain(
    'mcp.servers.a must have command (a program) or url (a server elsewhere)',
  );
  expect(await messageOf('[mcp.servers.a]\ncommand = "x"\nurl = "https://x.org"')).toContain(
    'mcp.servers.a.url must have either command or url, not both',
  );
  expect(await messageOf('[mcp.servers.a]\nurl = "ftp://x.org"')).toContain(
    'mcp.servers.a.url must be an address such as "https://tools.example.org/mcp"',
  );
});

test('the name of a server can be the first part of the name of a function', async () => {
  const message = await messageOf('[mcp.servers."a.b"]\ncommand = "x"');
  expect(message).toContain('must be 1 to 64 letters, digits, "_" or "-"');
});

test('a choice that was nearly right is told, in a server and in one of its tools', async () => {
  expect(await messageOf('[mcp.servers.a]\ncommand = "x"\nparallel = "readonly"')).toContain(
    'Did you mean "read-only"?',
  );
  expect(await messageOf('[mcp.servers.a]\ncommand = "x"\n[mcp.servers.a.tools.b]\nlok = "x"')).toContain(
    'unknown key mcp.servers.a.tools.b.lok. Did you mean lock?',
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
