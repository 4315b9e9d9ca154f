import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { defaultConfig, type McpServerSettings } from '../../../src/config/config.ts';
import { mcpHealth } from '../../../src/mcp/client/attach.ts';
import { isAlive } from '../../support/alive.ts';
import { until } from '../../support/until.ts';
import { logOf, notesServer, openWith, testFolder } from './support/open.ts';

const echo = (server: string, text = 'hello') => ({ name: `${server}.echo`, arguments: { text } });

test('a server that ends in the midst of calls fails those and no others, and the next call starts it again', async () => {
  const folder = testFolder();
  const other = testFolder();
  const coordinator = await openWith(folder, { notes: notesServer(folder), other: notesServer(other) });
  await coordinator.discover();
  const results = await coordinator.executeParallel([
    { name: 'notes.meet', arguments: { count: 2 } },
    { name: 'notes.die' },
    { name: 'other.meet', arguments: { count: 2 } },
    { name: 'other.meet', arguments: { count: 2 } },
  ]);
  expect(results).toMatchObject([
    { status: 'failed', reason: 'crashed', error: { code: 'MCP_SERVER_FAILED' } },
    {
      status: 'failed',
      reason: 'crashed',
      error: { code: 'MCP_SERVER_FAILED' },
    },
    { status: 'completed' },
    { status: 'completed' },
  ]);
  expect(await coordinator.executeSingle(echo('notes'))).toMatchObject({ status: 'completed' });
  expect(mcpHealth(coordinator)).toMatchObject([
    { name: 'notes', status: 'ready', restarts: 1, failedCalls: 2 },
    { name: 'other', status: 'ready', restarts: 0, failedCalls: 0 },
  ]);
});

test('when a server is killed half-way, what may be repeated is, and what may not is not', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, { notes: notesServer(folder, {}, { parallel: 'all' }) });
  await coordinator.discover();
  const retry = { maxRetries: 3, delayMs: 10 };
  const running = coordinator.executeParallel([
    { name: 'notes.meet', arguments: { count: 3 }, retry },
    { name: 'notes.meet', arguments: { count: 3 }, retry },
    { name: 'notes.meet_as', arguments: { count: 4, path: 'a' }, retry },
  ]);
  await until(() => mcpHealth(coordinator)[0]!.calls === 3, 'the calls');
  process.kill(mcpHealth(coordinator)[0]!.pid!, 'SIGKILL');
  await until(() => mcpHealth(coordinator)[0]!.calls === 5, 'the second attempts');
  const third = coordinator.executeSingle({ name: 'notes.meet', arguments: { count: 3 } });
  expect(await running).toMatchObject([
    { status: 'completed', attempts: 2 },
    { status: 'completed', attempts: 2 },
    { status: 'failed', reason: 'crashed', attempts: 1 },
  ]);
  expect(await third).toMatchObject({ status: 'completed' });
});

test('a server that hangs when it is started keeps nobody else waiting, and is gone in the end', async () => {
  const folder = testFolder();
  const hang = join(folder, 'hang');
  writeFileSync(hang, '');
  const { limits } = defaultConfig(folder);
  const coordinator = await openWith(
    folder,
    { hangs: notesServer(folder, { NOTES_HANG: hang }), works: notesServer(testFolder()) },
    { limits: { ...limits, maxConcurrency: 2 } },
  );
  const stopping = new AbortController();
  const calls = [
    ...Array.from({ length: 20 }, () => echo('hangs')),
    ...Array.from({ length: 5 }, () => echo('works')),
  ];
  const ends: string[] = [];
  for await (const { name, status } of coordinator.stream(calls, { signal: stopping.signal })) {
    ends.push(`${name} ${status}`);
    if (ends.length === 5) stopping.abort();
  }
  expect(ends.slice(0, 5)).toEqual(Array.from({ length: 5 }, () => 'works.echo completed'));
  expect(new Set(ends.slice(5))).toEqual(new Set(['hangs.echo cancelled']));
  await until(() => logOf(folder).length === 1, 'the start');
  const pid = Number(logOf(folder)[0]!.split(' ')[1]);
  expect(mcpHealth(coordinator)).toMatchObject([{ status: 'starting' }, { status: 'ready' }]);
  await coordinator.close({ cancel: true });
  expect(isAlive(pid)).toBe(false);
});

test('a server that does not answer in time fails its calls, and works when it does', async () => {
  const folder = testFolder();
  const hang = join(folder, 'hang');
  writeFileSync(hang, '');
  // A slow machine needs longer for a start that goes well.
  const other = await openWith(testFolder(), { notes: notesServer(testFolder()) });
  const begin = performance.now();
  await other.discover();
  const seconds = Math.max(3, Math.ceil((performance.now() - begin) / 200));
  const settings = notesServer(folder, { NOTES_HANG: hang }, { startTimeoutMs: seconds * 1000 });
  const coordinator = await openWith(folder, { notes: settings });
  const results = await coordinator.executeParallel(Array.from({ length: 10 }, () => echo('notes')));
  const error = { code: 'MCP_SERVER_FAILED', message: expect.stringContaining(`${seconds} s`) };
  for (const result of results) expect(result).toMatchObject({ status: 'failed', error });
  // One start for all of them.
  expect(logOf(folder)).toHaveLength(1);
  expect(mcpHealth(coordinator)).toMatchObject([
    { tools: 0, problem: expect.stringContaining(`${seconds} s`) },
  ]);
  rmSync(hang);
  await untilCompleted(() => coordinator.executeSingle(echo('notes')));
  expect(mcpHealth(coordinator)).toMatchObject([{ status: 'ready', tools: 17 }]);
});

test('a program that is not there, or ends at once, is told with its last words', async () => {
  const folder = testFolder();
  const notes = notesServer(folder, { NOTES_FAIL: '1' });
  const missing: McpServerSettings = {
    ...notes,
    connection: {
      kind: 'stdio',
      command: 'no-such-program-here',
      args: [],
      cwd: folder,
      env: { PATH: '/usr/bin:/bin' },
    },
  };
  const lost: McpServerSettings = {
    ...notes,
    connection: { kind: 'stdio', command: 'node', args: [], cwd: join(folder, 'gone'), env: {} },
  };
  const coordinator = await openWith(folder, { notes, missing, lost });
  const results = await coordinator.executeParallel([echo('notes'), echo('missing'), echo('lost')]);
  expect(results).toMatchObject([
    { error: { message: expect.stringContaining('cannot open the notes with nothing') } },
    {
      error: {
        message: expect.stringMatching(/"no-such-program-here".*command under \[mcp\.servers\.missing\]/),
      },
    },
    { error: { message: expect.stringMatching(/gone.*cwd under \[mcp\.servers\.lost\]/) } },
  ]);
});

test('a server that no longer answers at all is given up after a call, and started again', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, { notes: notesServer(folder) });
  await coordinator.executeSingle(echo('notes'));
  const { pid } = mcpHealth(coordinator)[0]!;
  process.kill(pid!, 'SIGSTOP');
  expect(await coordinator.executeSingle({ ...echo('notes'), timeoutMs: 200 })).toMatchObject({
    status: 'failed',
    reason: 'timeout',
  });
  await until(() => mcpHealth(coordinator)[0]!.status === 'failed', 'the end of the server');
  expect(await coordinator.executeSingle(echo('notes'))).toMatchObject({ status: 'completed' });
  await until(() => !isAlive(pid!), 'the end of the old process');
});

test('what a server has started ends with it', async () => {
  const folder = testFolder();
  const notes = notesServer(folder);
  const { connection } = notes as { connection: McpServerSettings['connection'] & { kind: 'stdio' } };
  const file = join(folder, 'pid');
  const script = `sleep 1000 & echo $! > ${file}; "$0" "$@"; true`;
  const wrapped = {
    ...connection,
    command: '/bin/sh',
    args: ['-c', script, connection.command, ...connection.args],
  };
  const coordinator = await openWith(folder, { notes: { ...notes, connection: wrapped } });
  expect(await coordinator.executeSingle(echo('notes'))).toMatchObject({ status: 'completed' });
  expect(existsSync(file)).toBe(true);
  const pids = [Number(readFileSync(file, 'utf8')), Number(logOf(folder)[0]!.split(' ')[1])];
  expect(pids.map(isAlive)).toEqual([true, true]);
  await coordinator.close();
  expect(pids.map(isAlive)).toEqual([false, false]);
});

test('a server that prints what is no message is understood, and one that never ends a line is given up', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, { notes: notesServer(folder) });
  expect(await coordinator.executeSingle({ name: 'notes.babble' })).toMatchObject({
    value: { text: 'said it' },
  });
  expect(await coordinator.executeSingle({ name: 'notes.flood' })).toMatchObject({
    status: 'failed',
    reason: 'crashed',
    error: {
      code: 'MCP_SERVER_FAILED',
      message: expect.stringContaining('16777216 bytes'),
    },
  });
  expect(await coordinator.executeSingle(echo('notes'))).toMatchObject({ status: 'completed' });
});

test('an answer that is no result fails its call at once, and is not asked for again', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, { notes: notesServer(folder) });
  const answers = [
    ['null', 'JSON-RPC 2.0'],
    ['{"content":"a text"}', 'array'],
  ] as const;
  for (const [result, why] of answers) {
    const call = { name: 'notes.answer', arguments: { result }, retry: { maxRetries: 2 } };
    expect(await coordinator.executeSingle(call)).toMatchObject({
      status: 'failed',
      reason: 'error',
      attempts: 1,
      error: {
        code: 'MCP_SERVER_FAILED',
        message: expect.stringMatching(new RegExp(`notes.answer.*${why}`, 's')),
      },
    });
  }
  expect(mcpHealth(coordinator)).toMatchObject([{ status: 'ready', restarts: 0 }]);
});

test('a result that is nested too deep fails its call in words that help, and is not asked for again', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, { notes: notesServer(folder) });
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
  const result = `{"content":[],"structuredContent":{"deep":${deep}}}`;
  const call = { name: 'notes.answer', arguments: { result }, retry: { maxRetries: 2 } };
  expect(await coordinator.executeSingle(call)).toMatchObject({
    status: 'failed',
    attempts: 1,
    error: {
      code: 'UNSERIALISABLE_RESULT',
      message: expect.stringContaining('notes.answer'),
    },
  });
});

test('a batch cannot call Volley itself, by whatever name it is configured', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, { me: notesServer(folder, { NOTES_NAME: 'volley' }) });
  expect(await coordinator.executeSingle(echo('me'))).toMatchObject({
    status: 'failed',
    error: { code: 'MCP_SERVER_FAILED', message: expect.stringContaining('Volley') },
  });
  expect(coordinator.tools('me.*')).toEqual([]);
});

async function untilCompleted(work: () => Promise<{ readonly status: string }>): Promise<void> {
  const deadline = performance.now() + 90_000;
  for (;;) {
    const { status } = await work();
    if (status === 'completed') return;
    if (performance.now() > deadline) throw new Error(`It is still ${status}.`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
