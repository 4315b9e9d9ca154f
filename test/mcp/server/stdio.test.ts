import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { dataOf, REVISIONS, textOf } from './support/mcp.ts';
import { connectStdio, fileAppears, projectWithTools } from './support/stdio-client.ts';

describe.each(REVISIONS)('volley mcp with a client of %s', { timeout: 240_000 }, (revision) => {
  test('lists its tools, runs a batch with references, tells progress and cancels what runs', async () => {
    const folder = projectWithTools();
    const { client, stderr } = await connectStdio(folder, revision);
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    expect(client.getInstructions()).toContain('run_batch');

    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'run_program',
      'run_batch',
      'list_batch_functions',
      'batch_results',
      'batch_status',
      'batch_executor_tool',
    ]);
    for (const { inputSchema, outputSchema, annotations } of tools) {
      expect(inputSchema['type']).toBe('object');
      expect(outputSchema?.['type']).toBe('object');
      expect(annotations?.readOnlyHint).toBeTypeOf('boolean');
    }

    const ran = await client.callTool({
      name: 'run_batch',
      arguments: {
        tasks: [
          { id: 'a', function: 'read_file', params: { path: 'a.txt' } },
          { id: 'copy', function: 'write_file', params: { path: 'c.txt', content: '${a.content} copied' } },
          { id: 'c', function: 'read_file', params: { path: 'c.txt' }, depends_on: ['copy'] },
          { id: 'bad', function: 'broken' },
        ],
      },
    });
    expect(ran.isError).toBeFalsy();
    expect(dataOf(ran)).toMatchObject({
      state: 'ended',
      counts: { completed: 3, failed: 1 },
      results: [
        { id: 'a', status: 'completed', result: { content: 'first' } },
        { id: 'copy', status: 'completed' },
        { id: 'c', status: 'completed', result: { content: 'first copied' } },
        { id: 'bad', status: 'failed', reason: 'error', message: 'it broke' },
      ],
    });
    expect(textOf(ran)).toContain('first copied');

    const seen: number[] = [];
    const tasks = ['one', 'two'].map((key) => ({ id: key, function: 'hold', params: { key } }));
    const held = client.callTool(
      { name: 'run_batch', arguments: { tasks } },
      { onprogress: ({ progress, total }) => void (total === 2 && seen.push(progress)) },
    );
    await fileAppears(folder, 'two.started');
    writeFileSync(join(folder, 'one.go'), '');
    await until(() => seen.at(-1) === 1, 'progress');
    writeFileSync(join(folder, 'two.go'), '');
    expect(dataOf(await held).counts.completed).toBe(2);
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));

    const cancelling = new AbortController();
    const cancelled = client.callTool(
      {
        name: 'run_batch',
        arguments: { batch: 'gone', tasks: [{ function: 'hold', params: { key: 'three' } }] },
      },
      { signal: cancelling.signal },
    );
    const refused = expect(cancelled).rejects.toThrow();
    await fileAppears(folder, 'three.started');
    cancelling.abort('enough');
    await refused;
    await fileAppears(folder, 'three.stopped');
    const status = await client.callTool({ name: 'batch_status', arguments: { batch: 'gone', wait: 30 } });
    expect(dataOf(status)).toMatchObject({ state: 'idle', counts: { cancelled: 1, running: 0 } });
    expect(stderr()).toContain('this must not disturb the protocol');
  });
});
