import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { defaultConfig } from '../../../src/config/config.ts';
import type { ToolCall } from '../../../src/coordinator/call.ts';
import type { ParallelToolCoordinator } from '../../../src/coordinator/coordinator.ts';
import { mcpHealth } from '../../../src/mcp/client/attach.ts';
import { until } from '../../support/until.ts';
import { notesServer, openWith, testFolder } from './support/open.ts';

const writes = (count: number, path?: string): ToolCall[] =>
  Array.from({ length: count }, (_, index) => ({
    name: 'notes.add_note',
    arguments: { note: `note ${index}`, ...(path !== undefined && { path }) },
  }));

const linesOf = (folder: string, file: string) => readFileSync(join(folder, file), 'utf8').trim().split('\n');

async function mostAtOnce(coordinator: ParallelToolCoordinator): Promise<number> {
  const result = await coordinator.executeSingle({ name: 'notes.most_at_once' });
  return (result as { value: { data: { most: number } } }).value.data.most;
}

async function allCompleted(coordinator: ParallelToolCoordinator, calls: ToolCall[]): Promise<void> {
  const results = await coordinator.executeParallel(calls);
  expect(results.map(({ status }) => status)).toEqual(calls.map(() => 'completed'));
}

test('thirty writes at once to one document are all kept, though the server loses writes that come at once', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, { notes: notesServer(folder) });
  await allCompleted(coordinator, writes(30));
  expect(linesOf(folder, 'notes.txt')).toHaveLength(30);
  expect(await mostAtOnce(coordinator)).toBe(1);
});

test('with parallel = "all" the same server loses some of them: the default is what keeps them', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, { notes: notesServer(folder, {}, { parallel: 'all' }) });
  await coordinator.discover();
  await allCompleted(coordinator, writes(30));
  expect(linesOf(folder, 'notes.txt').length).toBeLessThan(30);
});

test('tools that only read run next to each other, but not next to a write', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, { notes: notesServer(folder) });
  const meet = { name: 'notes.meet', arguments: { count: 8 } };
  await allCompleted(
    coordinator,
    Array.from({ length: 8 }, () => meet),
  );
  const stopping = new AbortController();
  const calls = [
    { id: 'read', name: 'notes.meet', arguments: { count: 2 } },
    { id: 'write', name: 'notes.meet_as', arguments: { path: 'a', count: 2 } },
  ];
  const running = coordinator.executeParallel(calls, { signal: stopping.signal });
  await until(() => mcpHealth(coordinator)[0]!.calls === 9, 'the first of them');
  stopping.abort();
  expect((await running).map(({ status }) => status)).toEqual(['cancelled', 'cancelled']);
  expect(mcpHealth(coordinator)).toMatchObject([{ calls: 9 }]);
});

test('with parallel = "none" even tools that read run one at a time', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, { notes: notesServer(folder, {}, { parallel: 'none' }) });
  await coordinator.discover();
  const stopping = new AbortController();
  const meet = { name: 'notes.meet', arguments: { count: 2 } };
  const running = coordinator.executeParallel([meet, meet], { signal: stopping.signal });
  await until(() => mcpHealth(coordinator)[0]!.calls === 1, 'the first of them');
  stopping.abort();
  await running;
  expect(mcpHealth(coordinator)).toMatchObject([{ calls: 1 }]);
});

test('with a lock on an argument, calls with different values run next to each other and those with the same do not', async () => {
  const folder = testFolder();
  const tools = { meet_as: { lock: 'path' }, add_note: { lock: 'path' } };
  const coordinator = await openWith(folder, { notes: notesServer(folder, {}, { tools }) });
  const paths = ['a', 'b', 'c', 'd'];
  await allCompleted(
    coordinator,
    paths.map((path) => ({ name: 'notes.meet_as', arguments: { path, count: 4 } })),
  );
  // The same file by four names.
  const names = ['x.txt', './x.txt', join(folder, 'x.txt'), './/x.txt'];
  await allCompleted(
    coordinator,
    names.flatMap((path) => writes(5, path)),
  );
  expect(linesOf(folder, 'x.txt')).toHaveLength(20);
  expect(await mostAtOnce(coordinator)).toBe(1);
});

test('the lock on an argument holds for one that comes from a result, too', async () => {
  const folder = testFolder();
  const tools = { add_note: { lock: 'path' } };
  const coordinator = await openWith(folder, { notes: notesServer(folder, {}, { tools }) });
  const path = '${where.text}';
  await allCompleted(coordinator, [
    { id: 'where', name: 'notes.echo', arguments: { text: 'z.txt' } },
    ...writes(10, path),
    ...writes(10, 'z.txt'),
  ]);
  expect(linesOf(folder, 'z.txt')).toHaveLength(20);
});

test('a tool that is known to be safe can be widened by name', async () => {
  const folder = testFolder();
  const tools = { meet_as: { parallel: true } };
  const coordinator = await openWith(folder, { notes: notesServer(folder, {}, { tools }) });
  const meet = { name: 'notes.meet_as', arguments: { path: 'same', count: 3 } };
  await allCompleted(coordinator, [meet, meet, meet]);
});

test('no more calls run on a server than it may have, whichever its tools', async () => {
  const folder = testFolder();
  const settings = notesServer(folder, {}, { parallel: 'all', maxConcurrent: 2 });
  const coordinator = await openWith(folder, { notes: settings });
  await allCompleted(coordinator, writes(12));
  expect(await mostAtOnce(coordinator)).toBe(2);
});

test('no more calls begin in a minute than the rate of a server allows', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, { notes: notesServer(folder, {}, { ratePerMinute: 3 }) });
  await coordinator.discover();
  const stopping = new AbortController();
  const calls = Array.from({ length: 5 }, () => ({ name: 'notes.echo', arguments: { text: 'hello' } }));
  const ends: string[] = [];
  for await (const { status } of coordinator.stream(calls, { signal: stopping.signal })) {
    ends.push(status);
    if (ends.length === 3) stopping.abort();
  }
  expect(ends).toEqual(['completed', 'completed', 'completed', 'cancelled', 'cancelled']);
  expect(mcpHealth(coordinator)).toMatchObject([{ calls: 3 }]);
});

test('a tool of a server needs the named resources that the configuration gives it', async () => {
  const folder = testFolder();
  const tools = { meet: { resources: { browser: 1 } } };
  const settings = { notes: notesServer(folder, {}, { parallel: 'all', tools }) };
  const limits = { ...defaultConfig().limits, resources: { browser: 1 } };
  const coordinator = await openWith(folder, settings, { limits });
  await coordinator.discover();
  const stopping = new AbortController();
  const meet = { name: 'notes.meet', arguments: { count: 2 } };
  const running = coordinator.executeParallel([meet, meet], { signal: stopping.signal });
  await until(() => mcpHealth(coordinator)[0]!.calls === 1, 'the first of them');
  expect(coordinator.engine.statistics().utilization['browser']).toEqual({ used: 1, limit: 1 });
  stopping.abort();
  await running;
  expect(mcpHealth(coordinator)).toMatchObject([{ calls: 1 }]);
});
