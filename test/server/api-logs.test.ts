import { expect, test } from 'vitest';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { serve, TOKENS } from './support/serve.ts';

test('over HTTP the log of an execution is paged, searched and followed to its end, by those who may read', async () => {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const talks = defineTool({
    name: 'talks',
    run: async (_: object, { log }) => {
      for (let line = 0; line < 20; line++) log(`line ${line}`);
      await released;
      log('last');
    },
  }) as Tool;
  const { ask, json, fetch: send } = await serve({ tools: [talks] });
  await ask('add_batch', { batch: 'b', tasks: [{ id: 't', function: 'talks', params: {} }] });
  await ask('start', { batch: 'b' });
  const path = '/v1/executions/b/t/log';
  const read = (query: string) => json('GET', `${path}${query}`, undefined, { token: TOKENS.read });
  await expect.poll(async () => (await read('')).body.end_line).toBe(20);

  expect((await read('?from=3&limit=2')).body).toMatchObject({
    attempt: 1,
    attempts: [1],
    first_line: 0,
    next: 5,
    lines: [{ line: 3, stream: 'log', text: 'line 3' }, { text: 'line 4' }],
  });
  expect((await read('?search=LINE%2019')).body.lines).toMatchObject([{ line: 19 }]);
  expect(await read('?limit=100000')).toMatchObject({ status: 400 });
  expect(await read('?attempt=2')).toMatchObject({ status: 400, body: { code: 'INVALID_VALUE' } });
  expect(await json('GET', '/v1/executions/b/x/log')).toMatchObject({ status: 404 });
  expect((await send(path, { token: null })).status).toBe(401);

  const stream = await send(`${path}/events?limit=1`, { token: TOKENS.read });
  expect(stream.headers.get('content-type')).toContain('text/event-stream');
  release();
  const text = await stream.text();
  const events = [...text.matchAll(/event: (\w+)\ndata: (.*)/g)].map(([, event, data]) => [
    event,
    JSON.parse(data!),
  ]);
  expect(events.at(-1)![0]).toBe('end');
  const lines = events.flatMap(([, body]) => body.lines ?? []).map((line: { text: string }) => line.text);
  expect(lines).toEqual(['line 19', 'last']);
});
