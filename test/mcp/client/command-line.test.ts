import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { folderWith, say } from '../../cli/support/program.ts';
import { logOf } from './support/open.ts';

const SERVER = fileURLToPath(new URL('./support/notes-server.mjs', import.meta.url));

const server = (name: string, env = '') => `
[mcp.servers.${name}]
command = ${JSON.stringify(process.execPath)}
args = [${JSON.stringify(SERVER)}]
env = { NOTES_FILE = "notes.txt", NOTES_LOG = "log.txt"${env} }
`;

test('volley tools lists the tools of all servers, and how each of them is', async () => {
  const broken = server('broken', ', NOTES_FAIL = "1"');
  const folder = folderWith({ 'volley.toml': server('notes') + broken });
  const all = await say(folder, ['tools']);
  expect(all.status).toBe(0);
  expect(all.stdout).toMatch(/^notes\.echo +Gives back a text\.$/m);
  expect(all.stdout).toMatch(/^read_file /m);
  expect(all.stderr).toContain('MCP server notes: ready, 17 tools\n');
  expect(all.stderr).toMatch(/^MCP server broken: .*cannot open the notes with nothing/m);

  const starts = logOf(folder).length;
  const some = await say(folder, ['tools', 'notes.*', '--json']);
  expect(JSON.parse(some.stdout)).toMatchObject({
    tools: expect.arrayContaining([expect.objectContaining({ name: 'notes.add_note' })]),
    mcp_servers: [{ name: 'notes', status: 'ready', tools: 17 }],
  });
  expect(await say(folder, ['tools', 'read_*'])).toMatchObject({ stderr: '' });
  // The second was started by nobody, and none for a tool of our own.
  expect(logOf(folder)).toHaveLength(starts + 1);

  const none = await say(folder, ['tools', 'broken.*']);
  expect(none).toMatchObject({ status: 1, stdout: '' });
  expect(none.stderr).toContain('MCP server broken:');
});

test('a task of a server is added, checked, and run by another process, which starts the server again', async () => {
  const folder = folderWith({ 'volley.toml': server('notes') });
  const params = (value: object) => ['--params', JSON.stringify(value)];
  const bad = await say(folder, ['add', '--function', 'notes.echo', ...params({ txt: 'x' })]);
  expect(bad).toMatchObject({ status: 2 });
  expect(bad.stderr).toContain('/text is required');
  const added = await say(folder, ['add', '--id', 'a', '--function', 'notes.echo', ...params({ text: 'x' })]);
  expect(added).toMatchObject({ status: 0 });
  const ran = await say(folder, ['start', '--json']);
  expect(ran).toMatchObject({ status: 0 });
  expect((await say(folder, ['results', '--id', 'a', '--json'])).stdout).toContain('mcp:notes.echo');
  expect(logOf(folder)).toHaveLength(3);
});
