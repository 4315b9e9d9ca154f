import { readFileSync } from 'node:fs';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, it, onTestFinished } from 'vitest';
import { project } from '../e2e/support/project.ts';
import { httpClient, mcpClient, Victim } from './support/hostile-client.ts';

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

/** The table of docs/security.md: each tool with its hints, in the order of the columns. */
function documented(): [string, boolean[]][] {
  const text = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8');
  const lines = text.split('## MCP tools and what they may do')[1]!.split('\n');
  const rows = lines
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  expect(rows[0]!.slice(1, 6)).toEqual(['tool', ...HINTS]);
  return rows
    .slice(2)
    .map((cells) => [cells[1]!.replaceAll('`', ''), cells.slice(2, 6).map((cell) => cell === 'true')]);
}

async function sent(client: Client): Promise<[string, boolean[]][]> {
  const { tools } = await client.listTools();
  return tools.map(({ name, annotations }) => [name, HINTS.map((hint) => annotations![hint]!)]);
}

it('the annotations that the server sends over stdio and over HTTP are those of docs/security.md', {
  timeout: 180_000,
}, async () => {
  const victim = new Victim();
  // Tools for features are listed if there is one.
  const folder = project({ '.tmp/tasks/auth/task.json': '{}' });
  const stdio = await mcpClient(folder, victim);
  const { address, token } = await httpClient(folder, victim);
  const http = new Client({ name: 'test', version: '1.0.0' });
  onTestFinished(() => http.close());
  const headers = { authorization: `Bearer ${token}` };
  await http.connect(
    new StreamableHTTPClientTransport(new URL(`${address}/mcp`), { requestInit: { headers } }),
  );
  expect(await sent(stdio.client)).toEqual(documented());
  expect(await sent(http)).toEqual(documented());
  expect(new Map(documented()).get('tasks_complete')).toEqual([false, true, false, true]);
});
