import { expect, test } from 'vitest';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { openRig } from './support/rig.ts';

/** Never ends by itself. Its calls are limited with others', as those of an MCP server are. */
function endless(name: string, more: object): Tool {
  return defineTool<{ key?: unknown }>({
    name,
    limitedAs: 'mcp:files',
    ...more,
    run: (_, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      }),
  }) as Tool;
}

test('errors of limits in time name the tool that was called, in lists and in batches', async () => {
  const { coordinator, ask, store } = await openRig([
    endless('files.read', { timeoutMs: 30 }),
    endless('files.watch', { stallMs: 30 }),
    endless('files.lock', {
      timeoutMs: 30,
      resources: ({ key }: { key: unknown }) => ({ shared: [`${key}`] }),
    }),
  ]);
  const calls = [
    { id: 'a', name: 'echo', arguments: { text: 'x' } },
    { id: 'b', name: 'files.read', arguments: {} },
    { id: 'c', name: 'files.watch', arguments: {} },
    { id: 'd', name: 'files.lock', arguments: { key: '${a.text}' } },
  ];
  const expected = [
    undefined,
    'b (files.read) ran longer than its limit of 30 ms',
    'c (files.watch) reported no progress for 30 ms',
    'd (files.lock) ran longer than its limit of 30 ms',
  ];
  const messageOf = (result: object) => (result as { error?: { message: string } }).error?.message;
  expect((await coordinator.executeParallel(calls)).map(messageOf)).toEqual(expected);
  const late = {
    id: 'e',
    name: 'files.lock',
    arguments: { key: '${a.text}' },
    timeoutMs: 60_000,
    deadlineMs: 30,
  };
  expect(messageOf((await coordinator.executeParallel([calls[0]!, late]))[1]!)).toBe(
    'e (files.lock) did not finish before its deadline',
  );
  const tasks = calls.map(({ id, name, arguments: params }) => ({ id, function: name, params }));
  await ask('add_batch', { tasks });
  await ask('start', { wait: true });
  expect((await store.tasks('default', { limit: 10 })).map(({ message }) => message)).toEqual(expected);
});
