import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startBuilt } from '../e2e/support/built-volley.ts';
import { project } from '../e2e/support/project.ts';
import { isAlive } from '../support/alive.ts';
import { isDeep } from '../support/depth.ts';
import { trustFolder } from '../support/trust.ts';
import { until } from '../support/until.ts';
import { fiftyCalls } from './client/support/fifty-calls.ts';
import { clientOf, dataOf } from './server/support/mcp.ts';
import { connectStdio } from './server/support/stdio-client.ts';

const require = createRequire(import.meta.url);

const server = (name: string, fields: string) => {
  const program = join(
    dirname(require.resolve(`@modelcontextprotocol/server-${name}/package.json`)),
    'dist/index.js',
  );
  return `command = ${JSON.stringify(process.execPath)}\n${fields.replace('PROGRAM', JSON.stringify(program))}\n`;
};

/** The reference servers from npm, as a user configures them. */
const CONFIG = `
[mcp.servers.fs]
${server('filesystem', 'args = [PROGRAM, "."]\nroots = ["."]\nallow_destructive = ["write_file"]')}
[mcp.servers.memory]
${server('memory', 'args = [PROGRAM]\nenv = { MEMORY_FILE_PATH = "memory.json" }')}
[mcp.servers.everything]
${server('everything', 'args = [PROGRAM]\nmax_concurrent = 4')}
`;

interface Opened {
  readonly client: Client;
  /** Of Volley. */
  readonly pid: number;
}

const OPEN: Readonly<Record<string, (folder: string) => Promise<Opened>>> = {
  stdio: async (folder) => {
    const { client, transport } = await connectStdio(folder, '2025-11-25');
    return { client, pid: transport.pid! };
  },
  'streamable HTTP': async (folder) => {
    await trustFolder(folder);
    const child = startBuilt(folder, ['serve', '--port', '0', '--json']);
    onTestFinished(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    });
    const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
    const { address, record_file: record } = JSON.parse(line) as { address: string; record_file: string };
    const { token } = JSON.parse(readFileSync(record, 'utf8')) as { token: string };
    const client = clientOf('2025-11-25');
    onTestFinished(() => client.close());
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${address}/mcp`), { requestInit }));
    return { client, pid: child.pid! };
  },
};

/** The process that Volley started for a server. */
function pidOf(volley: number, name: string): number | undefined {
  const pids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  const found = pids.find((pid) => {
    try {
      const [, parent] = /\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))!;
      return Number(parent) === volley && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(name);
    } catch {
      return false;
    }
  });
  return found === undefined ? undefined : Number(found);
}

const slow = (duration: number) => ({
  function: 'everything.trigger-long-running-operation',
  params: { duration, steps: 1 },
});

/** Much of what the second shows is shown by the official suite, too. */
const KINDS = Object.keys(OPEN).slice(0, isDeep ? 2 : 1);

describe.each(KINDS)('the official client over %s, Volley, and the reference servers', (kind) => {
  test('fifty calls, progress, a cancel, a server that is killed and a restart half-way', {
    timeout: 400_000,
  }, async () => {
    const folder = project({ 'volley.toml': CONFIG });
    let { client, pid } = await OPEN[kind]!(folder);
    const call = (name: string, args: object, options: Parameters<Client['callTool']>[1] = {}) =>
      client.callTool({ name, arguments: args as Record<string, unknown> }, { timeout: 180_000, ...options });
    const countsOf = async (batch: string) => dataOf(await call('batch_status', { batch })).counts;

    const seen: number[] = [];
    const onprogress = ({ progress }: { progress: number }) => void seen.push(progress);
    const fifty = dataOf(await call('run_batch', { tasks: fiftyCalls() }, { onprogress }));
    expect(fifty).toMatchObject({ state: 'ended', counts: { completed: 50 } });
    expect(fifty.results.at(-1)).toMatchObject({ id: 'echo', result: { text: 'Echo: row' } });
    expect(readFileSync(join(folder, 'row-11.txt'), 'utf8')).toContain('111');
    expect(seen.length).toBeGreaterThan(0);
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));

    const cancelling = new AbortController();
    const gone = call(
      'run_batch',
      { batch: 'gone', tasks: [slow(0.1), slow(60), slow(60)] },
      { signal: cancelling.signal },
    );
    const refused = expect(gone).rejects.toThrow();
    await expect
      .poll(() => countsOf('gone').catch(() => undefined))
      .toMatchObject({
        completed: 1,
        running: 2,
      });
    cancelling.abort('enough');
    await refused;
    await expect
      .poll(() => countsOf('gone'))
      .toMatchObject({
        completed: 1,
        cancelled: 2,
      });

    const hurt = call('run_batch', {
      batch: 'hurt',
      tasks: [
        { id: 'lost', ...slow(60) },
        { id: 'kept', function: 'fs.read_text_file', params: { path: 'row-3.txt' } },
      ],
    });
    await expect
      .poll(() => countsOf('hurt').catch(() => undefined))
      .toMatchObject({ completed: 1, running: 1 });
    process.kill(pidOf(pid, 'server-everything')!, 'SIGKILL');
    expect(dataOf(await hurt).results).toMatchObject([
      { id: 'lost', status: 'failed', reason: 'crashed' },
      { id: 'kept', status: 'completed' },
    ]);

    // So many that a slow machine, too, is far from the end when it has seen the first.
    const tasks = Array.from({ length: 40 }, () => slow(0.3));
    await call('batch_executor_tool', { action: 'add_batch', batch: 'long', tasks });
    await call('batch_executor_tool', { action: 'start', batch: 'long', max_concurrent: 1 });
    await expect.poll(async () => (await countsOf('long')).completed).toBeGreaterThan(1);
    const servers = ['server-everything', 'server-filesystem', 'server-memory'].map((name) =>
      pidOf(pid, name),
    );
    process.kill(pid, 'SIGKILL');
    await until(() => servers.every((one) => one === undefined || !isAlive(one)), 'the end of its servers');
    await client.close();
    ({ client, pid } = await OPEN[kind]!(folder));
    const left = await countsOf('long');
    expect(left.completed).toBeLessThan(40);
    // Whether a task may run again is known once its server has told its tools.
    await expect
      .poll(async () => JSON.stringify(await call('list_batch_functions', {})))
      .toContain('everything.trigger-long-running-operation');
    await call('batch_executor_tool', { action: 'start', batch: 'long', max_concurrent: 4, wait: true });
    expect(await countsOf('long')).toMatchObject({ completed: 40, failed: 0 });
  });
});
