import { expect, test } from 'vitest';
import { defaultConfig } from '../../../src/config/config.ts';
import { attachMcpServers, mcpHealth } from '../../../src/mcp/client/attach.ts';
import { serve } from '../../server/support/serve.ts';
import { connectHttp } from '../server/support/http-client.ts';
import { dataOf, textOf } from '../server/support/mcp.ts';
import { notesServer, testFolder } from './support/open.ts';

test('functions of servers that nobody has used yet are listed with their schemas, and those that fail are named', async () => {
  const { address, json, coordinator } = await serve();
  const servers = {
    notes: notesServer(testFolder()),
    other: notesServer(testFolder()),
    broken: notesServer(testFolder(), { NOTES_FAIL: '1' }),
  };
  attachMcpServers(coordinator, { ...defaultConfig(), mcp: { servers } });
  const { client } = await connectHttp(address, '2025-11-25');
  const list = (args: object) =>
    client.callTool({ name: 'list_batch_functions', arguments: args as Record<string, unknown> });
  const statuses = () => mcpHealth(coordinator).map(({ name, status }) => `${name} ${status}`);

  // One that is named starts its own server only.
  // A start may take longer than a listing waits for it; the next one has it then.
  await expect
    .poll(async () => dataOf(await list({ names: ['notes.echo'], json_schema: true }))?.functions)
    .toMatchObject([{ name: 'notes.echo', read_only: true, input_schema: { required: ['text'] } }]);
  expect(statuses()).toEqual(['notes ready', 'other idle', 'broken idle']);
  expect((await json('GET', '/v1/tools/notes.echo')).body).toMatchObject({ name: 'notes.echo' });
  expect((await json('GET', '/v1/statistics')).body.mcp_servers).toMatchObject([
    { name: 'notes', kind: 'stdio', status: 'ready', tools: 17, calls: 0, problem: null },
    { name: 'other', status: 'idle', tools: 0 },
    { name: 'broken', status: 'idle' },
  ]);

  let all = await list({ search: 'echo' });
  while (dataOf(all).missing_servers.length > 1) all = await list({ search: 'echo' });
  expect(dataOf(all)).toMatchObject({
    functions: expect.arrayContaining([expect.objectContaining({ name: 'other.echo' })]),
    missing_servers: [{ name: 'broken', problem: expect.stringContaining('cannot open the notes') }],
  });
  expect(textOf(all)).toContain('broken');
  const missing = await list({ names: ['broken.echo'] });
  expect(missing.isError).toBe(true);
  expect(textOf(missing)).toContain('broken');

  const { body } = await json('GET', '/v1/tools?search=echo');
  expect(body.tools.map(({ name }: { name: string }) => name)).toEqual(['echo', 'notes.echo', 'other.echo']);
  expect(body.missing_servers).toMatchObject([{ name: 'broken', status: 'waiting' }]);
});
