import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../../src/store/sqlite-store.ts';
import { trustFolder } from '../../support/trust.ts';
import { until } from '../../support/until.ts';
import { fileAppears, PROGRAM_ARGS, projectWithTools } from './support/stdio-client.ts';

interface Raw {
  readonly child: ChildProcess;
  /** All messages that came, in order. */
  // biome-ignore lint/suspicious/noExplicitAny: messages of all shapes
  readonly messages: any[];
  /** What came on standard output and is no message. */
  readonly noise: string[];
  readonly stderr: () => string;
  write(text: string): void;
  send(message: object): void;
  /** The answer to a request. */
  // biome-ignore lint/suspicious/noExplicitAny: messages of all shapes
  answer(id: number | null): Promise<any>;
  /** The exit status. */
  readonly ended: Promise<number | null>;
}

/** The real program without a client between. */
function startRaw(folder: string): Raw {
  const child = spawn(process.execPath, PROGRAM_ARGS, { cwd: folder, stdio: 'pipe' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const messages: unknown[] = [];
  const noise: string[] = [];
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  child.stdin.on('error', () => undefined);
  createInterface({ input: child.stdout }).on('line', (line) => {
    try {
      messages.push(JSON.parse(line));
    } catch {
      noise.push(line);
    }
  });
  const ended = once(child, 'close').then(([status]) => status as number | null);
  const find = (id: number | null) => messages.find((message) => (message as { id?: unknown }).id === id);
  return {
    child,
    messages,
    noise,
    stderr: () => stderr,
    ended,
    write: (text) => void child.stdin.write(text),
    send: (message) => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
    answer: async (id) => {
      await until(() => find(id) !== undefined, `the answer to ${id}`);
      return find(id);
    },
  };
}

async function startInitialised(folder: string): Promise<Raw> {
  const raw = startRaw(folder);
  raw.send({
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
  });
  await raw.answer(1);
  raw.send({ method: 'notifications/initialized' });
  return raw;
}

/** The program in the midst of a call. */
async function startHolding(): Promise<{ readonly folder: string; readonly raw: Raw }> {
  const folder = projectWithTools();
  await trustFolder(folder);
  const raw = await startInitialised(folder);
  const tasks = [{ function: 'hold', params: { key: 'one' } }];
  raw.send({
    id: 2,
    method: 'tools/call',
    params: { name: 'run_batch', arguments: { batch: 'one', tasks } },
  });
  await fileAppears(folder, 'one.started');
  return { folder, raw };
}

test('what cannot be read gets an error, and the connection goes on', async () => {
  const raw = await startInitialised(projectWithTools());
  raw.write('{"jsonrpc": "2.0", oops\n');
  await until(() => raw.messages.some(({ error }) => error?.code === -32700), 'the error');
  raw.write('[]\n"text"\n{"id": 7, "foo": true}\n\n');
  expect((await raw.answer(7)).error.code).toBe(-32600);
  raw.write(`{"id": 8, "method": "ping", "params": "${'x'.repeat(33 * 1024 * 1024)}"}\n`);
  await until(() => raw.messages.some(({ error }) => /at most/.test(error?.message)), 'the refusal');
  raw.send({ id: 9, method: 'no/such_method' });
  expect((await raw.answer(9)).error.code).toBe(-32601);
  raw.send({ id: 10, method: 'tools/call', params: { name: 'no_such_tool', arguments: {} } });
  const unknown = await raw.answer(10);
  expect(unknown.error ?? unknown.result.isError).toBeTruthy();
  raw.send({ method: 'notifications/cancelled', params: { requestId: 999 } });
  raw.send({ id: 11, method: 'ping' });
  expect((await raw.answer(11)).result).toEqual({});
  expect(raw.noise).toEqual([]);
  raw.child.stdin!.end();
  expect(await raw.ended).toBe(0);
});

test('a message that comes in pieces, and several in one piece, are read', async () => {
  const raw = await startInitialised(projectWithTools());
  const text = '{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"volley://batches/ü"}}\n';
  for (const byte of Buffer.from(text)) raw.child.stdin!.write(Buffer.of(byte));
  expect((await raw.answer(5)).error).toBeDefined();
  raw.write('{"jsonrpc":"2.0","id":6,"method":"ping"}\r\n{"jsonrpc":"2.0","id":7,"method":"ping"}\n');
  await Promise.all([raw.answer(6), raw.answer(7)]);
});

test('when standard input closes in the middle of a call, all is stopped and written', async () => {
  const { folder, raw } = await startHolding();
  raw.child.stdin!.end();
  expect(await raw.ended).toBe(0);
  await fileAppears(folder, 'one.stopped');
  expect(raw.noise).toEqual([]);
  const store = await openStore(join(folder, '.volley/volley.db'));
  onTestFinished(() => store.close());
  expect(await store.batch('one')).toMatchObject({ counts: { running: 0 }, holder: undefined });
});

test('a client that dies without a word leaves nothing behind', async () => {
  const { folder, raw } = await startHolding();
  raw.child.stdout!.destroy();
  raw.child.stderr!.destroy();
  raw.child.stdin!.destroy();
  expect(await raw.ended).toBe(0);
  await fileAppears(folder, 'one.stopped');
});

test('a signal ends it as the end of standard input does', async () => {
  const { folder, raw } = await startHolding();
  raw.child.kill('SIGTERM');
  expect(await raw.ended).toBe(0);
  await fileAppears(folder, 'one.stopped');
});

test('it ends at once where nothing was asked, and a bad configuration is an answer', async () => {
  const folder = projectWithTools();
  writeFileSync(join(folder, 'volley.toml'), '[limits]\nmax_concurency = 4\n');
  const raw = await startInitialised(folder);
  raw.send({ id: 2, method: 'tools/call', params: { name: 'batch_status', arguments: {} } });
  const { result } = await raw.answer(2);
  expect(result.isError).toBe(true);
  expect(result.content[0].text).toContain('max_concurrency');
  await until(() => raw.stderr().includes('max_concurrency'), 'the words for people');
  writeFileSync(join(folder, 'volley.toml'), '');
  raw.send({ id: 3, method: 'tools/call', params: { name: 'batch_status', arguments: {} } });
  expect((await raw.answer(3)).result.isError).toBeUndefined();
  raw.child.stdin!.end();
  expect(await raw.ended).toBe(0);
  const idle = startRaw(projectWithTools());
  idle.child.stdin!.end();
  expect(await idle.ended).toBe(0);
  expect(idle.messages).toEqual([]);
});
