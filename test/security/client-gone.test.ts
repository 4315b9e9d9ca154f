import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { project } from '../e2e/support/project.ts';
import { PROGRAM_ARGS } from '../mcp/server/support/stdio-client.ts';
import { isAlive } from '../support/alive.ts';
import { trustFolder } from '../support/trust.ts';
import { until } from '../support/until.ts';

/** Node is started by its path, and nothing else is needed. */
const WITHOUT_PERL = { PATH: '/nonexistent' };
const SERVER = fileURLToPath(new URL('./support/hostile-mcp-server.mjs', import.meta.url));
/** Starts the program, calls the tool that never returns, and stays. */
const CLIENT = `
import { spawn } from 'node:child_process';
const volley = spawn(process.execPath, JSON.parse(process.argv[2]), { stdio: ['pipe', 'pipe', 'inherit'] });
const send = (message) => volley.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } } });
send({ method: 'notifications/initialized' });
const run = (name) => ({ name: 'run_batch', arguments: { tasks: [{ function: name }] } });
send({ id: 2, method: 'tools/call', params: run('evil.escapes') });
volley.stdout.on('data', (text) => {
  if (String(text).includes('"id":2')) send({ id: 3, method: 'tools/call', params: run('loop') });
});
process.stdin.on('end', () => volley.stdin.end()).resume();
`;
const TOOLS = `{define}
import { writeFileSync } from 'node:fs';
export default defineTool({
  name: 'loop',
  run: () => {
    writeFileSync('pid', String(process.pid));
    for (;;);
  },
});
`;

/** A client whose program is in an endless loop, and the program with what it has started. */
async function loopingProgram(
  env: Readonly<Record<string, string>> = {},
): Promise<{ client: ChildProcess; family: readonly number[] }> {
  const folder = project({
    'volley.toml': `[tools]
modules = ["./tools.mjs"]
[mcp.servers.evil]
command = ${JSON.stringify(process.execPath)}
args = [${JSON.stringify(SERVER)}]
`,
    'tools.mjs': TOOLS,
    'client.mjs': CLIENT,
  });
  await trustFolder(folder);
  const client = spawn(process.execPath, ['client.mjs', JSON.stringify(PROGRAM_ARGS)], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  let pid = 0;
  onTestFinished(() => {
    for (const one of [client.pid!, pid]) if (one !== 0 && isAlive(one)) process.kill(one, 'SIGKILL');
  });
  await until(() => {
    pid = numberIn(join(folder, 'pid'));
    return pid !== 0;
  }, 'the endless loop');
  const family = [pid, ...childrenOf(pid)];
  // The server, at least.
  expect(family.length).toBeGreaterThan(1);
  return { client, family };
}

function numberIn(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8'));
  } catch {
    return 0;
  }
}

function childrenOf(pid: number): number[] {
  const threads = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return threads.trim().split(' ').filter(Boolean).map(Number);
}

describe('volley mcp whose only thread is in an endless loop of a tool', () => {
  test.each([
    ['is killed', (client: ChildProcess) => client.kill('SIGKILL')],
    ['closes its input', (client: ChildProcess) => client.stdin!.end()],
  ])('ends within seconds, with all that it started, when its client %s', async (_, leave) => {
    const { client, family } = await loopingProgram();
    const begin = performance.now();
    leave(client);
    await until(() => !family.some(isAlive), 'the end of the program and its children');
    expect(performance.now() - begin).toBeLessThan(20_000);
  });

  test('ends within seconds without Perl, too, when its client is killed', async () => {
    const { client, family } = await loopingProgram(WITHOUT_PERL);
    client.kill('SIGKILL');
    await until(() => !family.some(isAlive), 'the end of the program and its children');
  });
});
