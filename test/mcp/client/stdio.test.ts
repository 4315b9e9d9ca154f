import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { mcpHealth } from '../../../src/mcp/client/attach.ts';
import { isAlive } from '../../support/alive.ts';
import { until } from '../../support/until.ts';
import { logOf, notesServer, openWith, testFolder } from './support/open.ts';

test('a server is started by the first call of one of its tools, kept, and gone when the coordinator is closed', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, { notes: notesServer(folder), other: notesServer(folder) });
  expect(mcpHealth(coordinator).map(({ status }) => status)).toEqual(['idle', 'idle']);
  const [first, second] = [await who(), await who()];
  expect(first.pid).toBe(second.pid);
  expect(first.cwd).toBe(folder);
  expect(mcpHealth(coordinator)).toMatchObject([
    { name: 'notes', kind: 'stdio', status: 'ready', tools: 17, pid: first.pid, restarts: 0, calls: 2 },
    { name: 'other', status: 'idle' },
  ]);
  await coordinator.close();
  expect(isAlive(first.pid)).toBe(false);
  expect(logOf(folder)).toHaveLength(1);

  async function who() {
    const result = await coordinator.executeSingle({ name: 'notes.whoami' });
    return (result as { value: { data: { pid: number; cwd: string } } }).value.data;
  }
});

test('what a tool gives back is labelled, and its data can be referred to', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, { notes: notesServer(folder) });
  const results = await coordinator.executeParallel([
    { id: 'add', name: 'notes.add_note', arguments: { note: 'milk' } },
    { id: 'read', name: 'notes.read_notes', arguments: {}, dependsOn: ['add'] },
    { id: 'again', name: 'notes.add_note', arguments: { note: 'more ${read.data.notes.0}' } },
    { id: 'typed', name: 'notes.echo', arguments: { text: { $from: 'read', path: '/data/notes/0' } } },
  ]);
  expect(results.map((result) => (result.status === 'completed' ? result.value : result))).toEqual([
    { source: 'mcp:notes.add_note', text: 'added milk' },
    { source: 'mcp:notes.read_notes', data: { notes: ['milk'] } },
    { source: 'mcp:notes.add_note', text: 'added more milk' },
    { source: 'mcp:notes.echo', text: 'milk' },
  ]);
});

test('arguments are checked before they are sent, and unknown tools are told, also while the server is not known yet', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, { notes: notesServer(folder) });
  for (const _ of ['cold', 'warm']) {
    const results = await coordinator.executeParallel([
      { name: 'notes.echo', arguments: { text: 1 } },
      { name: 'notes.ecko', arguments: {} },
      { name: 'nobody.echo', arguments: {} },
    ]);
    expect(results).toMatchObject([
      { status: 'failed', error: { code: 'INVALID_ARGUMENTS', message: expect.stringContaining('/text') } },
      {
        status: 'failed',
        error: { code: 'UNKNOWN_TOOL', message: expect.stringContaining('notes.echo') },
      },
      { status: 'failed', error: { code: 'UNKNOWN_TOOL' } },
    ]);
  }
  expect(mcpHealth(coordinator)).toMatchObject([{ calls: 0 }]);
});

test('an error that a tool reports is a failure of the call, tried again only where that is safe', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, { notes: notesServer(folder) });
  const retry = { maxRetries: 2, delayMs: 1 };
  const results = await coordinator.executeParallel([
    { name: 'notes.fail', arguments: { why: 'the disk is full' }, retry },
    { name: 'notes.fail_once_each', arguments: {}, retry },
  ]);
  expect(results).toMatchObject([
    { status: 'failed', error: { message: 'notes.fail failed: the disk is full' } },
    { status: 'failed' },
  ]);
  const log = logOf(folder);
  expect(log.filter((line) => line === 'fail')).toHaveLength(3);
  expect(log.filter((line) => line === 'fail_once_each')).toHaveLength(1);
});

test('progress of a tool is progress of its task, and a cancellation reaches the server', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, { notes: notesServer(folder) });
  const steps: (string | undefined)[] = [];
  const reading = (async () => {
    for await (const update of coordinator.engine.progress.subscribe())
      if (update.type === 'progress') steps.push(`${update.progress} ${update.step}`);
  })();
  const cancelling = new AbortController();
  const running = coordinator.executeSingle({ name: 'notes.wait' }, { signal: cancelling.signal });
  await until(() => logOf(folder).includes('waiting') && steps.length > 0, 'progress');
  cancelling.abort(new Error('enough'));
  expect(await running).toMatchObject({ status: 'cancelled' });
  await until(() => logOf(folder).includes('cancelled'), 'the cancellation');
  expect(steps).toEqual(['0.25 one of four']);
  await coordinator.close();
  await reading;
});

test('a call that takes too long is cancelled on the server, too', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, { notes: notesServer(folder) });
  await coordinator.discover();
  const result = await coordinator.executeSingle({ name: 'notes.wait', timeoutMs: 300 });
  expect(result).toMatchObject({ status: 'failed', reason: 'timeout' });
  await until(() => logOf(folder).includes('cancelled'), 'the cancellation');
});

test('a long text is cut and says so, and larger data fails the call', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, { notes: notesServer(folder, {}, { maxResultBytes: 1024 }) });
  const results = await coordinator.executeParallel([
    { name: 'notes.big', arguments: { size: 5000, asData: false } },
    { name: 'notes.big', arguments: { size: 5000, asData: true } },
  ]);
  expect(results).toMatchObject([
    { status: 'completed', value: { text: 'x'.repeat(1024), cut_from_characters: 5000 } },
    { status: 'failed', error: { code: 'RESULT_TOO_LARGE' } },
  ]);
});

test('tools that a server brings later can be called when it has told of them', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, { notes: notesServer(folder) });
  await coordinator.executeSingle({ name: 'notes.learn', arguments: { name: 'sing' } });
  await until(() => coordinator.tools('notes.sing').length === 1, 'the new tool');
  expect(await coordinator.executeSingle({ name: 'notes.sing' })).toMatchObject({
    value: { text: 'I am sing' },
  });
});

test('a server gets the environment that is named for it and nothing else, and the roots', async () => {
  const folder = testFolder();
  const env = { PATH: process.env['PATH'], MY_TOKEN_FOR_NOTES: 'hidden-value-1234', OTHER: 'x' };
  const settings = notesServer(folder, { NOTES_SECRET: 'env:MY_TOKEN_FOR_NOTES' }, { roots: [folder] });
  const coordinator = await openWith(folder, { notes: settings }, { env });
  const results = await coordinator.executeParallel([{ name: 'notes.whoami' }, { name: 'notes.folders' }]);
  const [who, where] = results.map((result) => (result as { value: { data: unknown } }).value.data);
  const { env: seen } = who as { env: Record<string, string> };
  const { roots } = where as { roots: string[] };
  expect(Object.keys(seen).sort()).toEqual(['NOTES_FILE', 'NOTES_LOG', 'NOTES_SECRET', 'PATH']);
  expect(seen['NOTES_SECRET']).toBe('hidden-value-1234');
  expect(roots).toEqual([pathToFileURL(folder).href]);
});

test('a variable that is not set, and a secret that a server prints, are told without the secret', async () => {
  const folder = testFolder();
  const env = { PATH: process.env['PATH'], NOTES_PIN: 'hidden-value-1234' };
  const coordinator = await openWith(
    folder,
    {
      unset: notesServer(folder, { NOTES_SECRET: 'env:NOT_THERE' }),
      broken: notesServer(folder, { NOTES_SECRET: 'env:NOTES_PIN', NOTES_FAIL: '1' }),
    },
    { env },
  );
  const results = await coordinator.executeParallel([{ name: 'unset.whoami' }, { name: 'broken.whoami' }]);
  expect(results).toMatchObject([
    { error: { code: 'MCP_SERVER_FAILED', message: expect.stringContaining('NOT_THERE') } },
    { error: { code: 'MCP_SERVER_FAILED', message: expect.stringContaining('cannot open the notes with') } },
  ]);
  expect(JSON.stringify([results, mcpHealth(coordinator)])).not.toContain('hidden-value');
});

test('what a server marks as destructive needs to be allowed by name, and lists of names hold', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, {
    careful: notesServer(folder, {}, { deny: ['die'] }),
    bold: notesServer(folder, {}, { allow: ['erase', 'echo'], allowDestructive: ['erase'] }),
  });
  for (const _ of ['cold', 'warm']) {
    const names = ['careful.erase', 'careful.die', 'bold.whoami', 'bold.erase'];
    const results = await coordinator.executeParallel(names.map((name) => ({ name })));
    expect(results).toMatchObject([
      {
        error: {
          code: 'TOOL_NOT_ALLOWED',
          message: expect.stringContaining('mcp.servers.careful.allow_destructive'),
        },
      },
      { error: { code: 'TOOL_NOT_ALLOWED' } },
      { error: { code: 'TOOL_NOT_ALLOWED' } },
      { status: 'completed' },
    ]);
  }
  expect(coordinator.tools('bold.*').map(({ name }) => name)).toEqual(['bold.echo', 'bold.erase']);
  expect(readFileSync(join(folder, 'notes.txt'), 'utf8')).toBe('');
});

test('a server that speaks only the newest revision is spoken to in that', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, { notes: notesServer(folder, { NOTES_MODERN: '1' }) });
  const results = await coordinator.executeParallel([
    { name: 'notes.echo', arguments: { text: 'hello' } },
    { name: 'notes.learn', arguments: { name: 'sing' } },
  ]);
  expect(results).toMatchObject([{ value: { text: 'hello' } }, { status: 'completed' }]);
  await until(() => coordinator.tools('notes.sing').length === 1, 'the new tool');
});
