import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { BatchExecutor } from '../../../src/batch/batch-executor.ts';
import type { McpServerSettings } from '../../../src/config/config.ts';
import { mcpHealth } from '../../../src/mcp/client/attach.ts';
import { openStore } from '../../../src/store/sqlite-store.ts';
import { fiftyCalls } from './support/fifty-calls.ts';
import { notesServer, openWith, testFolder } from './support/open.ts';

const require = createRequire(import.meta.url);

const FILESYSTEM = require.resolve('@modelcontextprotocol/server-filesystem/package.json');
const MEMORY = require.resolve('@modelcontextprotocol/server-memory/package.json');
const EVERYTHING = require.resolve('@modelcontextprotocol/server-everything/package.json');

/** The reference servers, as people have them from npm. */
function referenceServers(folder: string): Record<string, McpServerSettings> {
  const server = (packageFile: string, args: string[] = [], env: Record<string, string> = {}) => {
    const program = join(dirname(packageFile), 'dist/index.js');
    const connection = {
      kind: 'stdio' as const,
      command: process.execPath,
      args: [program, ...args],
      cwd: folder,
      env,
    };
    const changes = { maxConcurrent: 8, roots: [folder], allowDestructive: ['write_file'] };
    return { ...notesServer(folder, {}, changes), connection };
  };
  return {
    fs: server(FILESYSTEM, ['.']),
    memory: server(MEMORY, [], { MEMORY_FILE_PATH: join(folder, 'memory.json') }),
    everything: server(EVERYTHING),
  };
}

test('fifty calls over three servers in one batch, with references between them, come to the right end', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, referenceServers(folder));
  const store = await openStore(join(folder, 'volley.db'));
  const executor = new BatchExecutor({ coordinator, store });
  onTestFinished(async () => {
    await executor.close({ graceMs: 0 });
    await store.close();
  });
  const rows = Array.from({ length: 12 }, (_, index) => index);
  const tasks = fiftyCalls();
  expect(tasks).toHaveLength(50);
  expect(await executor.handle({ action: 'add_batch', tasks })).toMatchObject({ ok: true });
  expect(await executor.handle({ action: 'start', wait: true })).toMatchObject({ ok: true });
  const ended = await store.tasks('default', { limit: 100 });
  expect(ended.filter(({ status }) => status !== 'completed')).toEqual([]);
  for (const row of rows)
    expect(readFileSync(join(folder, `row-${row}.txt`), 'utf8')).toContain(String(row + 100));
  // The text of the server says the same as its data, and is told once.
  expect(JSON.parse((await store.result('default', 'read-3'))!)).toEqual({
    source: 'mcp:fs.read_text_file',
    data: { content: readFileSync(join(folder, 'row-3.txt'), 'utf8') },
  });
  const graph = JSON.parse((await store.result('default', 'graph'))!) as {
    data: { entities: { name: string; observations: string[] }[] };
  };
  const notes = graph.data.entities.map(({ name, observations }) => `${name}: ${observations[0]}`);
  expect(notes.sort()).toEqual(
    rows.map((row) => `row ${row}: ${readFileSync(join(folder, `row-${row}.txt`), 'utf8')}`).sort(),
  );
  expect(JSON.parse((await store.result('default', 'echo'))!)).toMatchObject({ text: 'Echo: row' });
  expect(mcpHealth(coordinator).map(({ name, calls }) => `${name} ${calls}`)).toEqual([
    'fs 24',
    'memory 13',
    'everything 13',
  ]);
});

test('thirty writes at once to the graph of the memory server are all kept', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, referenceServers(folder));
  const results = await coordinator.executeParallel(
    Array.from({ length: 30 }, (_, index) => ({
      name: 'memory.create_entities',
      arguments: { entities: [{ name: `n${index}`, entityType: 'x', observations: [] }] },
    })),
  );
  expect(results.map(({ status }) => status)).toEqual(results.map(() => 'completed'));
  expect(readFileSync(join(folder, 'memory.json'), 'utf8').trim().split('\n')).toHaveLength(30);
});

test('tasks are checked against the schemas of the server when they are added, and only that server is started', async () => {
  const folder = testFolder();
  const coordinator = await openWith(folder, referenceServers(folder));
  const store = await openStore(join(folder, 'volley.db'));
  const executor = new BatchExecutor({ coordinator, store });
  onTestFinished(async () => {
    await executor.close({ graceMs: 0 });
    await store.close();
  });
  await coordinator.discover('fs.*');
  const add = (name: string, params: object) => executor.handle({ action: 'add', function: name, params });
  expect(await add('fs.read_text_file', { path: 1 })).toMatchObject({
    ok: false,
    error: { code: 'INVALID_ARGUMENTS', message: expect.stringContaining('/path') },
  });
  expect(await add('fs.raed_text_file', {})).toMatchObject({ ok: false, error: { code: 'UNKNOWN_TOOL' } });
  expect(await add('fs.move_file', {})).toMatchObject({ ok: false, error: { code: 'TOOL_NOT_ALLOWED' } });
  expect(await add('fs.list_directory', { path: '.' })).toMatchObject({ ok: true });
  expect(mcpHealth(coordinator).map(({ status }) => status)).toEqual(['ready', 'idle', 'idle']);
  expect(readdirSync(folder)).not.toContain('memory.json');
});
